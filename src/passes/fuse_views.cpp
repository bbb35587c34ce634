#include <edgefx/ir/node_queries.h>
#include <edgefx/passes/standard.h>

#include "passes/graph_facts.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

namespace edgefx {
namespace {

using detail::argumentNode;
using detail::GraphFacts;

bool callsAten(const Node& node, std::initializer_list<std::string_view> operators) {
  return node.isCall() && node.target().isOperator() && node.target().ns() == "aten" &&
         node.target().overload() == "default" &&
         std::ranges::find(operators, node.target().op()) != operators.end();
}

bool isReshape(const Node& node) {
  return callsAten(node, {"view", "view_copy", "reshape", "_unsafe_view"});
}

bool isPermutation(const Node& node) {
  return callsAten(node, {"permute", "permute_copy"});
}

bool givesCopy(const Node& node) {
  return node.target().op().ends_with("_copy");
}

// As recorded: strides of symbolic sizes are products in one form.
bool isRecordedContiguous(const TensorMeta& tensor) {
  if (tensor.layout != Layout::Strided || tensor.strides.size() != tensor.sizes.size()) return false;
  return tensor.strides == contiguousTensor(tensor.dtype, tensor.sizes).strides;
}

// The dimensions that a permutation takes, from 0 on.
std::optional<std::vector<int64_t>> permutationOf(const Node& node) {
  const Argument* dims = node.findArg(1);
  if (dims == nullptr || !dims->isSequence() || node.args().size() != 2) return std::nullopt;
  const auto rank = static_cast<int64_t>(dims->items().size());
  std::vector<int64_t> order;
  std::vector<bool> isSeen(dims->items().size(), false);
  for (const Argument& item : dims->items()) {
    if (!item.isInt() || item.asInt() < -rank || item.asInt() >= rank) return std::nullopt;
    order.push_back(item.asInt() < 0 ? item.asInt() + rank : item.asInt());
    if (isSeen[static_cast<size_t>(order.back())]) return std::nullopt;
    isSeen[static_cast<size_t>(order.back())] = true;
  }
  return order;
}

class ViewFuser {
 public:
  ViewFuser(GraphModule& module, const ExportedProgram& program)
      : graph_(module.graph()), facts_(module, program) {}

  bool run() {
    bool isChanged = false;
    for (Node& outer : graph_.nodes()) {
      // Once is seldom not enough: where the inner one had to stay behind a copy.
      while (fuse(outer)) isChanged = true;
    }
    return isChanged;
  }

 private:
  bool fuse(Node& outer) {
    const bool reshapes = isReshape(outer);
    if (!reshapes && !isPermutation(outer)) return false;
    Node* const inner = argumentNode(outer, 0);
    if (inner == nullptr || !(reshapes ? isReshape(*inner) : isPermutation(*inner))) return false;
    Node* const source = argumentNode(*inner, 0);
    if (source == nullptr || !mayReadThrough(outer, *inner, *source)) return false;
    if (!(reshapes ? reshape(outer, *inner, *source) : permute(outer, *inner, *source))) return false;
    if (!givesCopy(outer)) facts_.memory.join(outer, *source);
    if (inner->numUsers() == 0) graph_.erase(*inner);
    return true;
  }

  // Whether `outer` may read `source` where it read `inner`.
  bool mayReadThrough(const Node& outer, const Node& inner, const Node& source) const {
    if (source.isGetAttr()) return false;
    const SharedMemory& memory = facts_.memory;
    // A view of a view is of the same memory.
    if (!givesCopy(inner) && memory.share(inner, source)) return true;
    if (memory.isWritten(inner) || memory.isWritten(source)) return false;
    return givesCopy(outer) || facts_.mayShare(outer, source);
  }

  bool reshape(Node& outer, const Node& inner, Node& source) {
    // Of other layouts not every view can be had, or not in these strides.
    for (const Node* node : {static_cast<const Node*>(&source), &inner, static_cast<const Node*>(&outer)}) {
      const TensorMeta* meta = tensorMetaOf(*node);
      if (meta == nullptr || !isRecordedContiguous(*meta)) return false;
    }
    outer.setArg(0, source);
    return true;
  }

  bool permute(Node& outer, const Node& inner, Node& source) {
    // The strides of a view come from its input; those of a copy do not.
    if (givesCopy(inner) && !givesCopy(outer)) return false;
    const auto first = permutationOf(inner), second = permutationOf(outer);
    if (!first || !second || first->size() != second->size()) return false;
    Arg::List order;
    for (int64_t dim : *second) order.emplace_back((*first)[static_cast<size_t>(dim)]);
    const bool isTuple = outer.arg(1).kind() == ArgumentKind::Tuple;
    outer.setArgs({source, isTuple ? Arg::tuple(std::move(order)) : Arg::list(std::move(order))});
    return true;
  }

  using SharedMemory = detail::SharedMemory;

  Graph& graph_;
  GraphFacts facts_;
};

}  // namespace

PassRef fuseViewsPass() {
  return programPass("fuse-views", [](ExportedProgram& program) {
    bool isChanged = false;
    for (const NestedModule& nested : namedModules(program.graphModule())) {
      isChanged = ViewFuser(*nested.module, program).run() || isChanged;
    }
    return isChanged;
  });
}

}  // namespace edgefx
