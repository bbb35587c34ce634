#include <edgefx/backend/to_backend.h>
#include <edgefx/partition/aoti_partitioner.h>
#include <edgefx/partition/capability_partitioner.h>
#include <edgefx/partition/tag_constants.h>
#include <edgefx/program/delegated_text.h>
#include <edgefx/run/verify_lowering.h>

#include "backend/case_lowering.h"
#include "backend/test_delegates.h"
#include "support/program_builder.h"

#include <ATen/core/ivalue.h>

// Programs that write memory in place: no value passes between a write and the reads around it, yet their
// order matters.
namespace edgefx::test::cases {
namespace {

// %early reads %b_state, then %write adds to it, %late reads it again.
ExportedProgram inPlace() {
  ProgramBuilder builder;
  Node& state = builder.buffer("state", sampleTensor({2}));
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& early = builder.call("aten.neg.default", {state}, tensorValue({2}), "early");
  builder.call("aten.add_.Tensor", {state, x}, tensorValue({2}), "write");
  Node& late = builder.call("aten.neg.default", {state}, tensorValue({2}), "late");
  builder.userOutput(builder.call("aten.sub.Tensor", {late, early}, tensorValue({2}), "sub"));
  return builder.finish();
}

void expectSame(const ExportedProgram& program, const ExportedProgram& lowered) {
  const VerifyReport report = verifyLowering(program, lowered);
  EXPECT_TRUE(report.agrees()) << report.text() << delegatedText(lowered);
}

TEST(ToBackendInPlace, DelegatesStayOnTheirSideOfAWrite) {
  const ExportedProgram program = inPlace();
  for (const Wanted& wanted :
       {Wanted{{"t0", {"late"}}}, Wanted{{"t0", {"early"}}}, Wanted{{"t0", {"late", "sub"}}},
        Wanted{{"t0", {"early"}}, {"t1", {"late"}}}, Wanted{{"t0", {"write"}}},
        Wanted{{"t0", {"early", "write", "late", "sub"}}}}) {
    expectSame(program, lower(program, wanted));
  }
}

TEST(ToBackendInPlace, ReadsOnBothSidesOfAWriteAreNotFused) {
  expectMentions(refusal(inPlace(), {{"t0", {"early", "late"}}}), {"'t0'", "early -> write -> late"});
}

TEST(ToBackendInPlace, ThePartitionerKeepsThemApart) {
  const ExportedProgram program = inPlace();
  for (const bool related : {false, true}) {
    CapabilityOptions options;
    options.allowsSingleNodePartition = true;
    options.skipHorizontalFusion = related;
    const auto partitions = proposePartitions(
        program.graph(), support::operators({"aten.neg.default", "aten.sub.Tensor"}), options);
    ASSERT_EQ(partitions.size(), 2u);
    for (const ProposedPartition& partition : partitions) {
      bool holdsEarly = false, holdsLate = false;
      for (const Node* node : partition.nodes) {
        holdsEarly = holdsEarly || node->name() == "early";
        holdsLate = holdsLate || node->name() == "late";
      }
      EXPECT_NE(holdsEarly, holdsLate);
    }
  }
}

TEST(ToBackendInPlace, MemoryOfAWrittenTensorIsNotFrozenUnderAnotherName) {
  const at::Tensor memory = sampleTensor({2});
  ProgramBuilder builder;
  builder.buffer("alias", memory);
  Node& state = builder.constant("state", memory);
  Node& x = builder.userInput("x", tensorValue({2}));
  builder.call("aten.add_.Tensor", {state, x}, tensorValue({2}), "write");
  builder.userOutput(builder.call("aten.neg.default", {state}, tensorValue({2}), "late"));
  const ExportedProgram program = builder.finish();
  Tags tags;
  for (const Node& node : program.graph().nodes()) {
    if (node.isCall()) tags.tag(node, "t0");
  }
  tagConstantData(program, tags);
  tagMutatedBuffers(program, tags);
  tagUnusedConstants(program, tags, "t0");
  EXPECT_EQ(tags.tagOf(*program.graph().find("b_alias")), "");
  EXPECT_EQ(tags.tagOf(*program.graph().find("c_state")), "");
}

// A branch adds one to its operand, a buffer that is read before and after.
TEST(ToBackendInPlace, WritesInBranchesKeepTheirPlace) {
  auto branch = std::make_unique<Graph>();
  Node& operand = branch->placeholder("operand");
  operand.setValue(tensorValue({2}));
  Node& added = branch->call("aten.add_.Tensor", {operand, 1});
  added.setValue(tensorValue({2}));
  Node& twice = branch->call("aten.mul.Tensor", {added, 2});
  twice.setValue(tensorValue({2}));
  branch->output(Arg::tuple({twice}));
  ProgramBuilder builder;
  Node& state = builder.buffer("state", sampleTensor({2}));
  Node& early = builder.call("aten.neg.default", {state}, tensorValue({2}), "early");
  Node& graph = builder.branch("repeated_graph_0", std::move(branch));
  ValueMeta::Sequence values;
  values.elements = {tensorValue({2})};
  Node& call = builder.call("higher_order.invoke_subgraph", {graph, "repeated_graph_0", state},
                            ValueMeta::of(std::move(values)), "invoke_subgraph");
  Node& inner = builder.call("operator.getitem", {call, 0}, tensorValue({2}), "getitem");
  Node& late = builder.call("aten.neg.default", {state}, tensorValue({2}), "late");
  Node& sum = builder.call("aten.add.Tensor", {late, early}, tensorValue({2}), "sum");
  builder.userOutput(builder.call("aten.add.Tensor", {sum, inner}, tensorValue({2}), "all"));
  const ExportedProgram program = builder.finish();
  const BackendRegistry registry = textBackends({"BackendA"});
  for (const ControlFlow mode : {ControlFlow::Whole, ControlFlow::Branches}) {
    expectSame(program, toBackend(program, AotiPartitioner({"BackendA"}, "aoti", mode), registry));
    const FunctionPartitioner some([&](const ExportedProgram& shown) {
      return partitionBySupport(shown, support::operators({"aten.neg.default", "aten.add.Tensor"}),
                                {.spec = {"BackendA"}, .controlFlow = mode});
    });
    expectSame(program, toBackend(program, some, registry));
  }
}

// Which delegate owns %b_row, if %b_whole, whose memory it shares, is read by another or gets a value, too?
TEST(ToBackendInPlace, BuffersOfOneMemoryStayTogether) {
  for (const bool writesBoth : {false, true}) {
    const at::Tensor memory = sampleTensor({2, 2});
    ProgramBuilder builder;
    Node& whole = builder.buffer("whole", memory);
    Node& row = builder.buffer("row", memory.select(0, 1));
    Node& x = builder.userInput("x", tensorValue({2}));
    Node& next = builder.call("aten.add.Tensor", {row, x}, tensorValue({2}), "next");
    Node& sigmoid = builder.call("aten.sigmoid.default", {whole}, tensorValue({2, 2}), "sigmoid");
    if (!writesBoth) builder.result(OutputKind::BufferMutation, next, "row");
    if (writesBoth) {
      builder.result(OutputKind::BufferMutation, sigmoid, "whole");
      builder.result(OutputKind::BufferMutation, next, "row");
    }
    builder.userOutput(builder.call("aten.neg.default", {sigmoid}, tensorValue({2, 2}), "neg"));
    const ExportedProgram program = builder.finish();
    const BackendRegistry registry = textBackends({"BackendA"});
    expectSame(program, toBackend(program, AotiPartitioner({"BackendA"}), registry));
    const FunctionPartitioner some([&](const ExportedProgram& shown) {
      return partitionBySupport(shown, support::operators({"aten.add.Tensor"}), {.spec = {"BackendA"}});
    });
    expectSame(program, toBackend(program, some, registry));
  }
}

// %b_row is written through its name, %b_whole holds the same memory.
ExportedProgram rowOfWhole(bool writesBoth) {
  const at::Tensor memory = sampleTensor({2, 2});
  ProgramBuilder builder;
  Node& whole = builder.buffer("whole", memory);
  Node& row = builder.buffer("row", memory.select(0, 1));
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& added = builder.call("aten.add.Tensor", {row, x}, tensorValue({2}), "added");
  Node& sigmoid = builder.call("aten.sigmoid.default", {whole}, tensorValue({2, 2}), "sigmoid");
  if (writesBoth) builder.result(OutputKind::BufferMutation, sigmoid, "whole");
  builder.result(OutputKind::BufferMutation, added, "row");
  builder.userOutput(builder.call("aten.neg.default", {sigmoid}, tensorValue({2, 2}), "neg"));
  return builder.finish();
}

TEST(ToBackendInPlace, ATaggedBufferOfAMemoryThatStaysOutsideIsRefused) {
  expectMentions(refusal(rowOfWhole(false), {{"t0", {"b_row", "added"}}}), {"'row'", "'t0'", "'whole'"});
  expectMentions(refusal(rowOfWhole(false), {{"t0", {"b_row", "added"}}, {"t1", {"b_whole", "sigmoid"}}}),
                 {"'row'", "'whole'", "'t1'"});
  const ExportedProgram program = rowOfWhole(false);
  expectSame(program, lower(program, {{"t0", {"b_row", "added", "b_whole", "sigmoid"}}}));
}

TEST(ToBackendInPlace, TwoTaggedBuffersOfOneMemoryThatAreBothWrittenAreRefused) {
  expectMentions(refusal(rowOfWhole(true), {{"t0", {"b_row", "added", "b_whole", "sigmoid"}}}),
                 {"'whole' and 'row'", "'t0'"});
}

// No value passes from the write to the read, only memory under another name.
TEST(ToBackendInPlace, ReadsOfSharedMemoryKeepTheirPlace) {
  const at::Tensor memory = sampleTensor({2, 2});
  ProgramBuilder builder;
  Node& whole = builder.buffer("whole", memory);
  Node& row = builder.buffer("row", memory.select(0, 1));
  Node& early = builder.call("aten.neg.default", {whole}, tensorValue({2, 2}), "early");
  builder.call("aten.add_.Tensor", {row, 1}, tensorValue({2}), "write");
  Node& late = builder.call("aten.neg.default", {whole}, tensorValue({2, 2}), "late");
  builder.userOutput(builder.call("aten.sub.Tensor", {late, early}, tensorValue({2, 2}), "sub"));
  const ExportedProgram program = builder.finish();
  expectMentions(refusal(program, {{"t0", {"early", "late"}}}), {"early -> write -> late"});
  expectSame(program, lower(program, {{"t0", {"early"}}, {"t1", {"late"}}}));
  const FunctionPartitioner some([&](const ExportedProgram& shown) {
    return partitionBySupport(shown, support::operators({"aten.neg.default", "aten.sub.Tensor"}),
                              {.spec = {"BackendA"}});
  });
  expectSame(program, toBackend(program, some, textBackends({"BackendA"})));
}

// The branch writes the buffer that the tagged node reads: cut apart, the delegate would keep the old value.
TEST(ToBackendInPlace, ATaggedBufferThatABranchWritesIsRefused) {
  auto branch = std::make_unique<Graph>();
  Node& in = branch->placeholder("b");
  in.setValue(tensorValue({2}));
  Node& out = branch->call("aten.add_.Tensor", {in, 1});
  out.setValue(tensorValue({2}));
  branch->output(Arg::tuple({out}));
  ProgramBuilder builder;
  Node& state = builder.buffer("state", sampleTensor({2}));
  Node& body = builder.branch("body", std::move(branch));
  builder.call("higher_order.invoke_subgraph", {body, "id", state},
               ValueMeta::of(ValueMeta::Sequence{{tensorValue({2})}}), "call");
  builder.userOutput(builder.call("aten.neg.default", {state}, tensorValue({2}), "late"));
  expectMentions(refusal(builder.finish(), {{"t0", {"b_state", "late"}}}), {"'t0'", "b_state"});
}

}  // namespace
}  // namespace edgefx::test::cases
