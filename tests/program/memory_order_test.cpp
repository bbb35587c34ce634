#include "program/memory_order.h"

#include "support/lowered_builder.h"
#include "support/program_builder.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace edgefx {
namespace {

using detail::MemoryOrder;
using test::callDelegate;
using test::ProgramBuilder;
using test::sampleLowered;
using test::sampleTensor;
using test::tensorValue;

std::vector<std::string> pairsOf(const ExportedProgram& program) {
  std::vector<std::string> pairs;
  const MemoryOrder order(program, program.graphModule());
  for (const auto& [first, second] : order.pairs()) {
    pairs.push_back(std::string(first->name()) + " " + std::string(second->name()));
  }
  return pairs;
}

using Pairs = std::vector<std::string>;

TEST(MemoryOrder, FunctionalGraphsHaveNone) {
  const ExportedProgram program = test::countingProgram();
  EXPECT_TRUE(MemoryOrder(program, program.graphModule()).empty());
}

TEST(MemoryOrder, ReadsAndWritesOfOneMemoryKeepTheirOrder) {
  ProgramBuilder builder;
  Node& b = builder.buffer("b", sampleTensor({2}));
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& read = builder.call("aten.neg.default", {b}, tensorValue({2}), "read");
  builder.call("aten.add_.Tensor", {b, x}, tensorValue({2}), "write");
  builder.call("aten.neg.default", {b}, tensorValue({2}), "again");
  builder.call("aten.neg.default", {x}, tensorValue({2}), "other");
  builder.call("aten.mul_.Tensor", {b, x}, tensorValue({2}), "last");
  builder.userOutput(read);
  EXPECT_EQ(pairsOf(builder.finish()), (Pairs{"read write", "write again", "write last", "again last"}));
}

TEST(MemoryOrder, ViewsAreTheSameMemory) {
  ProgramBuilder builder;
  Node& b = builder.buffer("b", sampleTensor({2, 2}));
  Node& row = builder.call("aten.select.int", {b, 0, 0}, tensorValue({2}), "row");
  Node& flat = builder.call("aten.view.default", {b, Arg::list({4})}, tensorValue({4}), "flat");
  builder.call("aten.add_.Tensor", {row, 1}, tensorValue({2}), "write");
  builder.userOutput(builder.call("aten.neg.default", {flat}, tensorValue({4}), "read"));
  EXPECT_EQ(pairsOf(builder.finish()), (Pairs{"row write", "flat write", "write read"}));
}

TEST(MemoryOrder, InputsOfOneMemoryAreTheSameMemory) {
  const at::Tensor memory = sampleTensor({2, 2});
  ProgramBuilder builder;
  Node& whole = builder.buffer("whole", memory);
  Node& row = builder.buffer("row", memory.select(0, 1));
  Node& other = builder.buffer("other", sampleTensor({2}));
  builder.call("aten.add_.Tensor", {row, 1}, tensorValue({2}), "write");
  builder.call("aten.neg.default", {other}, tensorValue({2}), "apart");
  builder.userOutput(builder.call("aten.neg.default", {whole}, tensorValue({2, 2}), "read"));
  EXPECT_EQ(pairsOf(builder.finish()), (Pairs{"write read"}));
}

TEST(MemoryOrder, BranchesAndDelegatesWriteTheirOperands) {
  auto branch = std::make_unique<Graph>();
  {
    Node& in = branch->placeholder("b");
    branch->output(Arg::tuple({branch->call("aten.add_.Tensor", {in, 1})}));
  }
  ProgramBuilder inner;
  Node& y = inner.userInput("y", tensorValue({2}));
  inner.userOutput(inner.call("aten.mul_.Tensor", {y, 2}, tensorValue({2})));

  ProgramBuilder builder;
  Node& b = builder.buffer("b", sampleTensor({2}));
  Node& body = builder.branch("body", std::move(branch));
  builder.call("higher_order.invoke_subgraph", {body, "id", b}, nullptr, "call");
  builder.call("aten.neg.default", {b}, tensorValue({2}), "between");
  Node& delegate = callDelegate(builder.program().graphModule(), "lowered_module_0",
                                std::make_shared<const LoweredModule>(sampleLowered(inner.finish())), {b},
                                {tensorValue({2})});
  builder.userOutput(builder.call("aten.neg.default", {b}, tensorValue({2}), "after"));
  const std::string name(delegate.name());
  EXPECT_EQ(pairsOf(builder.finish()),
            (Pairs{"call between", "call " + name, "between " + name, name + " after"}));
}

TEST(MemoryOrder, StatisticsOfATrainingNormAreWritten) {
  for (const bool trains : {false, true}) {
    ProgramBuilder builder;
    Node& mean = builder.buffer("mean", sampleTensor({2}));
    Node& variance = builder.buffer("variance", sampleTensor({2}));
    Node& x = builder.userInput("x", tensorValue({3, 2}));
    builder.call("aten.batch_norm.default", {x, nullptr, nullptr, mean, variance, trains, 0.5, 1e-5, false},
                 tensorValue({3, 2}), "norm");
    builder.userOutput(builder.call("aten.neg.default", {mean}, tensorValue({2}), "read"));
    EXPECT_EQ(pairsOf(builder.finish()), trains ? Pairs{"norm read"} : Pairs{});
  }
}

TEST(MemoryOrder, ListsBothSidesOfANode) {
  ProgramBuilder builder;
  Node& b = builder.buffer("b", sampleTensor({2}));
  Node& write = builder.call("aten.add_.Tensor", {b, 1}, tensorValue({2}), "write");
  Node& read = builder.call("aten.neg.default", {b}, tensorValue({2}), "read");
  builder.userOutput(read);
  const ExportedProgram program = builder.finish();
  const MemoryOrder order(program, program.graphModule());
  ASSERT_EQ(order.before(read).size(), 1u);
  EXPECT_EQ(order.before(read)[0], &write);
  ASSERT_EQ(order.after(write).size(), 1u);
  EXPECT_EQ(order.after(write)[0], &read);
  EXPECT_TRUE(order.before(write).empty());
}

}  // namespace
}  // namespace edgefx
