#include <edgefx/dialect/rename_as_traced.h>
#include <edgefx/dialect/to_edge.h>
#include <edgefx/ir/dead_code.h>
#include <edgefx/ir/node_queries.h>
#include <edgefx/ir/shape_inference.h>
#include <edgefx/passes/debug_handles.h>
#include <edgefx/rewrite/program_rewriter.h>

#include "dialect/dim_order.h"
#include "dialect/edge_operands.h"
#include "dialect/view_copies.h"
#include "program/core_aten_ops.h"
#include "support/fail.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace edgefx {
namespace {

using detail::fail;

bool isSameTensor(const Node& node, const Node& input) {
  const TensorMeta *const made = tensorMetaOf(node), *const given = tensorMetaOf(input);
  return made != nullptr && given != nullptr && made->dtype == given->dtype &&
         made->layout == given->layout && made->device == given->device && made->sizes == given->sizes &&
         made->strides == given->strides;
}

// Operands of a call that its graphs take as placeholders of the same form, from the back.
std::vector<const Node*> passedOn(const Node& call) {
  std::vector<const Node*> passed;
  const auto addItems = [&](std::span<const Argument> items) {
    for (const Argument& item : items) passed.push_back(item.findNode());
  };
  const std::string_view name = call.target().name();
  if (name == "cond" || name == "while_loop" || name == "scan" || name == "map_impl") {
    const Argument* const operands = call.findArg(name == "map_impl" ? 2 : 3);
    if (operands != nullptr) addItems(operands->items());
  } else if (name == "invoke_subgraph" || name.starts_with("wrap_with_")) {
    addItems(call.args());
  }
  return passed;
}

// The first result tuple of a graph.
std::span<const Argument> resultsOf(const GraphModule& module) {
  const Node* const output = module.graph().back();
  if (output == nullptr || !output->isOutput() || output->args().empty()) return {};
  return output->args()[0].items();
}

// A copy with the layout of `model`; null if they are no tensors of one shape and dtype, or agree already.
ValueRef withLayoutOf(const ValueRef& value, const ValueRef& model) {
  const TensorMeta* const tensor = value ? value->tensor() : nullptr;
  const TensorMeta* const wanted = model ? model->tensor() : nullptr;
  if (tensor == nullptr || wanted == nullptr || tensor->dtype != wanted->dtype ||
      tensor->sizes != wanted->sizes || tensor->strides == wanted->strides) {
    return {};
  }
  TensorMeta copy = *tensor;
  copy.strides = wanted->strides;
  copy.storageOffset = wanted->storageOffset;
  return ValueMeta::of(std::move(copy));
}

// Walks every graph once, from front to back, each behind the operands of its first call and before the call
// itself, so that a value is described before what is made of it.
class EdgePass {
 public:
  EdgePass(ExportedProgram& program, const EdgeCompileConfig& config)
      : program_(program),
        config_(config),
        lifted_(program),
        operands_(lifted_, [this](Node& made) { finishMade(made); }) {}

  void run() {
    for (const NestedModule& nested : namedModules(program_.graphModule())) {
      paths_.emplace(nested.module, nested.path);
    }
    enter(program_.graphModule());
    walk();
    for (const NestedModule& nested : namedModules(program_.graphModule())) {
      if (entered_.contains(nested.module)) continue;
      enter(*nested.module);
      walk();
    }
    lifted_.finish();
    nameResults();
  }

 private:
  struct Frame {
    GraphModule* module;
    Node* next;
    bool isAutocast;        // operators compute in other dtypes than they are given
    NodeMap<char> changed;  // whether a node's value is described otherwise than before
  };

  // Specs of results that others took the place of.
  void nameResults() {
    const std::span<const Argument> results = resultsOf(program_.graphModule());
    std::vector<OutputSpec>& specs = program_.signature.outputs;
    for (size_t i = 0; i < std::min(results.size(), specs.size()); ++i) {
      const Node* const node = results[i].findNode();
      if (node != nullptr && !specs[i].arg.isConstant()) specs[i].arg.name = node->name();
    }
  }

  void enter(GraphModule& module, bool isAutocast = false) {
    entered_.insert(&module);
    frames_.push_back({&module, module.graph().front(), isAutocast, NodeMap<char>(module.graph())});
  }

  void walk() {
    while (!frames_.empty()) {
      Node* const node = frames_.back().next;
      if (node == nullptr) {
        frames_.pop_back();
        continue;
      }
      if (node->isCall() && node->target().kind() == TargetKind::HigherOrder && enterGraphsOf(*node))
        continue;
      frames_.back().next = node->next();
      if (!node->isCall()) continue;
      try {
        visit(*node);
      } catch (Error& error) {
        Diagnostic place;
        place.graph = paths_.at(frames_.back().module);
        error.fillIn(place);
        throw;
      }
    }
  }

  // Goes on in the graphs of the call that were not walked yet. Returns whether there was one.
  bool enterGraphsOf(const Node& call) {
    std::vector<GraphModule*> branches = branchesOf(call, *frames_.back().module);
    std::erase_if(branches, [&](const GraphModule* branch) { return entered_.contains(branch); });
    if (branches.empty()) return false;
    std::vector<const Node*> passed = passedOn(call);
    for (const Node*& operand : passed) {
      if (operand != nullptr && frames_.back().changed[*operand] == 0) operand = nullptr;
    }
    const bool isAutocast = frames_.back().isAutocast || call.target().name() == "wrap_with_autocast";
    std::ranges::reverse(branches);  // the first one is walked first
    for (GraphModule* branch : branches) {
      enter(*branch, isAutocast);
      const std::vector<Node*> inputs = branch->graph().placeholders();
      const size_t count = std::min(passed.size(), inputs.size());
      for (size_t i = 1; i <= count; ++i) {
        const Node* const operand = passed[passed.size() - i];
        Node& input = *inputs[inputs.size() - i];
        if (operand != nullptr) describe(input, withLayoutOf(input.valueRef(), operand->valueRef()));
      }
    }
    return true;
  }

  // as_strided shows the memory behind a view, and a copy of the view has another.
  static void refuseStridesOfView(const Node& node) {
    const Node* const source = node.callsOperator("aten.as_strided.default") && !node.args().empty()
                                   ? node.arg(0).findNode()
                                   : nullptr;
    if (source == nullptr || !source->isCall() || !detail::isViewCopy(source->target().name())) return;
    Diagnostic diagnostic(fmt::format(
        "'aten.as_strided.default' shows memory through '%{}', a view: in edge dialect that is a copy",
        source->name()));
    diagnostic.node = node.name();
    diagnostic.nodeText = node.text();
    throw UnsupportedError(std::move(diagnostic));
  }

  void describe(Node& node, ValueRef value) {
    if (!value || (node.value() != nullptr && describeSame(node.value(), value.get()))) return;
    node.setValue(std::move(value));
    frames_.back().changed[node] = 1;
  }

  void visit(Node& node) {
    const Target target = node.target();
    if (target.kind() == TargetKind::HigherOrder) return visitGraphCall(node);
    bool isChanged = false;
    if (target.kind() == TargetKind::Operator) {
      if (const std::optional<Target> copy = detail::viewCopyOf(target)) {
        refuseStridesOfView(node);
        node.setTarget(*copy);
        isChanged = true;
      }
      isChanged = operands_.dropEmptyOperands(node) || isChanged;
      isChanged =
          operands_.numbersToTensors(node, frames_.back().module == &program_.graphModule()) || isChanged;
      isChanged = operands_.castToOneDtype(node) || isChanged;
    }
    for (const Node& input : node.inputs()) isChanged = isChanged || frames_.back().changed[input] != 0;
    if (isChanged && !frames_.back().isAutocast) describe(node, inferValue(node));
    if (changesNothing(node)) {
      node.replaceAllUsesWith(node.arg(0).asNode());
    } else if (!config_.skipDimOrder && detail::useDimOrder(node)) {
      describe(node, inferValue(node));
    }
  }

  void visitGraphCall(Node& call) {
    static const Target scan("higher_order.scan");
    const Argument* const more = call.isCall(scan) ? call.findArg(3) : nullptr;
    if (more != nullptr && more->kind() == ArgumentKind::List) {
      call.setArg(3, Arg::tuple(Arg::List(more->items().begin(), more->items().end())));
    }
    const std::string_view name = call.target().name();
    const ValueMeta::Sequence* const held = call.value() == nullptr ? nullptr : call.value()->sequence();
    if (held == nullptr || (name != "cond" && name != "invoke_subgraph" && !name.starts_with("wrap_with_")))
      return;
    const std::vector<GraphModule*> branches = branchesOf(call, *frames_.back().module);
    if (branches.empty()) return;
    const std::span<const Argument> results = resultsOf(*branches.front());
    ValueMeta::Sequence made = *held;
    bool isChanged = false;
    for (size_t i = 0; i < std::min(results.size(), made.elements.size()); ++i) {
      const Node* const result = results[i].findNode();
      if (result == nullptr) continue;
      ValueRef value = withLayoutOf(made.elements[i], result->valueRef());
      if (!value || describeSame(value.get(), made.elements[i].get())) continue;
      made.elements[i] = std::move(value);
      isChanged = true;
    }
    if (!isChanged) return;
    call.setValue(ValueMeta::of(std::move(made)));
    frames_.back().changed[call] = 1;
  }

  // A cast or slice that gives what it was given. What a result would share with an input stays a copy.
  bool changesNothing(const Node& node) const {
    static const Target toCopy("aten._to_copy.default"), slice("aten.slice_copy.Tensor");
    if (!node.isCall(toCopy) && !node.isCall(slice)) return false;
    const Node* const input = node.args().empty() ? nullptr : node.arg(0).findNode();
    if (input == nullptr || !isSameTensor(node, *input)) return false;
    if (node.isCall(slice)) {
      for (const SymInt& size : tensorMetaOf(input)->sizes) {
        if (size.isSymbolic()) return false;
      }
    }
    if (!input->isPlaceholder()) return true;
    for (const Node& user : node.users()) {
      if (user.isOutput()) return false;
    }
    return true;
  }

  void finishMade(Node& made) {
    if (!config_.skipDimOrder && detail::useDimOrder(made)) made.setValue(inferValue(made));
  }

  ExportedProgram& program_;
  const EdgeCompileConfig& config_;
  detail::LiftedScalars lifted_;
  detail::EdgeOperands operands_;
  std::vector<Frame> frames_;
  std::unordered_set<const GraphModule*> entered_;
  std::unordered_map<const GraphModule*, std::string> paths_;
};

void eraseMetadataChecks(GraphModule& top) {
  static const Target check("aten._assert_tensor_metadata.default");
  for (const NestedModule& nested : namedModules(top)) {
    for (Node& node : nested.module->graph().nodes()) {
      if (node.isCall(check) && node.numUsers() == 0) nested.module->graph().erase(node);
    }
  }
}

void refusePreservedViews(const EdgeCompileConfig& config) {
  for (const std::string& name : config.preserveOps) {
    if (!detail::isViewOrPacket(Target(name).toAten())) continue;
    fail<UsageError>("cannot preserve operator '{}': it is a view, and edge programs call its copy", name);
  }
}

}  // namespace

ExportedProgram toEdgeDialect(ExportedProgram program, const EdgeCompileConfig& config) {
  if (!program.isValid()) fail<UsageError>("expected a program, got one that was moved from");
  refusePreservedViews(config);
  const size_t results = resultsOf(program.graphModule()).size();
  if (results != program.signature.outputs.size()) {
    fail<VerificationError>("the graph has {} results, but the signature {} output specs", results,
                            program.signature.outputs.size());
  }
  eraseMetadataChecks(program.graphModule());
  eliminateDeadCode(program.graphModule());
  ProgramRewriter(program).eraseDeadInputs({InputKind::Parameter});
  addDebugHandles(program);
  EdgePass(program, config).run();
  eliminateDeadCode(program.graphModule());
  wrapAsEdge(program);
  renameAsTraced(program);
  return program;
}

}  // namespace edgefx
