#include "passes/graph_facts.h"

#include <edgefx/ir/node_queries.h>
#include <edgefx/ir/operators.h>
#include <edgefx/program/tensor_table.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace edgefx::detail {
namespace {

// Functions of Python that compute values from values.
bool isPureFunction(std::string_view name) {
  static constexpr std::string_view kOperators[] = {
      "abs",    "add", "and_",   "eq",     "floordiv", "ge",      "getitem", "gt", "index", "inv",
      "invert", "le",  "lshift", "lt",     "matmul",   "mod",     "mul",     "ne", "neg",   "not_",
      "or_",    "pos", "pow",    "rshift", "sub",      "truediv", "truth",   "xor"};
  if (name.starts_with("math.") || name.starts_with("torch.sym_")) return true;
  constexpr std::string_view kModule = "operator.";
  if (!name.starts_with(kModule)) return false;
  name.remove_prefix(kModule.size());
  return std::ranges::find(kOperators, name) != std::end(kOperators);
}

// Operators with dropout inside, which their schemas do not tell.
bool mayDropOut(Target target) {
  static constexpr std::string_view kOperators[] = {
      "_cudnn_rnn", "_scaled_dot_product_attention", "gru", "lstm", "miopen_rnn", "rnn_relu", "rnn_tanh"};
  return target.ns() == "aten" && std::ranges::find(kOperators, target.op()) != std::end(kOperators);
}

}  // namespace

GraphFacts::GraphFacts(const GraphModule& module, const ExportedProgram& program)
    : memory(module), isResult_(module.graph(), 0) {
  if (&module == &program.graphModule()) {
    for (const auto& [first, other] : inputsOfOneMemory(program)) memory.join(*first, *other);
  } else if (memory.anyWritten()) {
    // A call may give one tensor for several operands.
    const std::vector<const Node*> operands = module.graph().placeholders();
    for (size_t i = 1; i < operands.size(); ++i) memory.join(*operands[0], *operands[i]);
  }
  const Node* output = module.graph().back();
  if (output == nullptr || !output->isOutput()) return;
  for (const Node& result : output->inputs()) isResult_[result] = 1;
}

bool GraphFacts::mayShare(const Node& copy, const Node& source) const {
  if (source.isGetAttr()) return false;
  if (memory.isWritten(copy) || memory.isWritten(source)) return false;
  return !memory.holdsResult(copy) || (!memory.holdsInput(source) && !memory.holdsResult(source));
}

bool GraphFacts::mayStandFor(const Node& source, const Node& view) const {
  if (source.isGetAttr()) return false;
  return !isResult(view) || (!source.isPlaceholder() && !isResult(source));
}

bool GraphFacts::mayMerge(const Node& a, const Node& b) const {
  // One item of one list is one memory. Others that may share it need not: a reshape copies, or does not.
  if (getitemIndex(a)) return !isResult(a) || !isResult(b);
  return !memory.holdsResult(a) || !memory.holdsResult(b);
}

void GraphFacts::replace(Node& node, Node& source) {
  memory.join(node, source);
  if (isResult(node)) isResult_[source] = 1;
  node.replaceAllUsesWith(source);
  node.graph().erase(node);
}

std::unordered_set<const void*> writtenStorages(const ExportedProgram& program) {
  std::unordered_set<std::string_view> targets;
  for (const OutputSpec& output : program.signature.outputs) {
    const bool isState = writesState(output.kind) || output.kind == OutputKind::GradientToParameter;
    if (isState && output.target) targets.insert(*output.target);
  }
  std::unordered_set<const void*> written;
  for (const InputSpec& spec : program.signature.inputs) {
    if (!isStoredTensor(spec.kind) || !spec.target || !targets.contains(*spec.target)) continue;
    if (const StoredTensor* stored = program.findStored(spec)) written.insert(stored->storage().data());
  }
  return written;
}

bool sameLayout(const Node& a, const Node& b) {
  const TensorMeta *left = tensorMetaOf(a), *right = tensorMetaOf(b);
  return left != nullptr && right != nullptr && left->dtype == right->dtype &&
         left->layout == right->layout && left->device == right->device && left->sizes == right->sizes &&
         left->strides == right->strides;
}

bool isPure(const Node& call, const GraphModule& owner) {
  if (!call.isCall()) return false;
  const Target target = call.target();
  if (target.kind() == TargetKind::Function) return isPureFunction(target.name());
  if (target.kind() == TargetKind::HigherOrder) return false;
  const OperatorInfo* info = findOperator(target);
  if (info == nullptr || isImpure(call, owner)) return false;
  // What is in their memory is left open.
  if (target.op().find("empty") != std::string_view::npos || target.op().starts_with("resize")) return false;
  return !mayDropOut(target);
}

void nameResults(ExportedProgram& program) {
  const Node* output = program.graph().back();
  if (output == nullptr || !output->isOutput() || output->args().size() != 1) return;
  const std::span<const Argument> results = output->args()[0].items();
  std::vector<OutputSpec>& specs = program.signature.outputs;
  for (size_t i = 0; i < std::min(results.size(), specs.size()); ++i) {
    const Node* node = results[i].findNode();
    if (node != nullptr && !specs[i].arg.isConstant() && specs[i].arg.name != node->name())
      specs[i].arg.name = node->name();
  }
}

Node* argumentNode(const Node& call, size_t i) {
  const Argument* argument = call.findArg(i);
  return argument == nullptr ? nullptr : argument->findNode();
}

}  // namespace edgefx::detail
