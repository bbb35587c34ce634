#include <edgefx/ir/node_queries.h>
#include <edgefx/passes/standard.h>

#include "passes/graph_facts.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

namespace edgefx {
namespace {

using detail::GraphFacts;

enum class NoOpForm : uint8_t {
  View,     // of the input's memory
  Copy,     // memory of its own
  Cast,     // a view, unless it is told to copy
  Dropout,  // a copy, if it does not train
};

struct NoOpOperator {
  std::string_view name;
  NoOpForm form;
};

// Operators that give their input if dtype, device and layout are the same. Of views with an order or a step
// isIdentity asks more.
constexpr NoOpOperator kNoOpOperators[] = {
    {"aten.alias.default", NoOpForm::View},
    {"aten.alias_copy.default", NoOpForm::Copy},
    {"aten.alpha_dropout.default", NoOpForm::Dropout},
    {"aten.clone.default", NoOpForm::Copy},
    {"aten._to_copy.default", NoOpForm::Copy},
    {"aten._unsafe_view.default", NoOpForm::Copy},
    {"aten.contiguous.default", NoOpForm::View},
    {"aten.detach.default", NoOpForm::View},
    {"aten.detach_copy.default", NoOpForm::Copy},
    {"aten.dropout.default", NoOpForm::Dropout},
    {"aten.expand.default", NoOpForm::View},
    {"aten.expand_copy.default", NoOpForm::Copy},
    {"aten.feature_alpha_dropout.default", NoOpForm::Dropout},
    {"aten.feature_dropout.default", NoOpForm::Dropout},
    {"aten.flatten.using_ints", NoOpForm::View},
    {"aten.lift_fresh_copy.default", NoOpForm::Copy},
    {"aten.permute.default", NoOpForm::View},
    {"aten.permute_copy.default", NoOpForm::Copy},
    {"aten.reshape.default", NoOpForm::View},
    {"aten.slice.Tensor", NoOpForm::View},
    {"aten.slice_copy.Tensor", NoOpForm::Copy},
    {"aten.squeeze.dim", NoOpForm::View},
    {"aten.squeeze.dims", NoOpForm::View},
    {"aten.squeeze_copy.dim", NoOpForm::Copy},
    {"aten.squeeze_copy.dims", NoOpForm::Copy},
    {"aten.to.device", NoOpForm::Cast},
    {"aten.to.dtype", NoOpForm::Cast},
    {"aten.to.dtype_layout", NoOpForm::Cast},
    {"aten.to.other", NoOpForm::Cast},
    {"aten.transpose.int", NoOpForm::View},
    {"aten.transpose_copy.int", NoOpForm::Copy},
    {"aten.view.default", NoOpForm::View},
    {"aten.view_copy.default", NoOpForm::Copy},
    {"dim_order_ops._clone_dim_order.default", NoOpForm::Copy},
    {"dim_order_ops._to_dim_order_copy.default", NoOpForm::Copy},
};

const NoOpOperator* findNoOpOperator(const Node& node) {
  if (!node.isCall() || !node.target().isOperator()) return nullptr;
  const auto found = std::ranges::find(kNoOpOperators, node.target().name(), &NoOpOperator::name);
  return found == std::end(kNoOpOperators) ? nullptr : &*found;
}

bool isTrueArgument(const Argument& argument) {
  return argument.kind() == ArgumentKind::Bool && argument.asBool();
}

// Whether a cast is told to copy in any case; a flag that is not known counts.
bool isToldToCopy(const Node& cast) {
  const Argument* copies = cast.findKwarg("copy");
  return (copies != nullptr && isTrueArgument(*copies)) || std::ranges::any_of(cast.args(), isTrueArgument);
}

std::optional<size_t> dimensionOf(const Argument* argument, size_t rank) {
  if (argument == nullptr || !argument->isInt()) return std::nullopt;
  const int64_t bound = static_cast<int64_t>(rank);
  const int64_t dim = argument->asInt() < 0 ? argument->asInt() + bound : argument->asInt();
  return dim >= 0 && dim < bound ? std::optional(static_cast<size_t>(dim)) : std::nullopt;
}

const Argument* positionOrKey(const Node& call, size_t i, std::string_view key) {
  const Argument* found = call.findArg(i);
  return found != nullptr ? found : call.findKwarg(key);
}

// What dtype and layout do not tell: which elements are taken, in which order.
bool isIdentity(const Node& call, const TensorMeta& input) {
  const size_t rank = input.sizes.size();
  const std::string_view op = call.target().op();
  if (op == "permute" || op == "permute_copy") {
    const Argument* dims = positionOrKey(call, 1, "dims");
    if (dims == nullptr || !dims->isSequence() || dims->items().size() != rank) return false;
    for (size_t i = 0; i < rank; ++i) {
      if (dimensionOf(&dims->items()[i], rank) != i) return false;
    }
    return true;
  }
  if (op == "transpose" || op == "transpose_copy") {
    const auto first = dimensionOf(positionOrKey(call, 1, "dim0"), rank);
    return first && first == dimensionOf(positionOrKey(call, 2, "dim1"), rank);
  }
  if (op == "slice" || op == "slice_copy") {
    // As many elements as there are, one after the other, begin with the first one.
    const Argument* step = positionOrKey(call, 4, "step");
    return step == nullptr || (step->isInt() && step->asInt() == 1);
  }
  return true;
}

bool isSwitchedOff(const Node& dropout) {
  const Argument* trains = positionOrKey(dropout, 2, "train");
  return trains != nullptr && trains->kind() == ArgumentKind::Bool && !trains->asBool();
}

// Programs in which somebody looks past the bounds of a tensor into its memory: where the memory begins
// counts for them.
bool looksIntoMemory(const ExportedProgram& program) {
  for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
    for (const Node& node : nested.module->graph().nodes()) {
      if (node.isCall() && node.target().op().starts_with("as_strided")) return true;
    }
  }
  return false;
}

class NoOpRemover {
 public:
  NoOpRemover(GraphModule& module, const ExportedProgram& program, bool watchesMemory)
      : graph_(module.graph()), facts_(module, program), watchesMemory_(watchesMemory) {}

  bool run() {
    bool isChanged = false;
    for (Node& node : graph_.nodes()) {
      const NoOpOperator* known = findNoOpOperator(node);
      Node* const input = known == nullptr ? nullptr : detail::argumentNode(node, 0);
      if (input == nullptr || !isNoOp(node, *input, known->form)) continue;
      facts_.replace(node, *input);
      isChanged = true;
    }
    return isChanged;
  }

 private:
  bool isNoOp(const Node& node, const Node& input, NoOpForm form) const {
    if (!detail::sameLayout(node, input) || !isIdentity(node, *tensorMetaOf(input))) return false;
    if (form == NoOpForm::Dropout && !isSwitchedOff(node)) return false;
    if (const Argument* pins = node.findKwarg("pin_memory"); pins != nullptr && isTrueArgument(*pins))
      return false;
    const std::string_view op = node.target().op();
    const bool detaches = op.starts_with("detach");
    if (detaches && tensorMetaOf(node)->requiresGrad != tensorMetaOf(input)->requiresGrad) return false;
    if (watchesMemory_ && tensorMetaOf(node)->storageOffset != tensorMetaOf(input)->storageOffset)
      return false;
    const bool isView = form == NoOpForm::View || (form == NoOpForm::Cast && !isToldToCopy(node));
    return isView ? facts_.mayStandFor(input, node) : facts_.mayShare(node, input);
  }

  Graph& graph_;
  GraphFacts facts_;
  const bool watchesMemory_;
};

}  // namespace

PassRef noOpsPass() {
  return programPass("no-ops", [](ExportedProgram& program) {
    const bool watchesMemory = looksIntoMemory(program);
    bool isChanged = false;
    for (const NestedModule& nested : namedModules(program.graphModule())) {
      isChanged = NoOpRemover(*nested.module, program, watchesMemory).run() || isChanged;
    }
    if (isChanged) detail::nameResults(program);
    return isChanged;
  });
}

}  // namespace edgefx
