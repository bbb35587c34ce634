#include <edgefx/ir/node_queries.h>
#include <edgefx/partition/control_flow.h>

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <vector>

namespace edgefx {
namespace {

void tagLikeFirstTaggedUser(const Node& node, Tags& tags) {
  for (const Node& user : node.users()) {
    if (user.isOutput() || !tags.isTagged(user)) continue;
    tags.tag(node, tags.tagOf(user));
    return;
  }
  tags.untag(node);
}

// The branches of `module`'s calls to be entered, in the order in which get_attr nodes name them.
std::vector<const Node*> branchesToEnter(const GraphModule& module, const NodeTest& enters) {
  std::vector<const Node*> named;
  std::unordered_set<const GraphModule*> wanted;
  std::unordered_set<const GraphModule*> refused;
  for (const Node& node : module.graph().nodes()) {
    if (node.isGetAttr()) {
      named.push_back(&node);
    } else if (node.isCall()) {
      const std::vector<const GraphModule*> branches = branchesOf(node, module);
      if (branches.empty()) continue;
      (enters(node) ? wanted : refused).insert(branches.begin(), branches.end());
    }
  }
  std::erase_if(named, [&](const Node* node) {
    const GraphModule* branch = module.findChild(node->targetText());
    return !wanted.contains(branch) || refused.contains(branch);
  });
  return named;
}

}  // namespace

void tagBranches(const ExportedProgram& program, Tags& tags) {
  for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
    for (const Node& node : nested.module->graph().nodes()) {
      if (!node.isGetAttr() || nested.module->findChild(node.targetText()) == nullptr) continue;
      tagLikeFirstTaggedUser(node, tags);
    }
  }
}

void closeOverGetitems(const ExportedProgram& program, Tags& tags) {
  for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
    for (const Node& node : nested.module->graph().nodes()) {
      if (!getitemIndex(node)) continue;
      const std::string_view tag = tags.tagOf(node.arg(0).asNode());
      if (tag.empty()) {
        tags.untag(node);
      } else {
        tags.tag(node, tag);
      }
    }
  }
}

const Node* findUnsupported(const Node& call, const GraphModule& owner, const NodeTest& isSupported) {
  if (!isSupported(call)) return &call;
  std::vector<const GraphModule*> pending = branchesOf(call, owner);
  std::unordered_set<const GraphModule*> reached(pending.begin(), pending.end());
  std::ranges::reverse(pending);
  while (!pending.empty()) {
    const GraphModule& branch = *pending.back();
    pending.pop_back();
    std::vector<const GraphModule*> found;
    for (const Node& node : branch.graph().nodes()) {
      if (!node.isCall() || getitemIndex(node)) continue;
      if (!isSupported(node)) return &node;
      for (const GraphModule* inner : branchesOf(node, branch)) {
        if (reached.insert(inner).second) found.push_back(inner);
      }
    }
    pending.insert(pending.end(), found.rbegin(), found.rend());
  }
  return nullptr;
}

void visitBranches(const GraphModule& top, const std::function<void(const ConstNestedModule&)>& visit,
                   const NodeTest& enters) {
  std::vector<ConstNestedModule> pending{{"", &top, nullptr}};
  std::unordered_set<const GraphModule*> reached{&top};
  while (!pending.empty()) {
    const ConstNestedModule at = std::move(pending.back());
    pending.pop_back();
    visit(at);
    std::vector<ConstNestedModule> found;
    for (const Node* node : branchesToEnter(*at.module, enters)) {
      const GraphModule* branch = at.module->findChild(node->targetText());
      if (!reached.insert(branch).second) continue;
      found.push_back({childPath(at.path, node->targetText()), branch, at.module});
    }
    pending.insert(pending.end(), std::make_move_iterator(found.rbegin()),
                   std::make_move_iterator(found.rend()));
  }
}

}  // namespace edgefx
