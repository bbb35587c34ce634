#include <edgefx/backend/to_backend.h>
#include <edgefx/ir/fx_text.h>
#include <edgefx/ir/node_queries.h>
#include <edgefx/serialization/exir.h>
#include <edgefx/serialization/payloads.h>
#include <edgefx/support/error.h>
#include <edgefx/support/warning.h>

#include "backend/test_delegates.h"
#include "serialization/equal_programs.h"
#include "support/test_data.h"

#include <gtest/gtest.h>

#include <algorithm>

// Programs that toBackend has lowered, through files.
namespace edgefx::test {
namespace {

// Tags runs of three nodes in the order of each graph, with the weights that only one of them uses.
PartitionResult tagRuns(const ExportedProgram& program) {
  constexpr size_t kRun = 3;
  PartitionResult result;
  size_t numTags = 0;
  for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
    size_t left = 0;
    for (const Node& node : nested.module->graph().nodes()) {
      if (!node.isCall()) continue;
      if (getitemIndex(node)) {
        const std::string_view producer = result.tags.tagOf(node.arg(0).asNode());
        if (!producer.empty()) result.tags.tag(node, producer);
        continue;
      }
      if (!node.target().isOperator() || node.value() == nullptr || node.value()->isSymbolicNumber()) {
        left = 0;
        continue;
      }
      if (left == 0) {
        left = kRun;
        ++numTags;
      }
      result.tags.tag(node, "t" + std::to_string(numTags - 1));
      --left;
    }
  }
  for (const Node* node : program.graph().placeholders()) {
    if (!program.signature.findInput(node->name())->target || node->numUsers() != 1) continue;
    const std::string_view tag = result.tags.tagOf(node->users().front());
    if (!tag.empty()) result.tags.tag(*node, tag);
  }
  for (size_t i = 0; i < numTags; ++i)
    result.addSpec("t" + std::to_string(i), {"text", {{"n", std::string(1, static_cast<char>(i))}}});
  return result;
}

TEST(SaveLowered, ProgramsOfTheCorpusComeBack) {
  const WarningHandler handler = setWarningHandler({});
  const BackendRegistry registry = textBackends({"text"});
  const FunctionPartitioner partitioner(tagRuns);
  TempDir dir;
  size_t saved = 0, delegates = 0, exchanged = 0;
  for (const CorpusProgram& source : corpusPrograms()) {
    SCOPED_TRACE(source.name);
    ExportedProgram program = loadProgram(source.file, source.model);
    wrapAsEdge(program);
    std::optional<ExportedProgram> lowered;
    try {
      lowered = toBackend(program, partitioner, registry);
    } catch (const LoweringError&) {
      continue;
    }
    std::filesystem::create_directories(dir / "again");
    saveProgram(*lowered, dir / "lowered.pt2");
    ExportedProgram loaded = loadProgram(dir / "lowered.pt2", {}, {.checkWeights = true});
    lowered->unknownMembers.clear();
    loaded.unknownMembers.clear();
    expectEqualPrograms(*lowered, loaded);
    saveProgram(loaded, dir / "again/lowered.pt2");
    ExportedProgram twice = loadProgram(dir / "again/lowered.pt2");
    twice.unknownMembers.clear();
    expectEqualPrograms(loaded, twice);
    ++saved;
    delegates += delegatePayloads(loaded, "forward").size();
    try {
      saveExir(*lowered, dir / "exir.pt2");
    } catch (const UnsupportedError&) {
      continue;
    }
    ExportedProgram back = loadProgram(dir / "exir.pt2");
    EXPECT_EQ(back.signature, lowered->signature);
    // That form places get_attr nodes before their users, so that branches are met in another order.
    std::vector<DelegatePayload> was = delegatePayloads(*lowered, "m"), is = delegatePayloads(back, "m");
    std::ranges::sort(was, {}, &DelegatePayload::path);
    std::ranges::sort(is, {}, &DelegatePayload::path);
    EXPECT_EQ(was.size(), is.size());
    for (size_t i = 0; i < std::min(was.size(), is.size()); ++i) {
      EXPECT_EQ(was[i].path, is[i].path);
      EXPECT_EQ(was[i].module->processedBytes.text(), is[i].module->processedBytes.text());
      EXPECT_EQ(was[i].module->program.signature, is[i].module->program.signature);
    }
    saveExir(back, dir / "again/exir.pt2");
    EXPECT_TRUE(readFile(dir / "exir.pt2") == readFile(dir / "again/exir.pt2"));
    ++exchanged;
    if (HasFailure()) break;
  }
  setWarningHandler(handler);
  EXPECT_GT(saved, 50u);
  EXPECT_GT(delegates, 2 * saved);
  EXPECT_GT(exchanged, saved / 2);
}

}  // namespace
}  // namespace edgefx::test
