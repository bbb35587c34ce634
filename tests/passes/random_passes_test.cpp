#include <edgefx/program/check_program.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/serialization/pt2.h>
#include <edgefx/support/error.h>

#include "passes/pass_testing.h"
#include "support/custom_operators.h"
#include "support/expected_results.h"
#include "support/random_runnable.h"
#include "support/test_data.h"

#include <ATen/Parallel.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <map>

// Passes change what a program is, never what it computes: random programs and those of the corpus, each pass
// alone and all in several orders.
namespace edgefx::test {
namespace {

constexpr int kPassShards = 4;
constexpr uint64_t kProgramsOfShard = 40;

// Random programs have little to simplify: this adds copies of calls, and copies and views of values, to
// every graph, and lets some of the users read them.
class Clutter {
 public:
  Clutter(Dice& dice, ExportedProgram& program) : dice_(dice), program_(program) {}

  void add() {
    for (const NestedModule& nested : namedModules(program_.graphModule())) {
      Graph& graph = nested.module->graph();
      std::vector<Node*> nodes;
      for (Node& node : graph.nodes()) {
        if (!node.isOutput() && !node.isGetAttr() && node.value() != nullptr) nodes.push_back(&node);
      }
      for (Node* node : nodes) {
        if (dice_.percent(30)) addAround(*node);
      }
    }
  }

 private:
  Node& insert(Node& after, Target target, const Args& args, ValueRef value, const Kwargs& kwargs = {}) {
    Node* place = &after;
    while (place->next() != nullptr && place->next()->isPlaceholder()) place = place->next();
    const InsertionGuard guard(after.graph(), edgefx::after(*place));
    Node& made = after.graph().call(target, args, kwargs);
    made.setValue(std::move(value));
    return made;
  }

  Node& copy(Node& call) {
    Kwargs kwargs;
    for (auto [key, value] : call.kwargs()) kwargs.emplace_back(key, value);
    return insert(call, call.target(), Args(call.args().begin(), call.args().end()), call.valueRef(), kwargs);
  }

  void addAround(Node& node) {
    const std::vector<Node*> users = node.usersSnapshot();
    if (users.empty()) return;
    Node& made = makeEqual(node);
    if (&made == &node) return;
    for (Node* user : users) {
      if (!dice_.percent(60) || !made.isBefore(*user)) continue;
      user->replaceInput(node, made);
      if (user->isOutput() && &user->graph() == &program_.graph())
        program_.signature.renameOutput(node.name(), made.name());
    }
  }

  Node& makeEqual(Node& node) {
    const TensorMeta* meta = node.value()->tensor();
    const bool isPlain =
        meta != nullptr && meta->strides == contiguousTensor(meta->dtype, meta->sizes).strides;
    const bool isStatic = isPlain && std::ranges::none_of(meta->sizes, [](const SymInt& size) {
                            return size.isSymbolic() || size.value() == 0;
                          });
    Arg::List sizes, flat{-1};
    if (isStatic) {
      for (const SymInt& size : meta->sizes) sizes.emplace_back(size.value());
    }
    switch (dice_.below(6)) {
      case 0:
      case 1:
        if (!node.isCall() || node.target().kind() == TargetKind::HigherOrder) return node;
        return copy(node);
      case 2:
        if (isPlain) return insert(node, "aten.clone.default", {node}, node.valueRef());
        return node;
      case 3:
        if (isPlain) return insert(node, "aten.alias.default", {node}, node.valueRef());
        return node;
      case 4: {
        if (!isStatic) return node;
        int64_t count = 1;
        for (const SymInt& size : meta->sizes) count *= size.value();
        const char* view = dice_.percent(50) ? "aten.view.default" : "aten.view_copy.default";
        Node& line = insert(node, view, {node, Arg::list(flat)}, tensorValue({count}, meta->dtype));
        return insert(line, dice_.percent(50) ? "aten.view.default" : "aten.reshape.default",
                      {line, Arg::list(sizes)}, node.valueRef());
      }
      default: {
        if (!isStatic || meta->sizes.size() != 2) return node;
        TensorMeta turned = *meta;
        std::swap(turned.sizes[0], turned.sizes[1]);
        std::swap(turned.strides[0], turned.strides[1]);
        Node& one =
            insert(node, "aten.permute.default", {node, Arg::list({1, 0})}, ValueMeta::of(std::move(turned)));
        return insert(one, "aten.permute.default", {one, Arg::list({-1, 0})}, node.valueRef());
      }
    }
  }

  Dice& dice_;
  ExportedProgram& program_;
};

std::string allText(const ExportedProgram& program) {
  return fxText(program.graphModule()) + text(program.signature);
}

// Orders in which all passes are run.
std::vector<std::vector<std::string>> passOrders() {
  std::vector<std::vector<std::string>> orders;
  for (const std::string& name : standardPassNames()) orders.push_back({name});
  std::vector<std::string> all = standardPassNames();
  orders.push_back(all);
  std::ranges::reverse(all);
  orders.push_back(all);
  std::ranges::rotate(all, all.begin() + 4);
  std::ranges::swap(all[0], all[5]);
  orders.push_back(all);
  return orders;
}

class RandomPasses : public testing::TestWithParam<int> {
 protected:
  RandomPasses() : threads_(at::get_num_threads()) { at::set_num_threads(1); }
  ~RandomPasses() override { at::set_num_threads(threads_); }

  // Runs the passes of each order on the program, and checks everything that must hold of the result.
  void check(const ExportedProgram& program, uint64_t seed, const std::string& what) {
    const std::string before = test::snapshot(program);
    const std::vector<c10::IValue> inputs = generateInputs(program, seed);
    for (const std::vector<std::string>& order : passOrders()) {
      PassManager manager;
      for (const std::string& name : order) manager.add(makePass(name));
      SCOPED_TRACE(what + ": " + order.front() + (order.size() > 1 ? ", ..." : ""));
      ExportedProgram made = program.clone();
      if (manager.run(made)) ++changed_[order.size() > 1 ? "all" : order.front()];
      const VerifyReport report = verifyLowering(program, made, inputs, {.tolerance = {0, 0}, .calls = 3});
      ASSERT_TRUE(report.agrees()) << report.text() << allText(program) << "\nafter\n" << allText(made);
      ExportedProgram again = program.clone();
      manager.run(again);
      ASSERT_EQ(allText(again), allText(made)) << "not deterministic";
      if (order.size() == 1) {
        const std::string once = allText(made);
        ASSERT_FALSE(manager.run(made)) << "not idempotent\n" << once << "\nafter\n" << allText(made);
      }
      ASSERT_EQ(test::snapshot(program), before);
    }
  }

  std::map<std::string, size_t> changed_;

 private:
  const int threads_;
};

TEST_P(RandomPasses, KeepWhatIsComputed) {
  for (uint64_t i = 0; i < kProgramsOfShard && !HasFatalFailure(); ++i) {
    const uint64_t seed = static_cast<uint64_t>(GetParam()) * kProgramsOfShard + i;
    Dice dice(seed);
    ExportedProgram program = randomRunnable(dice);
    Clutter(dice, program).add();
    ASSERT_EQ(render(checkProgram(program)), "") << allText(program);
    if (i % 4 == 3) wrapAsEdge(program);
    try {
      check(program, seed, "seed " + std::to_string(seed));
    } catch (const std::exception& error) {
      FAIL() << "seed " << seed << ": " << error.what() << '\n' << allText(program);
    }
  }
  for (const std::string& name : standardPassNames()) {
    if (name == "fold-dequantize-quantize" || name == "lift-attributes") continue;  // nothing to do there
    EXPECT_GT(changed_[name], kProgramsOfShard / 8) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPasses, testing::Range(0, kPassShards));

class CorpusPasses : public RandomPasses {};

TEST_P(CorpusPasses, KeepWhatIsComputed) {
  registerCustomOperators();
  size_t compared = 0;
  int position = 0;
  for (const CorpusProgram& corpus : corpusPrograms()) {
    if (position++ % kPassShards != GetParam() || cannotRunHere().contains(corpus.name)) continue;
    ExportedProgram program = loadProgram(corpus.file, corpus.model);
    try {
      const std::vector<c10::IValue> inputs = generateInputs(program, 1);
      Interpreter(program).run(inputs);  // programs may refuse what was generated
    } catch (const Error&) {
      continue;
    }
    if (program.graph().size() > 3000) continue;
    ++compared;
    check(program, 1, corpus.name);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(compared, 20u);
}

INSTANTIATE_TEST_SUITE_P(Corpus, CorpusPasses, testing::Range(0, kPassShards));

}  // namespace
}  // namespace edgefx::test
