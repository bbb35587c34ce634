#include <edgefx/program/compare_programs.h>
#include <edgefx/program/tensor_table.h>

#include "passes/pass_testing.h"

#include <stdexcept>

namespace edgefx::test {
namespace {

PassRef reluToTanh() {
  return graphPass("relu-to-tanh", [](GraphModule& module) {
    bool isChanged = false;
    for (Node& node : module.graph().nodes()) {
      if (!node.callsOperator("aten.relu.default")) continue;
      node.setTarget("aten.tanh.default");
      isChanged = true;
    }
    return isChanged;
  });
}
PassRef nothing(std::string_view name = "nothing", bool says = false) {
  return programPass(name, [says](ExportedProgram&) { return says; });
}
PassRef throwing() {
  return programPass("throwing", [](ExportedProgram& program) -> bool {
    program.graph().find("relu")->setTarget("aten.neg.default");
    program.signature.inputs.clear();
    throw std::runtime_error("boom");
  });
}

TEST(PassManager, RunsPassesInOrder) {
  std::vector<std::string> ran;
  PassManager manager;
  for (const char* name : {"b", "a", "b"}) {
    manager.add(programPass(name, [&ran, name](ExportedProgram&) {
      ran.emplace_back(name);
      return false;
    }));
  }
  EXPECT_EQ(manager.names(), (std::vector<std::string>{"b", "a", "b"}));
  ExportedProgram program = tinyProgram();
  EXPECT_FALSE(manager.run(program));
  EXPECT_EQ(ran, manager.names());
}

TEST(PassManager, RefusesNullAndNamelessPasses) {
  struct Nameless : Pass {
    std::string_view name() const override { return {}; }
    bool run(ExportedProgram&) const override { return false; }
  };
  PassManager manager;
  EXPECT_THROW(manager.add(nullptr), UsageError);
  EXPECT_THROW(manager.add(std::make_shared<const Nameless>()), UsageError);
  EXPECT_THROW(PassManager({PassRef()}), UsageError);
  EXPECT_THROW(PassManager().run(std::shared_ptr<const ExportedProgram>()), UsageError);
}

TEST(PassManager, EM8_GivesTheSameProgramIfNothingChanged) {
  const auto program = std::make_shared<const ExportedProgram>(tinyProgram());
  EXPECT_EQ(PassManager().run(program), program);
  EXPECT_EQ(PassManager({nothing()}).run(program), program);
  EXPECT_NE(PassManager({reluToTanh()}).run(program), program);
}

TEST(PassManager, EM10_W6_TheProgramGivenNeverChangesAndWeightsAreShared) {
  const auto program = std::make_shared<const ExportedProgram>(tinyProgram());
  const std::string before = test::snapshot(*program);
  const auto made = PassManager({reluToTanh()}).run(program);
  EXPECT_EQ(test::snapshot(*program), before);
  EXPECT_TRUE(made->graph().find("relu")->callsOperator("aten.tanh.default"));
  EXPECT_EQ(made->stateDict().find("weight")->storage().data(),
            program->stateDict().find("weight")->storage().data());
}

// What a pass says of itself does not count.
TEST(PassManager, MisreportedChangesDoNotMatter) {
  const auto program = std::make_shared<const ExportedProgram>(tinyProgram());
  EXPECT_EQ(PassManager({nothing("boasting", true)}).run(program), program);
  const PassRef modest = programPass("modest", [](ExportedProgram& edited) {
    edited.graph().find("relu")->setTarget("aten.tanh.default");
    return false;
  });
  EXPECT_TRUE(PassManager({modest}).run(program)->graph().find("relu")->callsOperator("aten.tanh.default"));
  const PassRef dialect = programPass("dialect", [](ExportedProgram& edited) {
    edited.dialect = Dialect::Edge;
    return false;
  });
  EXPECT_EQ(PassManager({dialect}).run(program)->dialect, Dialect::Edge);
  const PassRef there = programPass("there", [](ExportedProgram& edited) {
    edited.graph().find("relu")->setTarget("aten.neg.default");
    return true;
  });
  const PassRef back = programPass("back", [](ExportedProgram& edited) {
    edited.graph().find("relu")->setTarget("aten.relu.default");
    return true;
  });
  EXPECT_EQ(PassManager({there, back}).run(program), program);
}

TEST(PassManager, NothingChangesIfAPassThrows) {
  ExportedProgram program = tinyProgram();
  const std::string before = test::snapshot(program);
  EXPECT_THROW(PassManager({reluToTanh(), throwing()}).run(program), LoweringError);
  EXPECT_EQ(test::snapshot(program), before);
}

TEST(PassManager, EM8_AFailureNamesThePassAndKeepsItsClass) {
  ExportedProgram program = tinyProgram();
  const auto unsupported = caught<UnsupportedError>([&] {
    PassManager({nothing(), programPass("picky",
                                        [](ExportedProgram&) -> bool {
                                          throw UnsupportedError(Diagnostic("not today"));
                                        })})
        .run(program, "decode");
  });
  EXPECT_EQ(std::string(unsupported.what()), "edgefx: method 'decode', pass 'picky': not today");
  try {
    PassManager({throwing()}).run(program);
    FAIL() << "nothing thrown";
  } catch (const LoweringError& error) {
    EXPECT_EQ(std::string(error.what()), "edgefx: pass 'throwing': the pass threw an exception: boom");
    EXPECT_THROW(std::rethrow_if_nested(error), std::runtime_error);
  }
}

TEST(PassManager, ChecksTheProgramAfterEveryPass) {
  const PassRef breaking = programPass("breaking", [](ExportedProgram& edited) {
    edited.graph().find("relu")->setValue(nullptr);
    return false;
  });
  ExportedProgram program = tinyProgram();
  PassManager manager({breaking, nothing()});
  const auto error = caught<VerificationError>([&] { manager.run(program); });
  EXPECT_EQ(error.diagnostics().front().pass, "breaking");
  EXPECT_EQ(error.diagnostics().front().node, "relu");
  EXPECT_TRUE(error.diagnostics().front().notes.empty());
  manager.setChecking(false);
  EXPECT_TRUE(manager.run(program));
}

TEST(PassManager, AFaultThatWasThereBeforeIsSaidToBe) {
  ExportedProgram program = tinyProgram();
  program.graph().find("relu")->setValue(nullptr);
  const auto error = caught<VerificationError>([&] { PassManager({nothing()}).run(program); });
  ASSERT_FALSE(error.diagnostics().front().notes.empty());
  EXPECT_CONTAINS(error.diagnostics().front().notes.front(), "given to the pass has this fault");
  const PassRef mending = programPass("mending", [](ExportedProgram& edited) {
    edited.graph().find("relu")->setValue(tensorValue({1, 4}));
    return true;
  });
  EXPECT_TRUE(PassManager({mending}).run(program));
}

TEST(PassManager, W2_SwappedWeightsAreFound) {
  ProgramBuilder builder;
  Node& w = builder.parameter("w", sampleTensor({4}));
  Node& v = builder.parameter("v", at::Tensor(sampleTensor({4})).neg());
  builder.userOutput(builder.call("aten.sub.Tensor", {w, v}, tensorValue({4})));
  ExportedProgram program = builder.finish();
  const PassRef swapping = programPass("swapping", [](ExportedProgram& edited) {
    std::swap(edited.signature.inputs[0].target, edited.signature.inputs[1].target);
    return true;
  });
  const auto error = caught<VerificationError>([&] { PassManager({swapping}).run(program); });
  EXPECT_EQ(error.diagnostics().front().pass, "swapping");
  EXPECT_EQ(error.diagnostics().front().node, "p_w");
}

TEST(PassManager, APassThatGivesItsProgramAwayIsNamed) {
  ExportedProgram program = tinyProgram();
  const PassRef losing = programPass("losing", [](ExportedProgram& edited) {
    const ExportedProgram elsewhere = std::move(edited);
    return elsewhere.isValid();
  });
  for (const bool checks : {true, false}) {
    const auto error =
        caught<VerificationError>([&] { PassManager({losing}).setChecking(checks).run(program); });
    EXPECT_EQ(error.diagnostics().front().pass, "losing");
  }
  EXPECT_TRUE(program.isValid());
}

TEST(PassManager, ObserversSeeEveryPass) {
  std::vector<std::string> events;
  PassObserver observer;
  observer.beforePass = [&](const PassEvent& event) {
    events.push_back("before " + std::to_string(event.index) + ' ' + std::string(event.pass) + ' ' +
                     std::string(event.program.graph().find("relu")->target().op()));
    EXPECT_EQ(event.method, "m");
  };
  observer.afterPass = [&](const PassEvent& event) {
    events.push_back("after " + std::string(event.pass) + ' ' +
                     std::string(event.program.graph().find("relu")->target().op()) +
                     (event.changed ? " changed" : ""));
  };
  observer.onFailure = [&](const PassFailure&) { events.emplace_back("failure"); };
  ExportedProgram program = tinyProgram();
  PassManager({reluToTanh(), nothing()}).observe(observer).run(program, "m");
  EXPECT_EQ(events, (std::vector<std::string>{"before 0 relu-to-tanh relu", "after relu-to-tanh tanh changed",
                                              "before 1 nothing tanh", "after nothing tanh"}));
}

TEST(PassManager, AFailureIsGivenTheProgramBeforeAndWhatIsLeftToRun) {
  std::string left, op;
  PassObserver observer;
  observer.onFailure = [&](const PassFailure& failure) {
    for (const std::string& pass : failure.passes) left += pass + ' ';
    op = failure.program.graph().find("relu")->target().op();
    EXPECT_CONTAINS(std::string(failure.error.what()), "boom");
    EXPECT_EQ(failure.program.signature.inputs.size(), 3u);
    throw std::runtime_error("disk full");
  };
  ExportedProgram program = tinyProgram();
  const auto error = caught<LoweringError>([&] {
    PassManager({reluToTanh(), throwing(), nothing()}).observe(observer).run(program);
  });
  EXPECT_EQ(left, "throwing nothing ");
  EXPECT_EQ(op, "tanh");
  EXPECT_CONTAINS(std::string(error.what()), "boom");
  EXPECT_CONTAINS(std::string(error.what()), "disk full");
}

TEST(PassManager, AnObserverMayRefuseWhatAPassDid) {
  bool isTold = false;
  PassObserver observer;
  observer.afterPass = [](const PassEvent& event) {
    if (event.pass == "relu-to-tanh") throw VerificationError(Diagnostic("deviates"));
  };
  observer.onFailure = [&](const PassFailure& failure) {
    isTold = failure.program.graph().find("relu")->callsOperator("aten.relu.default");
  };
  ExportedProgram program = tinyProgram();
  const std::string before = test::snapshot(program);
  const auto error = caught<VerificationError>([&] {
    PassManager({nothing(), reluToTanh()}).observe(observer).run(program);
  });
  EXPECT_EQ(error.diagnostics().front().pass, "relu-to-tanh");
  EXPECT_TRUE(isTold);
  EXPECT_EQ(test::snapshot(program), before);
}

TEST(PassRegistry, StandardPassesAreKnownByName) {
  const std::vector<std::string> names = standardPassNames();
  EXPECT_TRUE(std::ranges::is_sorted(names));
  EXPECT_EQ(names.size(), 9u);
  for (const std::string& name : names) EXPECT_EQ(makePass(name)->name(), name);
  const auto error = caught<UsageError>([] { makePass("dead-cod"); });
  EXPECT_CONTAINS(error.diagnostics().front().message, "'dead-cod'");
  for (const std::string& name : names) EXPECT_CONTAINS(error.diagnostics().front().message, name);
}

}  // namespace
}  // namespace edgefx::test
