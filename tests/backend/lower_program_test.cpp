#include <edgefx/backend/lower_program.h>
#include <edgefx/ir/fx_text.h>
#include <edgefx/program/check_program.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/support/error.h>
#include <edgefx/support/warning.h>

#include "backend/test_backends.h"
#include "support/program_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <new>
#include <stdexcept>
#include <vector>

namespace edgefx::test {
namespace {

// Lowers `program` with a backend that edits it, and returns the error that this must give.
LoweringError refusal(const ExportedProgram& program, std::function<void(ExportedProgram&)> edit) {
  const std::string before = snapshot(program);
  LoweringError error =
      caught<LoweringError>([&] { lowerProgram(program, editing(std::move(edit)), "forward"); });
  EXPECT_EQ(snapshot(program), before);
  for (const Diagnostic& diagnostic : error.diagnostics()) {
    EXPECT_EQ(diagnostic.backend, "npu") << error.what();
    EXPECT_EQ(diagnostic.method, "forward") << error.what();
  }
  return error;
}

InputSpec& specOf(ExportedProgram& program, std::string_view node) {
  return *program.signature.findInput(node);
}

// Two parameters of one shape, so that nothing but their names tells them apart.
ExportedProgram twoWeights() {
  ProgramBuilder builder;
  Node& a = builder.parameter("a", sampleTensor({2, 2}));
  Node& b = builder.parameter("b", sampleTensor({2, 2}));
  Node& x = builder.userInput("x", tensorValue({2, 2}));
  Node& mm = builder.call("aten.mm.default", {x, a}, tensorValue({2, 2}));
  builder.userOutput(builder.call("aten.add.Tensor", {mm, b}, tensorValue({2, 2})));
  return builder.finish();
}

TEST(LowerProgram, EM18_2_PassesTheMethodName) {
  std::string seen;
  FunctionBackend backend([&](ExportedProgram program, std::string_view method) {
    seen = method;
    return program;
  });
  lowerProgram(tinyProgram(), backend, "prefill");
  EXPECT_EQ(seen, "prefill");
}

TEST(LowerProgram, EM15_GivesAPrivateCopyThatSharesTensors) {
  const ExportedProgram program = tinyProgram();
  const std::string before = snapshot(program);
  ExportedProgram lowered = lowerProgram(program, editing([&](ExportedProgram& copy) {
                                           EXPECT_EQ(snapshot(copy), before);
                                           EXPECT_NE(&copy.graph(), &program.graph());
                                         }),
                                         "forward");
  EXPECT_EQ(snapshot(lowered), before);
  EXPECT_EQ(lowered.stateDict().find("weight")->storage().data(),
            program.stateDict().find("weight")->storage().data());
}

TEST(LowerProgram, EM18_11_AcceptsOperatorsOfAnyKind) {
  ExportedProgram program = tinyProgram();
  wrapAsEdge(program);
  ExportedProgram lowered = lowerProgram(program, editing([](ExportedProgram& copy) {
                                           copy.graph().find("relu")->setTarget(Target::edge("npu.relu.out"));
                                           copy.graph().find("mul")->setTarget("npu.mul.default");
                                         }),
                                         "forward");
  EXPECT_CONTAINS(fxText(lowered.graph()), "edge._ops.npu.relu.out");
  EXPECT_CONTAINS(fxText(lowered.graph()), "torch.ops.npu.mul.default");
}

TEST(LowerProgram, EM18_3_NamesBackendAndMethodIfNoProgramIsReturned) {
  const ExportedProgram program = tinyProgram();
  FunctionBackend forgetful([](ExportedProgram given, std::string_view) {
    ExportedProgram elsewhere = std::move(given);
    return given;  // NOLINT(bugprone-use-after-move): that is the fault
  });
  LoweringError error = caught<LoweringError>([&] { lowerProgram(program, forgetful, "decode"); });
  EXPECT_STREQ(error.what(),
               "edgefx: backend 'npu', method 'decode': the backend must return a program, got one that "
               "was moved from");
}

TEST(LowerProgram, RefusesAProgramThatWasMovedFrom) {
  ExportedProgram program = tinyProgram();
  ExportedProgram taken = std::move(program);
  bool called = false;
  EXPECT_THROW(lowerProgram(program, editing([&](ExportedProgram&) { called = true; }), "forward"),
               UsageError);
  EXPECT_FALSE(called);
}

TEST(LowerProgram, EM18_4_NamesAPlaceholderWithoutSpec) {
  LoweringError error = refusal(tinyProgram(), [](ExportedProgram& copy) {
    InsertionGuard guard(copy.graph(), before(*copy.graph().find("x")));
    copy.graph().placeholder("rogue").setValue(tensorValue({1}));
  });
  EXPECT_CONTAINS(error.what(), "rogue");
  EXPECT_CONTAINS(error.what(), "3 specs for 4 placeholders");
  EXPECT_CONTAINS(error.what(), "note: placeholders of the graph returned: %p_weight, %b_scale, %rogue, %x");
}

TEST(LowerProgram, EM18_5_NamesASpecWithoutPlaceholder) {
  LoweringError error = refusal(tinyProgram(), [](ExportedProgram& copy) {
    InputSpec spec = copy.signature.inputs.back();
    spec.arg.name = "rogue";
    copy.signature.inputs.push_back(spec);
  });
  EXPECT_CONTAINS(error.what(), "rogue");
  EXPECT_CONTAINS(error.what(), "4 specs for 3 placeholders");
}

Node& addBuffer(ExportedProgram& copy, std::string_view name, std::vector<SymInt> sizes) {
  Graph& graph = copy.graph();
  InsertionGuard guard(graph, before(*graph.find("x")));
  Node& node = graph.placeholder(name);
  node.setValue(tensorValue(std::move(sizes)));
  InputSpec spec;
  spec.kind = InputKind::Buffer;
  spec.arg.name = node.name();
  spec.target = node.name();
  spec.persistent = true;
  copy.signature.inputs.insert(copy.signature.inputs.end() - 1, spec);
  return node;
}

TEST(LowerProgram, EM18_6_NamesAnInputWithoutStoredTensor) {
  LoweringError error = refusal(tinyProgram(), [](ExportedProgram& copy) { addBuffer(copy, "table", {2}); });
  EXPECT_CONTAINS(error.what(), "node '%table'");
  EXPECT_CONTAINS(error.what(), "not in the state dict");
}

TEST(LowerProgram, EM18_7_AcceptsAnAddedBuffer) {
  const ExportedProgram program = tinyProgram();
  ExportedProgram lowered = lowerProgram(program, editing([](ExportedProgram& copy) {
                                           addBuffer(copy, "table", {2});
                                           copy.stateDict().set("table", sampleTensor({2}));
                                         }),
                                         "forward");
  EXPECT_TRUE(lowered.stateDict().contains("table"));
  EXPECT_NE(lowered.graph().find("table"), nullptr);
  EXPECT_EQ(lowered.signature.inputs[2].target, "table");
  EXPECT_FALSE(program.stateDict().contains("table"));
}

TEST(LowerProgram, EM19_NamesAResultThatTheSignatureDoesNotKnow) {
  LoweringError error = refusal(tinyProgram(), [](ExportedProgram& copy) {
    Node& relu = *copy.graph().find("relu");
    InsertionGuard guard(copy.graph(), after(relu));
    Node& clamp = copy.graph().call("npu.clamp.default", {relu});
    clamp.setValue(relu.valueRef());
    relu.replaceAllUsesWith(clamp, [&](const Node& user) { return &user != &clamp; });
  });
  EXPECT_CONTAINS(error.what(), "%clamp");
  EXPECT_CONTAINS(error.what(), "%relu");
}

struct BoardError : UsageError {
  BoardError(const std::string& text, int which) : UsageError(Diagnostic(text)), board(which) {}
  int board;
};

TEST(LowerProgram, EM18_8_AnErrorOfTheBackendKeepsItsTypeAndGetsItsPlace) {
  const void* thrown = nullptr;
  FunctionBackend backend([&](ExportedProgram, std::string_view) -> ExportedProgram {
    BoardError error("no board", 7);
    error.addNote("plug one in");
    throw error;
  });
  try {
    lowerProgram(tinyProgram(), backend, "forward");
    FAIL() << "expected an error";
  } catch (const BoardError& error) {
    thrown = &error;
    EXPECT_EQ(error.board, 7);
    EXPECT_STREQ(error.what(), "edgefx: backend 'npu', method 'forward': no board\n  note: plug one in");
  }
  EXPECT_NE(thrown, nullptr);
}

TEST(LowerProgram, AnErrorKeepsThePlaceItKnows) {
  FunctionBackend backend([&](ExportedProgram, std::string_view) -> ExportedProgram {
    Diagnostic diagnostic("too many channels");
    diagnostic.backend = "npu core 2";
    diagnostic.node = "conv";
    throw LoweringError(diagnostic);
  });
  LoweringError error = caught<LoweringError>([&] { lowerProgram(tinyProgram(), backend, "forward"); });
  EXPECT_STREQ(error.what(),
               "edgefx: backend 'npu core 2', method 'forward', node '%conv': too many channels");
}

template <typename Thrown>
LoweringError loweringErrorFor(Thrown thrown) {
  FunctionBackend backend([&](ExportedProgram, std::string_view) -> ExportedProgram { throw thrown; });
  return caught<LoweringError>([&] { lowerProgram(tinyProgram(), backend, "forward"); });
}

TEST(LowerProgram, EM18_8_OtherExceptionsAreNestedInALoweringError) {
  FunctionBackend backend([](ExportedProgram, std::string_view) -> ExportedProgram {
    throw std::out_of_range("no such register");
  });
  try {
    lowerProgram(tinyProgram(), backend, "decode");
    FAIL() << "expected an error";
  } catch (const LoweringError& error) {
    EXPECT_CONTAINS(error.what(), "backend 'npu', method 'decode'");
    EXPECT_CONTAINS(error.what(), "no such register");
    EXPECT_THROW(std::rethrow_if_nested(error), std::out_of_range);
  }
  EXPECT_CONTAINS(loweringErrorFor(std::bad_alloc()).what(), "bad_alloc");
  EXPECT_CONTAINS(loweringErrorFor(42).what(), "no std::exception");
}

TEST(LowerProgram, EM18_8_AnExceptionOfLibTorchIsToldWithoutItsBacktrace) {
  FunctionBackend backend([](ExportedProgram program, std::string_view) {
    sampleTensor({2}).reshape({3});
    return program;
  });
  LoweringError error = caught<LoweringError>([&] { lowerProgram(tinyProgram(), backend, "forward"); });
  EXPECT_CONTAINS(error.what(), "invalid for input of size 2");
  EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos) << error.what();
}

TEST(LowerProgram, ReportsEveryViolation) {
  LoweringError error = refusal(tinyProgram(), [](ExportedProgram& copy) {
    copy.graph().find("mul")->setValue(nullptr);
    copy.stateDict().erase("scale");
    copy.signature.outputs.clear();
  });
  EXPECT_GE(error.diagnostics().size(), 3u);
  EXPECT_CONTAINS(error.what(), "node '%mul'");
  EXPECT_CONTAINS(error.what(), "scale");
  EXPECT_CONTAINS(error.what(), "0 specs for 1 results");
}

TEST(LowerProgram, W9_RefusesNodesOutOfOrder) {
  LoweringError error = refusal(tinyProgram(), [](ExportedProgram& copy) {
    copy.graph().find("relu")->moveBefore(*copy.graph().find("mul"));
  });
  EXPECT_CONTAINS(error.what(), "%relu");
}

TEST(LowerProgram, W9_RefusesDuplicateNames) {
  LoweringError error =
      refusal(tinyProgram(), [](ExportedProgram& copy) { copy.graph().find("mul")->setName("linear"); });
  EXPECT_CONTAINS(error.what(), "linear");
}

TEST(LowerProgram, W9_RefusesAGetAttrOfNothing) {
  LoweringError error = refusal(tinyProgram(), [](ExportedProgram& copy) {
    InsertionGuard guard(copy.graph(), before(*copy.graph().find("mul")));
    Node& branch = copy.graph().getAttr("no_such_branch");
    Node& mul = *copy.graph().find("mul");
    mul.setArgs({mul.arg(0), mul.arg(1), branch});
  });
  EXPECT_CONTAINS(error.what(), "no_such_branch");
}

TEST(LowerProgram, W9_RefusesATensorOfAnotherShape) {
  LoweringError error =
      refusal(tinyProgram(), [](ExportedProgram& copy) { copy.stateDict().set("scale", sampleTensor({5})); });
  EXPECT_CONTAINS(error.what(), "%b_scale");
}

TEST(LowerProgram, W9_RefusesANonPersistentBufferWithoutTensor) {
  LoweringError error = refusal(tinyProgram(), [](ExportedProgram& copy) {
    specOf(copy, "b_scale").persistent = false;
    copy.stateDict().erase("scale");
  });
  EXPECT_CONTAINS(error.what(), "scale");
}

TEST(LowerProgram, AFaultThatTheBackendWasGivenIsNotBlamedOnIt) {
  ExportedProgram program = tinyProgram();
  program.graph().find("mul")->setValue(nullptr);
  LoweringError error = refusal(program, [](ExportedProgram& copy) { copy.stateDict().erase("scale"); });
  for (const Diagnostic& diagnostic : error.diagnostics()) {
    const bool isOld = std::count(diagnostic.notes.begin(), diagnostic.notes.end(),
                                  "the program given to the backend has this fault, too") == 1;
    EXPECT_EQ(isOld, diagnostic.node == "mul") << diagnostic.render();
  }
}

TEST(LowerProgram, LongSignaturesAreCutInNotes) {
  ProgramBuilder builder;
  std::vector<Node*> inputs;
  for (int i = 0; i < 40; ++i) inputs.push_back(&builder.userInput("x", tensorValue({1})));
  builder.userOutput(*inputs.back());
  LoweringError error =
      refusal(builder.finish(), [](ExportedProgram& copy) { copy.signature.inputs.pop_back(); });
  EXPECT_CONTAINS(error.what(), "%x_11, and 28 more");
}

TEST(LowerProgram, W2_RefusesSwappedWeights) {
  LoweringError error = refusal(twoWeights(), [](ExportedProgram& copy) {
    std::swap(specOf(copy, "p_a").target, specOf(copy, "p_b").target);
  });
  ASSERT_EQ(error.diagnostics().size(), 2u);
  EXPECT_EQ(error.diagnostics()[0].node, "p_a");
  EXPECT_CONTAINS(error.diagnostics()[0].message, "reads 'b' now, which %p_b read before");
  EXPECT_CONTAINS(error.diagnostics()[0].message, "read 'a'");
  EXPECT_EQ(error.diagnostics()[1].node, "p_b");
}

// What a pass does that moves placeholders and then renames the specs by position.
void renameSpecsByPosition(ExportedProgram& program) {
  const auto placeholders = program.graph().placeholders();
  program.signature.inputs.resize(placeholders.size());
  for (size_t i = 0; i < placeholders.size(); ++i)
    program.signature.inputs[i].arg.name = placeholders[i]->name();
}

TEST(LowerProgram, W2_RefusesPlaceholdersMovedUnderTheirSpecs) {
  LoweringError error = refusal(twoWeights(), [](ExportedProgram& copy) {
    copy.graph().find("p_b")->moveBefore(*copy.graph().find("p_a"));
    renameSpecsByPosition(copy);
  });
  EXPECT_CONTAINS(error.what(), "node '%p_a': reads 'b' now");
  EXPECT_CONTAINS(error.what(), "node '%p_b': reads 'a' now");
}

TEST(LowerProgram, W2_RefusesSpecsShiftedByAnErasedPlaceholder) {
  LoweringError error = refusal(twoWeights(), [](ExportedProgram& copy) {
    Node& a = *copy.graph().find("p_a");
    a.replaceAllUsesWith(*copy.graph().find("p_b"));
    copy.graph().erase(a);
    renameSpecsByPosition(copy);
  });
  EXPECT_CONTAINS(error.what(),
                  "node '%p_b': reads 'a' now, which %p_a read before; this placeholder read 'b'");
  EXPECT_CONTAINS(error.what(),
                  "node '%x': reads 'b' now, which %p_b read before; this placeholder was a USER_INPUT");
}

TEST(LowerProgram, W2_AcceptsPlaceholdersMovedWithTheirSpecs) {
  lowerProgram(twoWeights(), editing([](ExportedProgram& copy) {
                 copy.graph().find("p_b")->moveBefore(*copy.graph().find("p_a"));
                 std::swap(copy.signature.inputs[0], copy.signature.inputs[1]);
               }),
               "forward");
}

TEST(LowerProgram, W2_AcceptsTargetsRenamedWithTheirTensors) {
  const ExportedProgram program = twoWeights();
  lowerProgram(program, editing([](ExportedProgram& copy) {
                 std::swap(specOf(copy, "p_a").target, specOf(copy, "p_b").target);
                 std::swap(*copy.stateDict().find("a"), *copy.stateDict().find("b"));
               }),
               "forward");
}

TEST(LowerProgram, W2_AcceptsNewTargets) {
  lowerProgram(twoWeights(), editing([](ExportedProgram& copy) {
                 copy.stateDict().set("a_packed", *copy.stateDict().find("a"));
                 copy.stateDict().erase("a");
                 specOf(copy, "p_a").target = "a_packed";
               }),
               "forward");
}

TEST(LowerProgram, W2_TiedWeightsMayBeJoined) {
  ExportedProgram program = twoWeights();
  program.stateDict().set("b", *program.stateDict().find("a"));
  lowerProgram(program, editing([](ExportedProgram& copy) {
                 specOf(copy, "p_b").target = "a";
                 copy.stateDict().erase("b");
               }),
               "forward");
}

TEST(LowerProgram, W2_TellsViewsOfOneStorageApart) {
  ExportedProgram program = twoWeights();
  const at::Tensor both = sampleTensor({4, 2});
  program.stateDict().set("a", both.slice(0, 0, 2), true);
  program.stateDict().set("b", both.slice(0, 2, 4), true);
  LoweringError error = refusal(program, [](ExportedProgram& copy) {
    std::swap(specOf(copy, "p_a").target, specOf(copy, "p_b").target);
  });
  EXPECT_EQ(error.diagnostics().size(), 2u) << error.what();
}

TEST(LowerProgram, WarnsOnceOfEachClassOfBackends) {
  class First final : public OpBackend {
   public:
    std::string_view name() const override { return "first"; }
    ExportedProgram lower(ExportedProgram program, std::string_view) const override { return program; }
  };
  class Second final : public OpBackend {
   public:
    std::string_view name() const override { return "second"; }
    ExportedProgram lower(ExportedProgram program, std::string_view) const override { return program; }
  };
  std::vector<Warning> warnings;
  WarningHandler old = setWarningHandler([&](const Warning& warning) { warnings.push_back(warning); });
  const ExportedProgram program = tinyProgram();
  lowerProgram(program, First(), "forward");
  lowerProgram(program, First(), "forward");
  lowerProgram(program, Second(), "forward");
  setWarningHandler(old);

  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_EQ(warnings[0].category, "experimental");
  EXPECT_CONTAINS(warnings[0].message, "'first'");
  EXPECT_CONTAINS(warnings[1].message, "'second'");
}

}  // namespace
}  // namespace edgefx::test
