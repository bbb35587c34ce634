#include <edgefx/manager/etrecord.h>
#include <edgefx/support/error.h>

#include "backend/test_backends.h"
#include "support/program_builder.h"

#include <gtest/gtest.h>

namespace edgefx::test {
namespace {

TEST(EtRecord, KeepsCopiesByStageAndMethod) {
  EtRecord record;
  ExportedProgram program = tinyProgram();
  const std::string text = snapshot(program);
  record.record("edge", "forward", program);
  record.record("edge", "decode", countingProgram());
  program.graph().find("relu")->setTarget("aten.tanh.default");
  record.record("lowered", "forward", program);

  ASSERT_NE(record.find("edge", "forward"), nullptr);
  EXPECT_EQ(snapshot(*record.find("edge", "forward")), text);
  EXPECT_EQ(snapshot(*record.find("lowered", "forward")), snapshot(program));
  EXPECT_EQ(record.find("lowered", "decode"), nullptr);
  ASSERT_EQ(record.entries().size(), 3u);
  EXPECT_EQ(record.entries()[1].method, "decode");
}

TEST(EtRecord, RefusesASecondProgramForOneStage) {
  EtRecord record;
  record.record("edge", "forward", tinyProgram());
  UsageError error = caught<UsageError>([&] { record.record("edge", "forward", countingProgram()); });
  EXPECT_CONTAINS(error.what(), "stage 'edge' of method 'forward' is recorded already");
  EXPECT_EQ(record.entries().size(), 1u);
}

TEST(EtRecord, RefusesAProgramThatWasMovedFrom) {
  ExportedProgram program = tinyProgram();
  ExportedProgram taken = std::move(program);
  EtRecord record;
  EXPECT_THROW(record.record("edge", "forward", program), UsageError);
}

}  // namespace
}  // namespace edgefx::test
