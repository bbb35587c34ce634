#include <edgefx/ir/node_queries.h>

#include <fmt/format.h>

#include <unordered_set>
#include <utility>

namespace edgefx {
namespace {

template <typename Module>
std::vector<Module*> listBranches(const Node& node, Module& owner) {
  std::vector<Module*> branches;
  std::unordered_set<const GraphModule*> seen;
  for (const Node& input : node.inputs()) {
    if (!input.isGetAttr()) continue;
    Module* branch = owner.findChild(input.targetText());
    if (branch == nullptr || branch == &owner) continue;
    if (seen.insert(branch).second) branches.push_back(branch);
  }
  return branches;
}

}  // namespace

const TensorMeta* tensorMetaOf(const Node& node) {
  return node.value() == nullptr ? nullptr : node.value()->tensor();
}

const TensorMeta* tensorMetaOf(const Node* node) {
  return node == nullptr ? nullptr : tensorMetaOf(*node);
}

Diagnostic nodeFault(const Node& node, std::string message) {
  Diagnostic fault(std::move(message));
  fault.node = node.name();
  fault.nodeText = node.text();
  std::string inputs;
  for (const Node& input : node.inputs()) {
    if (input.value() == nullptr) continue;
    inputs += fmt::format("{}%{} {}", inputs.empty() ? "" : ", ", input.name(), input.value()->text());
  }
  if (!inputs.empty()) fault.notes.push_back("inputs: " + inputs);
  if (std::string source = node.meta().sourceFrame(); !source.empty())
    fault.notes.push_back("at " + std::move(source));
  return fault;
}

std::optional<int64_t> getitemIndex(const Node& node) {
  static const Target getitem("operator.getitem");
  if (!node.isCall(getitem) || node.args().size() != 2) return std::nullopt;
  if (!node.arg(0).isNode() || !node.arg(1).isInt()) return std::nullopt;
  return node.arg(1).asInt();
}

std::vector<Node*> getitemUsers(Node& node) {
  std::vector<Node*> found;
  for (Node& user : node.users()) {
    if (getitemIndex(user) && &user.arg(0).asNode() == &node) found.push_back(&user);
  }
  return found;
}

std::vector<GraphModule*> branchesOf(const Node& node, GraphModule& owner) {
  return listBranches(node, owner);
}

std::vector<const GraphModule*> branchesOf(const Node& node, const GraphModule& owner) {
  return listBranches(node, owner);
}

}  // namespace edgefx
