#include <edgefx/ir/graph_module.h>

#include "support/fail.h"

#include <algorithm>
#include <unordered_set>

namespace edgefx {

using detail::fail;

GraphModule::GraphModule() : graph_(std::make_unique<Graph>()) {}
GraphModule::GraphModule(std::unique_ptr<Graph> graph) : graph_(std::move(graph)) {
  if (graph_ == nullptr) fail<UsageError>("a graph module needs a graph, found null");
}
GraphModule::GraphModule(GraphModule&&) noexcept = default;
GraphModule& GraphModule::operator=(GraphModule&&) noexcept = default;

// Takes the tree apart level by level: its depth comes from files and may exceed what the stack holds.
GraphModule::~GraphModule() {
  std::vector<Child> pending = std::move(children_);
  while (!pending.empty()) {
    Child last = std::move(pending.back());
    pending.pop_back();
    if (last.module == nullptr) continue;
    for (Child& child : last.module->children_) pending.push_back(std::move(child));
    last.module->children_.clear();
  }
}

std::unique_ptr<GraphModule> GraphModule::clone() const {
  auto top = std::make_unique<GraphModule>(graph_->clone());
  std::vector<std::pair<const GraphModule*, GraphModule*>> work{{this, top.get()}};
  while (!work.empty()) {
    auto [from, to] = work.back();
    work.pop_back();
    to->metadata = from->metadata;
    to->delegates_ = from->delegates_;
    to->delegatesByName_ = from->delegatesByName_;
    to->children_.reserve(from->children_.size());
    for (const Child& child : from->children_) {
      GraphModule& copy =
          to->addChild(child.name, std::make_unique<GraphModule>(child.module->graph_->clone()));
      work.emplace_back(child.module.get(), &copy);
    }
  }
  return top;
}

GraphModule* GraphModule::findChild(std::string_view path) {
  GraphModule* at = this;
  while (!path.empty()) {
    size_t dot = path.find('.');
    std::string_view name = path.substr(0, dot);
    auto found = at->byName_.find(name);
    if (found == at->byName_.end()) return nullptr;
    at = found->second;
    if (dot == std::string_view::npos) return at;
    path.remove_prefix(dot + 1);
    if (path.empty()) return nullptr;
  }
  return at;
}

void GraphModule::checkName(std::string_view name) const {
  if (name.empty() || name.find('.') != std::string_view::npos) {
    fail<UsageError>("'{}' cannot name a child module: the name must not be empty nor hold a dot", name);
  }
  if (byName_.contains(name)) fail<UsageError>("there is a child module '{}' already", name);
  if (delegatesByName_.contains(name)) fail<UsageError>("there is a delegate '{}' already", name);
}

const GraphModule::Delegate* GraphModule::findDelegate(std::string_view name) const {
  auto found = delegatesByName_.find(name);
  return found == delegatesByName_.end() ? nullptr : &delegates_[found->second];
}

void GraphModule::addDelegate(Delegate delegate) {
  checkName(delegate.name);
  if (delegate.module == nullptr) fail<UsageError>("delegate '{}' is null", delegate.name);
  delegatesByName_.emplace(delegate.name, delegates_.size());
  delegates_.push_back(std::move(delegate));
}

bool GraphModule::removeDelegate(std::string_view name) {
  auto known = delegatesByName_.find(name);
  if (known == delegatesByName_.end()) return false;
  const size_t position = known->second;
  delegatesByName_.erase(known);
  delegates_.erase(delegates_.begin() + static_cast<std::ptrdiff_t>(position));
  for (size_t i = position; i < delegates_.size(); ++i) delegatesByName_.find(delegates_[i].name)->second = i;
  return true;
}

GraphModule& GraphModule::addChild(std::string_view name, std::unique_ptr<GraphModule> module) {
  checkName(name);
  if (module == nullptr) fail<UsageError>("child module '{}' is null", name);
  GraphModule& added = *module;
  children_.push_back({std::string(name), std::move(module)});
  byName_.emplace(name, &added);
  return added;
}

std::unique_ptr<GraphModule> GraphModule::removeChild(std::string_view name) {
  auto found = std::find_if(children_.begin(), children_.end(),
                            [&](const Child& child) { return child.name == name; });
  if (found == children_.end()) return nullptr;
  std::unique_ptr<GraphModule> module = std::move(found->module);
  byName_.erase(found->name);
  children_.erase(found);
  return module;
}

std::vector<std::unique_ptr<GraphModule>> GraphModule::takeChildren(const std::vector<std::string>& names) {
  std::map<std::string_view, size_t> positions;
  for (size_t i = 0; i < names.size(); ++i) positions.emplace(names[i], i);
  std::vector<std::unique_ptr<GraphModule>> taken(names.size());
  std::erase_if(children_, [&](Child& child) {
    const auto found = positions.find(child.name);
    if (found == positions.end()) return false;
    byName_.erase(child.name);
    taken[found->second] = std::move(child.module);
    return true;
  });
  return taken;
}

size_t GraphModule::removeChildrenIf(const std::function<bool(const Child&)>& test) {
  // Asked before anything changes, for the test may throw.
  std::unordered_set<const GraphModule*> removed;
  for (const Child& child : children_) {
    if (test(child)) removed.insert(child.module.get());
  }
  return std::erase_if(children_, [&](const Child& child) {
    if (!removed.contains(child.module.get())) return false;
    byName_.erase(child.name);
    return true;
  });
}

namespace {

template <typename Nested, typename Module>
std::vector<Nested> listNamed(Module& top) {
  std::vector<Nested> listed;
  std::vector<Nested> pending{{"", &top, nullptr}};
  // A module can be named from its parent and, by a dotted path, from further above.
  std::unordered_set<const GraphModule*> reached{&top};
  while (!pending.empty()) {
    Nested at = std::move(pending.back());
    pending.pop_back();
    std::vector<Nested> found;
    const Graph& graph = at.module->graph();
    const bool isLeaf = at.module->children().empty();
    for (const Node& node : isLeaf ? decltype(graph.nodes()){nullptr} : graph.nodes()) {
      if (!node.isGetAttr() && node.op() != NodeOp::CallModule) continue;
      Module* child = at.module->findChild(node.targetText());
      if (child == nullptr || !reached.insert(child).second) continue;
      found.push_back({childPath(at.path, node.targetText()), child, at.module});
    }
    listed.push_back(std::move(at));
    pending.insert(pending.end(), std::make_move_iterator(found.rbegin()),
                   std::make_move_iterator(found.rend()));
  }
  return listed;
}

}  // namespace

std::string childPath(std::string_view owner, std::string_view name) {
  std::string path(owner);
  if (!path.empty() && !name.empty()) path += '.';
  return path.append(name);
}

std::vector<NestedModule> namedModules(GraphModule& top) {
  return listNamed<NestedModule>(top);
}
std::vector<ConstNestedModule> namedModules(const GraphModule& top) {
  return listNamed<ConstNestedModule, const GraphModule>(top);
}

}  // namespace edgefx
