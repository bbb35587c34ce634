#include "support/random_runnable.h"

#include "support/random_calls.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

namespace edgefx::test {
namespace {

// A size of which only the expression is known, and its value at export.
struct SizeText {
  std::string expression;
  int64_t hint;

  SymInt value() const { return SymInt(Symbolic{SymExpr::parse(expression), hint}); }
};

ValueRef matrixOf(const SizeText& rows, int64_t columns) {
  return tensorValue({rows.value(), columns});
}

// Calls on float32[s0, 4].
class SymbolicCalls {
 public:
  SymbolicCalls(Dice& dice, ProgramBuilder& builder, RandomCalls& calls)
      : dice_(dice), builder_(builder), graph_(builder.graph()), calls_(calls) {}

  void addInputs() {
    builder_.program().rangeConstraints = {{"s0", 2, 9}};
    x_ = &builder_.userInput("x_rows", matrixOf(rows_, 4));
    if (dice_.percent(50)) {
      builder_.program().rangeConstraints.push_back({"s1", 1, 5});
      number_ = &builder_.userInput("n", ValueMeta::of(ValueMeta::SymIntValue{SizeText{"s1", 2}.value()}));
    }
    if (dice_.percent(40)) more_ = &builder_.userInput("more_rows", matrixOf(rows_, 4));
  }

  void addCalls(Node* weight) {
    size_ = &number("aten.sym_size.int", {*x_, 0}, rows_);
    addSteps(weight);
    if (number_ != nullptr) {
      Node& sum = number("operator.add", {*size_, *number_}, {"s0 + s1", 5});
      keepTensor("aten.full.default", {Arg::list({sum, 2}), 0.5}, matrixOf({"s0 + s1", 5}, 2));
    }
    // What has no symbols may go on with everything else.
    Node& sum = graph_.call("aten.sum.dim_IntList", {*x_, Arg::list({0})}, {}, "sum_rows");
    sum.setValue(tensorValue({4}));
    calls_.addInput(sum, at::zeros({4}), true);
  }

  void addResults() {
    builder_.userOutput(*x_);
    for (Node* node : kept_) {
      if (dice_.percent(40)) builder_.userOutput(*node);
    }
  }

 private:
  Node& number(const char* target, const Args& args, const SizeText& size) {
    Node& node = graph_.call(target, args, {}, Target(target).nameCandidate());
    node.setValue(ValueMeta::of(ValueMeta::SymIntValue{size.value()}));
    kept_.push_back(&node);
    return node;
  }
  Node& tensor(const char* target, const Args& args, ValueRef value) {
    Node& node = graph_.call(target, args, {}, Target(target).op());
    node.setValue(std::move(value));
    return node;
  }
  void keepTensor(const char* target, const Args& args, ValueRef value) {
    kept_.push_back(&tensor(target, args, std::move(value)));
  }

  void addSteps(Node* weight) {
    const size_t steps = 3 + dice_.below(8);
    for (size_t i = 0; i < steps; ++i) addStep(weight);
  }

  void addStep(Node* weight) {
    switch (dice_.below(11)) {
      case 0:
        x_ = &tensor("aten.relu.default", {*x_}, matrixOf(rows_, 4));
        return;
      case 1:
        x_ = &tensor("aten.tanh.default", {*x_}, matrixOf(rows_, 4));
        return;
      case 2:
        x_ = &tensor("aten.mul.Tensor", {*x_, *size_}, matrixOf(rows_, 4));
        return;
      case 3:
        if (more_ != nullptr) x_ = &tensor("aten.sub.Tensor", {*x_, *more_}, matrixOf(rows_, 4));
        return;
      case 4:
        if (weight != nullptr) x_ = &tensor("aten.mm.default", {*x_, *weight}, matrixOf(rows_, 4));
        return;
      case 5: {
        Node& count = number("operator.mul", {*size_, 4}, {"4*s0", 4 * rows_.hint});
        Node& flat = tensor("aten.view.default", {*x_, Arg::list({count})},
                            tensorValue({SizeText{"4*s0", 4 * rows_.hint}.value()}));
        kept_.push_back(&flat);
        x_ = &tensor("aten.view.default", {flat, Arg::list({*size_, 4})}, matrixOf(rows_, 4));
        return;
      }
      case 6: {
        Node& fewer = number("operator.sub", {*size_, 1}, {"s0 - 1", rows_.hint - 1});
        keepTensor("aten.slice.Tensor", {*x_, 0, 0, fewer}, matrixOf({"s0 - 1", rows_.hint - 1}, 4));
        return;
      }
      case 7: {
        Node& row = tensor("aten.slice.Tensor", {*x_, 0, 0, 1}, tensorValue({1, 4}));
        TensorMeta wide = *matrixOf(rows_, 4)->tensor();
        wide.strides = {0, 1};
        Node& all =
            tensor("aten.expand.default", {row, Arg::list({*size_, 4})}, ValueMeta::of(std::move(wide)));
        x_ = &tensor("aten.add.Tensor", {*x_, all}, matrixOf(rows_, 4));
        return;
      }
      case 8:
        keepTensor("aten.cat.default", {Arg::list({*x_, *x_})}, matrixOf({"2*s0", 2 * rows_.hint}, 4));
        return;
      case 9: {
        Node& numbers = tensor("aten.arange.default", {*size_}, tensorValue({rows_.value()}, Dtype::Int64));
        Node& column =
            tensor("aten.unsqueeze.default", {numbers, 1}, tensorValue({rows_.value(), 1}, Dtype::Int64));
        x_ = &tensor("aten.add.Tensor", {*x_, column}, matrixOf(rows_, 4));
        return;
      }
      default:
        addCond();
    }
  }

  Node& branch(const char* prefix, const char* op, bool takesSize) {
    auto graph = std::make_unique<Graph>();
    Node& x = graph->placeholder("x");
    x.setValue(matrixOf(rows_, 4));
    Args args{x};
    if (takesSize) {
      Node& size = graph->placeholder("size");
      size.setValue(ValueMeta::of(ValueMeta::SymIntValue{rows_.value()}));
      args.emplace_back(size);
    }
    Node& result = graph->call(op, args, {}, Target(op).op());
    result.setValue(matrixOf(rows_, 4));
    graph->output(Arg::tuple({result}));
    const size_t count = builder_.program().graphModule().children().size();
    return builder_.branch(prefix + std::to_string(count), std::move(graph));
  }

  void addCond() {
    Node& flag = graph_.call("operator.gt", {*size_, 4}, {}, "gt");
    flag.setValue(ValueMeta::of(ValueMeta::SymBoolValue{Symbolic{SymExpr::parse("s0 > 4"), false}}));
    // Files cannot hold operands of several kinds.
    const bool takesSize = dice_.percent(20);
    Node& first = branch("sym_true_", takesSize ? "aten.mul.Tensor" : "aten.abs.default", takesSize);
    Node& second = branch("sym_false_", takesSize ? "aten.sub.Tensor" : "aten.neg.default", takesSize);
    Args operands{*x_};
    if (takesSize) operands.emplace_back(*size_);
    Node& cond =
        graph_.call("higher_order.cond", {flag, first, second, Arg::tuple(operands)}, {}, "cond_rows");
    ValueMeta::Sequence results;
    results.elements = {matrixOf(rows_, 4)};
    cond.setValue(ValueMeta::of(std::move(results)));
    x_ = &tensor("operator.getitem", {cond, 0}, matrixOf(rows_, 4));
  }

  Dice& dice_;
  ProgramBuilder& builder_;
  Graph& graph_;
  RandomCalls& calls_;
  const SizeText rows_{"s0", 3};
  Node* x_ = nullptr;
  Node* more_ = nullptr;
  Node* number_ = nullptr;
  Node* size_ = nullptr;
  std::vector<Node*> kept_;
};

class RunnableProgram {
 public:
  explicit RunnableProgram(Dice& dice)
      : dice_(dice),
        writes_(dice.percent(25)),
        calls_(dice, builder_.program().graphModule(), 0, writes_),
        symbolic_(dice, builder_, calls_) {}

  ExportedProgram make() {
    const bool isSymbolic = dice_.percent(30);
    addParameters();
    addBuffers();
    addConstants();
    addUserInputs();
    if (isSymbolic) {
      symbolic_.addInputs();
      symbolic_.addCalls(square_);
    }
    calls_.add(10 + dice_.below(40));
    addMutations();
    if (isSymbolic) symbolic_.addResults();
    addOutputs();
    return builder_.finish();
  }

 private:
  struct Stored {
    std::string target;
    at::Tensor like;
  };

  Node& parameter(const char* target, const at::Tensor& tensor) {
    Node& node = builder_.parameter(target, tensor);
    calls_.addInput(node, tensor, false);
    return node;
  }
  void buffer(const char* target, const at::Tensor& tensor, bool persistent) {
    Node& node = builder_.buffer(target, tensor, persistent);
    calls_.addInput(node, tensor.clone(), true);
    buffers_.push_back({target, tensor});
  }
  void input(const char* name, const at::Tensor& tensor) {
    Node& node = builder_.userInput(name, describeValue(tensor));
    calls_.addInput(node, tensor, true);
    inputs_.push_back({std::string(node.name()), tensor});
  }

  void addParameters() {
    isImages_ = dice_.percent(30);
    const at::Tensor weight = randomTensor(dice_, {4, 4});
    if (dice_.percent(80)) square_ = &parameter("layer.weight", weight);
    if (dice_.percent(25)) parameter("tied.weight", weight);
    if (dice_.percent(20)) parameter("turned.weight", weight.t());
    if (dice_.percent(60)) parameter("narrow.weight", randomTensor(dice_, {3, 4}));
    if (dice_.percent(60)) parameter("layer.bias", randomTensor(dice_, {4}));
    if (dice_.percent(30)) parameter("double.weight", randomTensor(dice_, {4, 2}, Dtype::Float64));
    if (!isImages_) return;
    parameter("conv.weight", randomTensor(dice_, {3, 2, 3, 3}));
    parameter("bn.weight", randomTensor(dice_, {3}));
  }

  void addBuffers() {
    const at::Tensor shared = randomTensor(dice_, {2, 4});
    const bool isKept = dice_.percent(70);
    if (dice_.percent(50)) buffer("cache", shared, isKept);
    if (dice_.percent(40)) buffer("mean", randomTensor(dice_, {4}), dice_.percent(70));
    if (dice_.percent(40)) buffer("count", at::full({}, 3, at::kLong), true);
    // Files keep parameters and persistent buffers apart from all others.
    if (!writes_ && dice_.percent(10)) buffer("cache_alias", shared, isKept);
    if (!writes_ && dice_.percent(10)) buffer("cache_row", shared.select(0, 1), isKept);
    if (isImages_) buffer("bn.running_mean", randomTensor(dice_, {3}), true);
  }

  void addConstants() {
    if (dice_.percent(50)) constant("lifted_tensor_0", randomTensor(dice_, {4}));
    if (dice_.percent(50)) constant("lifted_tensor_1", at::arange(3, at::kLong));
    if (dice_.percent(20)) constant("lifted_tensor_2", at::full({}, 0.5, at::kDouble));
  }
  void constant(const char* target, const at::Tensor& tensor) {
    calls_.addInput(builder_.constant(target, tensor), tensor, false);
  }

  void addUserInputs() {
    input("x", randomTensor(dice_, {2, 4}));
    if (dice_.percent(60)) input("y", randomTensor(dice_, {4, 3}).t());
    if (dice_.percent(40)) input("d", randomTensor(dice_, {4}, Dtype::Float64));
    if (dice_.percent(60)) input("indices", randomTensor(dice_, {3}, Dtype::Int64));
    if (dice_.percent(40)) input("mask", randomTensor(dice_, {2, 4}, Dtype::Bool));
    if (dice_.percent(40)) input("flag", randomTensor(dice_, {}, Dtype::Bool));
    if (dice_.percent(20)) input("half", randomTensor(dice_, {2, 4}, Dtype::Float16));
    if (isImages_) input("image", randomTensor(dice_, {1, 2, 6, 6}));
    if (dice_.percent(10)) builder_.constantInput("mode", ConstantScalar(std::string("fast")));
    if (dice_.percent(10)) builder_.constantInput("nothing", ConstantScalar());
  }

  void addMutations() {
    for (const Stored& stored : buffers_) {
      if (!dice_.percent(writes_ ? 20 : 50)) continue;
      Node* node = calls_.conform(calls_.recent(), stored.like).node;
      builder_.result(OutputKind::BufferMutation, *node, stored.target);
      written_.push_back(node);
    }
    if (writes_) return;
    for (const Stored& stored : inputs_) {
      if (!dice_.percent(8)) continue;
      Node* node = calls_.conform(calls_.recent(), stored.like).node;
      builder_.result(OutputKind::UserInputMutation, *node, stored.target);
      written_.push_back(node);
    }
  }

  void addOutputs() {
    builder_.userOutput(*calls_.recent().node);
    const size_t count = dice_.below(4);
    for (size_t i = 0; i < count; ++i) {
      builder_.userOutput(dice_.percent(60) ? *calls_.recent().node : *calls_.any().node);
    }
    for (Node* node : written_) {
      if (dice_.percent(30)) builder_.userOutput(*node);
    }
    if (dice_.percent(10)) builder_.constantOutput(ConstantScalar(int64_t{7}));
  }

  Dice& dice_;
  ProgramBuilder builder_;
  const bool writes_;
  RandomCalls calls_;
  SymbolicCalls symbolic_;
  bool isImages_ = false;
  Node* square_ = nullptr;  // a parameter float32[4, 4]
  std::vector<Stored> buffers_, inputs_;
  std::vector<Node*> written_;
};

}  // namespace

ExportedProgram randomRunnable(Dice& dice) {
  return RunnableProgram(dice).make();
}

}  // namespace edgefx::test
