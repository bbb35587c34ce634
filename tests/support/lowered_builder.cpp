#include "support/lowered_builder.h"

#include "support/program_builder.h"

#include <array>
#include <functional>
#include <random>
#include <string>

namespace edgefx::test {
namespace {

ValueRef four() {
  return tensorValue({4});
}

// add(x, x), whose placeholder is named like those of torch's branches.
std::unique_ptr<Graph> plainBranch() {
  auto graph = std::make_unique<Graph>();
  Node& x = graph->placeholder("arg0_1");
  x.setValue(four());
  Node& add = graph->call("aten.add.Tensor", {x, x}, {}, "add");
  add.setValue(four());
  graph->output(Arg::tuple({add}));
  return graph;
}

ValueRef tupleOf(std::vector<ValueRef> values) {
  ValueMeta::Sequence results;
  results.elements = std::move(values);
  return ValueMeta::of(std::move(results));
}

// cond(pred, true_graph_0, false_graph_0, [x]) and the getitem of its result.
Node& addCond(ProgramBuilder& builder, Node& predicate, Node& x, std::unique_ptr<Graph> whenTrue,
              std::unique_ptr<Graph> whenFalse) {
  Node& first = builder.branch("true_graph_0", std::move(whenTrue));
  Node& second = builder.branch("false_graph_0", std::move(whenFalse));
  Node& cond = builder.call("higher_order.cond", {predicate, first, second, Arg::list({x})},
                            tupleOf({four()}), "cond");
  return getitem(cond, 0);
}

// relu(x) as a program of its own.
ExportedProgram reluProgram() {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", four());
  builder.userOutput(builder.call("aten.relu.default", {x}, four()));
  return builder.finish();
}

}  // namespace

LoweredModule sampleLowered(ExportedProgram program, std::string_view backend) {
  using namespace std::string_literals;
  LoweredModule module;
  module.backendId = backend;
  module.processedBytes = SharedBytes::copyOf("\0\x01payload of \xff\xfe"s + std::string(backend));
  module.compileSpecs = {{"level", "\0\x80\xff"s}, {"empty", ""}, {"text", "fast"}};
  module.program = std::move(program);
  module.debugHandleMap = {{int64_t{7}, {1, 2, 3}}, {std::string("né"), {}}, {int64_t{-1}, {9}}};
  SharedBytes blob = SharedBytes::copyOf("a blob\0with zero"s);
  module.namedData = {{"first", blob, 16, ""}, {"second", blob, 1, "other.ptd"}, {"none", {}, 4, ""}};
  return module;
}

Node& callDelegate(GraphModule& owner, std::string_view name, LoweredModuleRef module, Args args,
                   std::vector<ValueRef> results, bool isTuple) {
  if (owner.findDelegate(name) == nullptr) addLoweredModule(owner, name, std::move(module));
  args.insert(args.begin(), Arg(owner.graph().getAttr(name)));
  Node& call = owner.graph().call("higher_order.executorch_call_delegate", args);
  ValueMeta::Sequence value;
  value.elements = std::move(results);
  value.isList = !isTuple;
  call.setValue(ValueMeta::of(std::move(value)));
  return call;
}

Node& getitem(Node& call, int64_t index) {
  Node& node = call.graph().call("operator.getitem", {call, index}, {}, "getitem");
  node.setValue(call.value()->sequence()->elements.at(static_cast<size_t>(index)));
  return node;
}

ExportedProgram loweredProgram() {
  const at::Tensor weight = sampleTensor({4});
  ProgramBuilder inner;
  Node& innerWeight = inner.parameter("weight", weight);
  Node& bias = inner.buffer("bias", sampleTensor({4}));
  Node& innerX = inner.userInput("x", four());
  Node& mul = inner.call("aten.mul.Tensor", {innerX, innerWeight}, four());
  Node& add = inner.call("aten.add.Tensor", {mul, bias}, four());
  inner.userOutput(mul);
  inner.userOutput(add);
  ExportedProgram delegated = inner.finish();
  wrapAsEdge(delegated);

  ProgramBuilder outer;
  Node& outerWeight = outer.parameter("weight", weight);
  Node& x = outer.userInput("x", four());
  Node& scaled = outer.call("aten.mul.Tensor", {x, outerWeight}, four());
  Node& call = callDelegate(outer.program().graphModule(), "lowered_module_0",
                            std::make_shared<LoweredModule>(sampleLowered(std::move(delegated))), {scaled},
                            {four(), four()});
  call.editMeta([](NodeMeta& meta) { meta.setDebugHandle(12); });
  outer.userOutput(getitem(call, 1));
  ExportedProgram program = outer.finish();
  wrapAsEdge(program);
  return program;
}

ExportedProgram branchedLoweredProgram() {
  auto shared = std::make_shared<LoweredModule>(sampleLowered(reluProgram(), "shared"));

  ProgramBuilder deep;
  Node& deepFlag = deep.userInput("flag", tensorValue({}, Dtype::Bool));
  Node& deepX = deep.userInput("x", four());
  deep.userOutput(addCond(deep, deepFlag, deepX, plainBranch(), plainBranch()));
  ExportedProgram deepProgram = deep.finish();
  {
    GraphModule& branch = *deepProgram.graphModule().findChild("true_graph_0");
    Graph& graph = branch.graph();
    Node& add = *graph.find("add");
    InsertionGuard guard(graph, before(graph.outputNode()));
    Node& call = callDelegate(branch, "lowered_module_0",
                              std::make_shared<LoweredModule>(sampleLowered(reluProgram(), "innermost")),
                              {add}, {four()});
    graph.outputNode().setArgs({Arg::tuple({getitem(call, 0)})});
  }
  auto nested = std::make_shared<LoweredModule>(sampleLowered(std::move(deepProgram), "nested"));

  ProgramBuilder outer;
  Node& flag = outer.userInput("flag", tensorValue({}, Dtype::Bool));
  Node& x = outer.userInput("x", four());
  GraphModule& top = outer.program().graphModule();
  Node& first = callDelegate(top, "lowered_module_0", shared, {x}, {four()});
  Node& firstResult = getitem(first, 0);
  Node& second = callDelegate(top, "lowered_module_0", shared, {firstResult}, {four()}, true);
  Node& secondResult = getitem(second, 0);
  Node& third = callDelegate(top, "lowered_module_1", nested, {flag, secondResult}, {four()});
  Node& result = addCond(outer, flag, getitem(third, 0), plainBranch(), plainBranch());
  outer.userOutput(result);
  ExportedProgram program = outer.finish();
  for (const char* path : {"true_graph_0", "false_graph_0"}) {
    GraphModule& branch = *program.graphModule().findChild(path);
    Graph& graph = branch.graph();
    InsertionGuard guard(graph, before(graph.outputNode()));
    LoweredModuleRef module = shared;
    if (std::string_view(path) == "false_graph_0")
      module = std::make_shared<LoweredModule>(sampleLowered(reluProgram(), "branch"));
    Node& call = callDelegate(branch, "lowered_module_0", module, {*graph.find("add")}, {four()});
    graph.outputNode().setArgs({Arg::tuple({getitem(call, 0)})});
  }
  return program;
}

namespace {

class RandomPrograms {
 public:
  explicit RandomPrograms(uint64_t seed) : random_(seed) {
    for (at::Tensor& tensor : states_) tensor = sampleTensor({8});
    for (at::Tensor& tensor : lifted_) tensor = sampleTensor({4}, Dtype::Int64);
  }

  ExportedProgram program(int depth) {
    ProgramBuilder builder;
    std::vector<Node*> values;
    addStored(builder, values, depth);
    for (size_t i = 0, count = 1 + below(2); i < count; ++i)
      values.push_back(&builder.userInput("x_" + std::to_string(i), four()));
    // Depth counts from the outside: delegates in delegates in delegates.
    for (size_t i = 0, count = 1 + below(5); i < count; ++i) addStep(builder, values, depth, i);
    for (size_t i = 0, count = 1 + below(2); i < count; ++i) {
      Node& last = builder.call("aten.relu.default", {*values[below(values.size())]}, four());
      builder.userOutput(last);
    }
    ExportedProgram made = builder.finish();
    made.exampleInputs = SharedBytes::copyOf(below(2) == 0 ? "" : "pickled inputs");
    if (below(2) == 0) wrapAsEdge(made);
    return made;
  }

 private:
  size_t below(size_t bound) { return static_cast<size_t>(random_() % bound); }

  // Halves of shared storages. The outermost program has the two kinds of storages in tables of their own, as
  // files cannot tell more.
  void addStored(ProgramBuilder& builder, std::vector<Node*>& values, int depth) {
    for (size_t i = 0, count = below(4); i < count; ++i) {
      const std::string name = "part." + std::to_string(i);
      const bool isState = below(2) == 0;
      const bool inConstants = depth == 0 ? !isState : below(2) == 0;
      at::Tensor tensor = isState
                              ? states_[below(states_.size())].slice(0, 4 * static_cast<int64_t>(below(2)),
                                                                     8 - 4 * static_cast<int64_t>(below(2)))
                              : lifted_[below(lifted_.size())];
      tensor = tensor.slice(0, 0, 4);
      if (inConstants) {
        values.push_back(&builder.constant(name, tensor));
      } else if (isState && below(2) == 0) {
        values.push_back(&builder.parameter(name, tensor));
      } else {
        values.push_back(&builder.buffer(name, tensor));
      }
    }
  }

  LoweredModuleRef delegate(int depth) {
    if (!made_.empty() && below(4) == 0) return made_[below(made_.size())];
    LoweredModule module = sampleLowered(program(depth + 1), "backend_" + std::to_string(below(3)));
    module.processedBytes = SharedBytes::copyOf(std::string(below(200), static_cast<char>(below(256))));
    if (below(2) == 0) module.namedData.clear();
    if (below(2) == 0) module.compileSpecs.clear();
    if (below(2) == 0) module.debugHandleMap.clear();
    // Only such as are complete can be shared, or a delegate might hold itself.
    auto made = std::make_shared<LoweredModule>(std::move(module));
    if (depth == 0) made_.push_back(made);
    return made;
  }

  void addCall(GraphModule& owner, std::vector<Node*>& values, int depth) {
    std::string name;
    for (size_t i = 0; name.empty() || owner.findDelegate(name) != nullptr; ++i)
      name = "lowered_module_" + std::to_string(i);
    if (!owner.delegates().empty() && below(3) == 0)
      name = owner.delegates()[below(owner.delegates().size())].name;
    const GraphModule::Delegate* known = owner.findDelegate(name);
    const LoweredModuleRef module = known == nullptr ? delegate(depth) : known->module;
    Args args;
    for (const InputSpec& spec : module->program.signature.inputs) {
      if (!spec.target) args.emplace_back(*values[below(values.size())]);
    }
    const std::vector<ValueRef> results(module->program.signature.outputs.size(), four());
    Node& call = callDelegate(owner, name, module, args, results, below(3) == 0);
    for (size_t i = 0; i < results.size(); ++i) values.push_back(&getitem(call, static_cast<int64_t>(i)));
    if (below(2) == 0) call.editMeta([&](NodeMeta& meta) { meta.set("stack_trace", "a\nb"); });
    if (below(2) == 0) {
      Node& named = call.arg(0).asNode();
      named.editMeta([&](NodeMeta& meta) { meta.set("of get_attr", "text"); });
    }
  }

  void addStep(ProgramBuilder& builder, std::vector<Node*>& values, int depth, size_t step) {
    switch (below(depth < 2 ? 4 : 1)) {
      case 0:
        values.push_back(&builder.call(
            "aten.add.Tensor", {*values[below(values.size())], *values[below(values.size())]}, four()));
        break;
      case 1:
      case 2:
        addCall(builder.program().graphModule(), values, depth);
        break;
      default:
        addBranches(builder, values, depth, step);
    }
  }

  void addBranches(ProgramBuilder& builder, std::vector<Node*>& values, int depth, size_t step) {
    Node& flag =
        builder.call("aten.any.default", {*values[below(values.size())]}, tensorValue({}, Dtype::Bool));
    std::array<Node*, 2> branches{};
    for (size_t i = 0; i < 2; ++i) {
      const std::string name = (i == 0 ? "true_graph_" : "false_graph_") + std::to_string(step);
      branches[i] = &builder.branch(name, plainBranch());
      GraphModule& branch = *builder.program().graphModule().findChild(name);
      Graph& graph = branch.graph();
      InsertionGuard guard(graph, before(graph.outputNode()));
      std::vector<Node*> inner{graph.front(), graph.find("add")};
      for (size_t calls = below(2); calls > 0; --calls) addCall(branch, inner, depth);
      graph.outputNode().setArgs({Arg::tuple({*inner[below(inner.size())]})});
    }
    Node& cond = builder.call("higher_order.cond",
                              {flag, *branches[0], *branches[1], Arg::list({*values[below(values.size())]})},
                              tupleOf({four()}), "cond");
    values.push_back(&getitem(cond, 0));
  }

  std::mt19937_64 random_;
  std::array<at::Tensor, 3> states_;
  std::array<at::Tensor, 2> lifted_;
  std::vector<LoweredModuleRef> made_;
};

}  // namespace

ExportedProgram randomLoweredProgram(uint64_t seed) {
  return RandomPrograms(seed).program(0);
}

}  // namespace edgefx::test
