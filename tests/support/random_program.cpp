#include "support/random_program.h"

namespace edgefx::test {
namespace {

ValueRef vectorValue() {
  static const ValueRef value = tensorValue({4});
  return value;
}

ValueRef several(size_t count) {
  ValueMeta::Sequence sequence;
  sequence.elements.assign(count, vectorValue());
  return ValueMeta::of(std::move(sequence));
}

// Writes calls into a graph whose modules hang in `owner`.
class RandomGraph {
 public:
  RandomGraph(Dice& dice, GraphModule& owner, std::vector<Node*> values, int depth)
      : dice_(dice), owner_(owner), graph_(owner.graph()), values_(std::move(values)), depth_(depth) {}

  void addCalls(size_t count) {
    for (size_t i = 0; i < count; ++i) addCall();
  }
  Node& any() { return *values_[dice_.below(values_.size())]; }
  Node& recent() {
    const size_t few = std::min<size_t>(values_.size(), 4);
    return *values_[values_.size() - 1 - dice_.below(few)];
  }

 private:
  Node& pick() { return dice_.percent(60) ? recent() : any(); }

  void addCall() {
    const size_t kind = dice_.below(depth_ < 2 ? 12 : 10);
    if (kind < 3) return keep(graph_.call("aten.relu.default", {pick()}));
    if (kind < 7) return keep(graph_.call("aten.add.Tensor", {pick(), pick()}));
    if (kind < 8) return keep(graph_.call("aten.cat.default", {Arg::list({pick(), pick(), pick()})}));
    if (kind < 9) return keep(graph_.call("aten.mul.Tensor", {pick(), 0.5}, {{"alpha", pick()}}));
    if (kind < 10) return addTopk();
    addCond();
  }
  void keep(Node& node) {
    node.setValue(vectorValue());
    values_.push_back(&node);
  }
  void addTopk() {
    Node& topk = graph_.call("aten.topk.default", {pick(), 2});
    topk.setValue(several(2));
    if (dice_.percent(80)) keep(graph_.call("operator.getitem", {topk, 0}));
    if (dice_.percent(50)) keep(graph_.call("operator.getitem", {topk, 1}));
  }

  void addCond() {
    Args operands;
    const size_t count = 1 + dice_.below(3);
    for (size_t i = 0; i < count; ++i) operands.emplace_back(pick());
    Node& onTrue = branch(count);
    Node& onFalse = dice_.percent(15) ? onTrue : branch(count);
    Node& cond = graph_.call("higher_order.cond", {pick(), onTrue, onFalse, Arg::tuple(operands)});
    cond.setValue(several(1));
    keep(graph_.call("operator.getitem", {cond, 0}));
  }

  // Of a new branch, or of an old one that takes as many operands.
  Node& branch(size_t operands) {
    for (auto& [known, node] : branches_) {
      if (known == operands && dice_.percent(30)) return *node;
    }
    auto module = std::make_unique<GraphModule>();
    std::vector<Node*> inputs;
    for (size_t i = 0; i < operands; ++i) {
      inputs.push_back(&module->graph().placeholder("arg" + std::to_string(i)));
      inputs.back()->setValue(vectorValue());
    }
    RandomGraph inner(dice_, *module, inputs, depth_ + 1);
    inner.addCalls(1 + dice_.below(5));
    module->graph().output(Arg::tuple({inner.recent()}));
    const std::string name = "branch_" + std::to_string(owner_.children().size());
    owner_.addChild(name, std::move(module));
    Node& node = graph_.getAttr(name);
    branches_.emplace_back(operands, &node);
    return node;
  }

  Dice& dice_;
  GraphModule& owner_;
  Graph& graph_;
  std::vector<Node*> values_;
  std::vector<std::pair<size_t, Node*>> branches_;
  int depth_;
};

}  // namespace

ExportedProgram randomProgram(Dice& dice) {
  ProgramBuilder builder;
  std::vector<Node*> values;
  std::vector<std::string> buffers;
  auto add = [&](std::string_view prefix, size_t count, auto&& make) {
    for (size_t i = 0; i < count; ++i) values.push_back(&make(std::string(prefix) + std::to_string(i)));
  };
  add("w", dice.below(4),
      [&](const std::string& name) -> Node& { return builder.parameter(name, sampleTensor({4})); });
  add("k", dice.below(3), [&](const std::string& name) -> Node& {
    buffers.push_back(name);
    return builder.buffer(name, sampleTensor({4}), dice.percent(70));
  });
  add("c", dice.below(3),
      [&](const std::string& name) -> Node& { return builder.constant(name, sampleTensor({4})); });
  add("x", 1 + dice.below(3),
      [&](const std::string& name) -> Node& { return builder.userInput(name, vectorValue()); });

  RandomGraph graph(dice, builder.program().graphModule(), values, 0);
  graph.addCalls(4 + dice.below(20));
  std::vector<Node*> returned;
  for (const std::string& buffer : buffers) {
    if (!dice.percent(60)) continue;
    Node* written = &graph.any();
    while (written->isPlaceholder()) written = &builder.graph().call("aten.relu.default", {*written});
    if (written->value() == nullptr) written->setValue(vectorValue());
    builder.result(OutputKind::BufferMutation, *written, buffer);
    if (dice.percent(30)) returned.push_back(written);
  }
  for (Node* node : returned) builder.userOutput(*node);
  builder.userOutput(graph.recent());
  if (dice.percent(50)) builder.userOutput(graph.any());
  return builder.finish();
}

}  // namespace edgefx::test
