#include "text/graph_views.h"

#include <edgefx/ir/node_queries.h>

#include <array>
#include <utility>

namespace edgefx::detail {

namespace {

// Pale, so that black text can be read on them.
constexpr std::array<std::string_view, 8> kColours = {"#a6cee3", "#b2df8a", "#fdbf6f", "#cab2d6",
                                                      "#fb9a99", "#ffff99", "#8dd3c7", "#d9d9d9"};

}  // namespace

GraphViews::GraphViews(std::span<const NamedProgramRef> methods) {
  for (const NamedProgramRef& method : methods) addProgram(*method.program, nullptr, method.name);
  // Delegates are appended while they are looked for, so that depth costs no stack.
  for (size_t i = 0; i < views_.size(); ++i) {
    for (const GraphModule::Delegate& held : views_[i].module->delegates()) {
      if (!byDelegate_.try_emplace(held.module.get(), views_.size()).second) continue;
      const std::string id = views_[i].id + (views_[i].program == nullptr ? "." : "/") + held.name;
      addProgram(held.module->program, held.module.get(), id);
    }
  }
}

void GraphViews::addProgram(const ExportedProgram& program, const LoweredModule* delegate,
                            std::string_view id) {
  const std::string top = takeId(std::string(id));
  for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
    byModule_.emplace(nested.module, views_.size());
    if (nested.path.empty()) {
      views_.push_back({top, nested.module, &program, delegate});
    } else {
      views_.push_back({takeId(top + '/' + nested.path), nested.module, nullptr, nullptr});
    }
  }
}

std::string GraphViews::takeId(std::string id) {
  while (!ids_.insert(id).second) id += '\'';
  return id;
}

std::vector<size_t> GraphViews::shownBy(const GraphView& view, const Node& node) const {
  std::vector<size_t> shown;
  const auto addModule = [&](const GraphModule* module) {
    if (const auto found = byModule_.find(module); found != byModule_.end()) shown.push_back(found->second);
  };
  if (const LoweredModule* delegate = findLoweredModule(*view.module, node)) {
    if (const auto found = byDelegate_.find(delegate); found != byDelegate_.end())
      shown.push_back(found->second);
  } else if (node.isGetAttr() || node.op() == NodeOp::CallModule) {
    addModule(view.module->findChild(node.targetText()));
  } else if (node.isCall()) {
    for (const GraphModule* branch : branchesOf(node, *view.module)) addModule(branch);
  }
  return shown;
}

std::string_view labelOf(const Node& node) {
  if (node.isCall()) return node.target().name();
  return node.isPlaceholder() ? node.name() : node.targetText();
}

std::string_view TagColours::of(const Node& node) {
  const std::string_view tag = node.meta().delegationTag();
  if (tag.empty()) return {};
  const size_t number = numbers_.try_emplace(std::string(tag), numbers_.size()).first->second;
  return kColours[number % kColours.size()];
}

}  // namespace edgefx::detail
