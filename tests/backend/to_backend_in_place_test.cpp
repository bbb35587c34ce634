#include <edgefx/backend/to_backend.h>
#include <edgefx/partition/capability_partitioner.h>
#include <edgefx/partition/tag_constants.h>
#include <edgefx/run/verify_lowering.h>

#include "backend/case_lowering.h"
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

}  // namespace
}  // namespace edgefx::test::cases
