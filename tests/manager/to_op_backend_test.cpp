#include <edgefx/ir/fx_text.h>
#include <edgefx/manager/edge_program_manager.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/support/error.h>

#include "backend/test_backends.h"
#include "support/program_builder.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace edgefx::test {
namespace {

// relu(x) where the predicate holds, tanh(x) else; metadata on a node of each graph.
ExportedProgram branchingProgram() {
  auto branch = [](const char* op) {
    auto graph = std::make_unique<Graph>();
    Node& x = graph->placeholder("arg0_1");
    x.setValue(tensorValue({2}));
    Node& y = graph->call(op, {x});
    y.setValue(tensorValue({2}));
    y.editMeta([](NodeMeta& meta) { meta.set("custom", "inner"); });
    graph->output(Arg::tuple({y}));
    return graph;
  };
  ProgramBuilder builder;
  Node& scale = builder.parameter("scale", sampleTensor({2}));
  Node& predicate = builder.userInput("p", tensorValue({}, Dtype::Bool));
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& yes = builder.branch("true_graph_0", branch("aten.relu.default"));
  Node& no = builder.branch("false_graph_0", branch("aten.tanh.default"));
  ValueMeta::Sequence results{{tensorValue({2})}, false};
  Node& cond =
      builder.call("higher_order.cond", {predicate, yes, no, Arg::tuple({x})}, ValueMeta::of(results));
  Node& item = builder.call("operator.getitem", {cond, 0}, tensorValue({2}));
  Node& mul = builder.call("aten.mul.Tensor", {item, scale}, tensorValue({2}));
  mul.editMeta([](NodeMeta& meta) { meta.set("custom", "outer"); });
  builder.userOutput(mul);
  return builder.finish();
}

EdgeProgramManager sampleManager() {
  EdgeProgramManager::Methods methods;
  methods.emplace_back("prefill", branchingProgram());
  methods.emplace_back("decode", countingProgram());
  methods.emplace_back("warmup", tinyProgram());
  EdgeCompileConfig config;
  config.skipDimOrder = true;
  config.preserveOps = {"aten.linear.default"};
  config.coreAtenOpsExceptionList = {"aten.median.default"};
  auto record = std::make_shared<EtRecord>();
  record->record("edge", "warmup", tinyProgram());
  return EdgeProgramManager(std::move(methods), config,
                            {{"eos", ConstantValue::list({1, 2})}, {"table", sampleTensor({3})}}, record);
}

std::string snapshot(const EdgeProgramManager& manager) {
  std::string text;
  for (const std::string& method : manager.methods()) {
    text += method + '\n' + test::snapshot(manager.exportedProgram(method));
  }
  return text;
}

// Tells whether a manager is bit for bit what it was when the watch began.
class Unchanged {
 public:
  explicit Unchanged(const EdgeProgramManager& manager)
      : manager_(manager),
        text_(snapshot(manager)),
        config_(manager.compileConfig()),
        constants_(manager.constantMethods()),
        record_(manager.etRecord()) {
    for (const std::string& method : manager.methods()) programs_.push_back(&manager.exportedProgram(method));
  }

  void check() const {
    EXPECT_EQ(snapshot(manager_), text_);
    EXPECT_EQ(manager_.compileConfig(), config_);
    EXPECT_EQ(manager_.constantMethods(), constants_);
    EXPECT_EQ(manager_.etRecord(), record_);
    std::vector<const ExportedProgram*> programs;
    for (const std::string& method : manager_.methods())
      programs.push_back(&manager_.exportedProgram(method));
    EXPECT_EQ(programs, programs_);
  }

 private:
  const EdgeProgramManager& manager_;
  std::string text_;
  EdgeCompileConfig config_;
  ConstantMethods constants_;
  std::shared_ptr<const EtRecord> record_;
  std::vector<const ExportedProgram*> programs_;
};

FunctionBackend identity() {
  return editing([](ExportedProgram&) {});
}

// Calls an operator of its own for every relu and tanh, nested graphs included.
FunctionBackend retargeting(std::string ns = "npu") {
  return editing([ns](ExportedProgram& program) {
    for (const NestedModule& nested : namedModules(program.graphModule())) {
      for (Node& node : nested.module->graph().nodes()) {
        if (node.callsOperator("aten.relu.default")) node.setTarget(ns + ".relu.default");
        if (node.callsOperator("aten.tanh.default")) node.setTarget(ns + ".tanh.default");
      }
    }
  });
}

TEST(ToOpBackend, EM18_1_HoldsTheObjectThatLowerReturns) {
  EdgeProgramManager manager(tinyProgram());
  const GraphModule* returned = nullptr;
  FunctionBackend backend([&](ExportedProgram, std::string_view) {
    ExportedProgram other = countingProgram();
    returned = &other.graphModule();
    return other;
  });
  EdgeProgramManager lowered = manager.toOpBackend(backend);
  EXPECT_EQ(&lowered.exportedProgram().graphModule(), returned);
}

TEST(ToOpBackend, EM18_2_EM18_9_LowersEveryMethodInOrderByName) {
  std::vector<std::string> seen;
  FunctionBackend backend([&](ExportedProgram program, std::string_view method) {
    seen.emplace_back(method);
    return program;
  });
  EdgeProgramManager lowered = sampleManager().toOpBackend(backend);
  EXPECT_EQ(seen, (std::vector<std::string>{"prefill", "decode", "warmup"}));
  EXPECT_EQ(lowered.methods(), seen);
}

TEST(ToOpBackend, EM18_10_CarriesConstantMethodsAndRecord) {
  EdgeProgramManager manager = sampleManager();
  EdgeProgramManager lowered = manager.toOpBackend(identity());
  EXPECT_EQ(lowered.constantMethods(), manager.constantMethods());
  EXPECT_NE(lowered.constantMethods().data(), manager.constantMethods().data());
  EXPECT_EQ(lowered.etRecord(), manager.etRecord());
}

TEST(ToOpBackend, EM18_11_EM18_12_OperatorsOfTheBackendSurviveAStrictConfig) {
  EdgeProgramManager manager = sampleManager();
  ASSERT_TRUE(manager.compileConfig().checkIrValidity);
  EdgeProgramManager lowered = manager.toOpBackend(retargeting());
  EXPECT_CONTAINS(fxText(lowered.exportedProgram("warmup").graph()), "torch.ops.npu.relu.default");
  EXPECT_CONTAINS(fxText(lowered.exportedProgram("prefill").graphModule()), "torch.ops.npu.tanh.default");
}

TEST(ToOpBackend, EM18_13_EM18_17_SwitchesOnlyTheValidityCheckOff) {
  EdgeProgramManager manager = sampleManager();
  EdgeCompileConfig expected = manager.compileConfig();
  expected.checkIrValidity = false;
  EXPECT_EQ(manager.toOpBackend(identity()).compileConfig(), expected);
  EXPECT_EQ(manager.toOpBackend(identity()).toOpBackend(identity()).compileConfig(), expected);
}

TEST(ToOpBackend, EM18_14_EM23_TheResultCanBeLoweredAgain) {
  EdgeProgramManager lowered = sampleManager().toOpBackend(retargeting());
  EdgeProgramManager again = lowered.toOpBackend(editing([](ExportedProgram& program) {
    for (Node& node : program.graph().nodes()) {
      if (node.callsOperator("npu.relu.default")) node.setTarget("npu.relu6.default");
    }
  }));
  EXPECT_CONTAINS(fxText(again.exportedProgram("warmup").graph()), "npu.relu6.default");
  EXPECT_CONTAINS(fxText(lowered.exportedProgram("warmup").graph()), "npu.relu.default");
}

TEST(ToOpBackend, EM19_AnIdentityBackendGivesACopy) {
  EdgeProgramManager manager = sampleManager();
  EdgeProgramManager lowered = manager.toOpBackend(identity());
  EXPECT_EQ(snapshot(lowered), snapshot(manager));
  EXPECT_NE(&lowered.exportedProgram("decode"), &manager.exportedProgram("decode"));
  EXPECT_NE(&lowered.exportedProgram("decode").graph(), &manager.exportedProgram("decode").graph());
}

TEST(ToOpBackend, WeightsAreSharedNotCopied) {
  EdgeProgramManager manager = sampleManager();
  EdgeProgramManager lowered = manager.toOpBackend(retargeting());
  for (const std::string& method : manager.methods()) {
    for (const auto& [name, entry] : manager.exportedProgram(method).stateDict()) {
      EXPECT_EQ(lowered.exportedProgram(method).stateDict().find(name)->storage().data(),
                entry.storage().data());
    }
  }
}

TEST(ToOpBackend, EM18_15_TheCallersManagerStaysAsItWas) {
  EdgeProgramManager manager = sampleManager();
  Unchanged unchanged(manager);
  manager.toOpBackend(retargeting());
  unchanged.check();
}

// Each step writes to another part of a program.
std::vector<std::function<void(ExportedProgram&)>> edits() {
  return {
      [](ExportedProgram& p) {
        for (const NestedModule& nested : namedModules(p.graphModule())) {
          for (Node& node : nested.module->graph().nodes()) {
            node.editMeta([](NodeMeta& meta) {
              meta.set("custom", "written by the backend");
              meta.set("added", "by the backend");
              meta.setDelegationTag(std::make_shared<const std::string>("tag"));
            });
          }
        }
      },
      [](ExportedProgram& p) {
        for (InputSpec& spec : p.signature.inputs) spec.target = "elsewhere";
        for (OutputSpec& spec : p.signature.outputs) spec.arg.name += "_renamed";
        p.signature.inputs.pop_back();
      },
      [](ExportedProgram& p) {
        p.moduleCallGraph.at(0).fqn = "changed";
        p.moduleCallGraph.at(0).signature->inputs.emplace_back();
        p.moduleCallGraph.at(0).signature->outSpec += "x";
        p.moduleCallGraph.push_back({"block", std::nullopt});
      },
      [](ExportedProgram& p) {
        p.stateDict().set("added", sampleTensor({2}));
        for (const char* name : {"scale", "weight", "count"}) p.stateDict().erase(name);
        p.constants().set("added", sampleTensor({2}));
      },
      [](ExportedProgram& p) {
        for (const NestedModule& nested : namedModules(p.graphModule())) {
          Graph& graph = nested.module->graph();
          for (Node& node : graph.nodes()) {
            if (node.isCall()) node.setTarget("npu.other.default");
            node.setValue(tensorValue({7}));
          }
          graph.outputNode().setArgs({Arg::tuple({})});
          graph.placeholders().front()->rename("renamed");
          graph.placeholder("rogue");
        }
      },
      [](ExportedProgram& p) {
        for (const char* child : {"true_graph_0", "false_graph_0"}) p.graphModule().removeChild(child);
        p.graphModule().addChild("added", std::make_unique<GraphModule>());
        p.graphModule().metadata.emplace_back("custom", "text");
      },
      [](ExportedProgram& p) {
        p.rangeConstraints.push_back({"s0", 2, 8});
        p.verifiers.clear();
        p.guardsCode.emplace_back("guard");
        p.unknownMembers["graph"] = "text";
        p.dialect = Dialect::Training;
        p.torchVersion = "0.1";
      },
      [](ExportedProgram& p) { p = ExportedProgram(); },
  };
}

TEST(ToOpBackend, EM18_15_W8_NothingChangesWhereverLowerThrows) {
  EdgeProgramManager manager = sampleManager();
  Unchanged unchanged(manager);
  for (const char* failing : {"prefill", "decode", "warmup"}) {
    for (size_t steps = 0; steps <= edits().size(); ++steps) {
      SCOPED_TRACE(std::string(failing) + " after " + std::to_string(steps));
      FunctionBackend backend([&](ExportedProgram program, std::string_view method) {
        if (method != failing) return program;
        for (size_t i = 0; i < steps; ++i) edits()[i](program);
        throw std::runtime_error("half way");
      });
      EXPECT_THROW(manager.toOpBackend(backend), LoweringError);
      unchanged.check();
    }
  }
}

TEST(ToOpBackend, W8_NothingChangesWhateverIsReturned) {
  EdgeProgramManager manager = sampleManager();
  Unchanged unchanged(manager);
  for (const auto& edit : edits()) {
    try {
      manager.toOpBackend(editing(edit));
    } catch (const LoweringError&) {
      // Most of the results do not hold together.
    }
    unchanged.check();
  }
}

TEST(ToOpBackend, W8_MetadataOfNestedGraphsIsTheBackendsOwn) {
  EdgeProgramManager manager(branchingProgram());
  EdgeProgramManager lowered = manager.toOpBackend(editing(edits()[0]));
  auto custom = [](const EdgeProgramManager& from, std::string_view path) {
    const Graph& graph = from.exportedProgram().graphModule().findChild(path)->graph();
    return **graph.outputNode().prev()->meta().find("custom");
  };
  EXPECT_EQ(custom(manager, "true_graph_0"), "inner");
  EXPECT_EQ(custom(lowered, "true_graph_0"), "written by the backend");
  EXPECT_EQ(custom(manager, ""), "outer");
  EXPECT_EQ(custom(lowered, ""), "written by the backend");
}

TEST(ToOpBackend, EM18_16_TheCallersManagerCanStillBeLoweredAfterAFailure) {
  EdgeProgramManager manager = sampleManager();
  FunctionBackend failing([](ExportedProgram program, std::string_view) -> ExportedProgram {
    for (const auto& edit : edits()) edit(program);
    throw std::runtime_error("half way");
  });
  EXPECT_THROW(manager.toOpBackend(failing), LoweringError);
  EXPECT_CONTAINS(fxText(manager.toOpBackend(retargeting()).exportedProgram("warmup").graph()),
                  "npu.relu.default");
}

TEST(ToOpBackend, EM18_8_AnErrorOfTheBackendNamesTheMethod) {
  EdgeProgramManager manager = sampleManager();
  FunctionBackend backend([](ExportedProgram program, std::string_view method) {
    if (method == "decode") throw UnsupportedError(Diagnostic("no kernel for 'aten.linear.default'"));
    return program;
  });
  UnsupportedError error = caught<UnsupportedError>([&] { manager.toOpBackend(backend); });
  EXPECT_STREQ(error.what(), "edgefx: backend 'npu', method 'decode': no kernel for 'aten.linear.default'");
}

TEST(ToOpBackend, EM18_3_ABackendThatGivesItsProgramAwayIsNamed) {
  EdgeProgramManager manager = sampleManager();
  ExportedProgram kept = tinyProgram();
  FunctionBackend backend([&](ExportedProgram, std::string_view) { return std::move(kept); });
  LoweringError error = caught<LoweringError>([&] { manager.toOpBackend(backend); });
  EXPECT_CONTAINS(error.what(), "backend 'npu', method 'decode': the backend must return a program");
}

TEST(ToOpBackend, AProgramMadeForAnotherMethodIsHeldAsItIs) {
  EdgeProgramManager manager = sampleManager();
  Unchanged unchanged(manager);
  FunctionBackend backend(
      [&](ExportedProgram, std::string_view) { return manager.exportedProgram("warmup").clone(); });
  EdgeProgramManager lowered = manager.toOpBackend(backend);
  EXPECT_EQ(test::snapshot(lowered.exportedProgram("decode")),
            test::snapshot(manager.exportedProgram("warmup")));
  unchanged.check();
}

TEST(ToOpBackend, AMapLowersWhatItNamesInTheManagersOrder) {
  EdgeProgramManager manager = sampleManager();
  std::vector<std::string> seen;
  auto recording = [&](std::string name) {
    return FunctionBackend(
        [&seen, name](ExportedProgram program, std::string_view method) {
          seen.push_back(name + ':' + std::string(method));
          return program;
        },
        name);
  };
  FunctionBackend npu = recording("npu"), dsp = recording("dsp");
  EdgeProgramManager lowered = manager.toOpBackend({{"warmup", &npu}, {"prefill", &dsp}});
  EXPECT_EQ(seen, (std::vector<std::string>{"dsp:prefill", "npu:warmup"}));
  EXPECT_EQ(lowered.methods(), manager.methods());
  EXPECT_EQ(&lowered.exportedProgram("decode"), &manager.exportedProgram("decode"));
  EXPECT_NE(&lowered.exportedProgram("warmup"), &manager.exportedProgram("warmup"));
  EXPECT_FALSE(lowered.compileConfig().checkIrValidity);
  EXPECT_EQ(lowered.constantMethods(), manager.constantMethods());
  EXPECT_EQ(lowered.etRecord(), manager.etRecord());
}

TEST(ToOpBackend, W17_AMapIsCheckedBeforeAnythingIsLowered) {
  EdgeProgramManager manager = sampleManager();
  bool called = false;
  FunctionBackend npu = editing([&](ExportedProgram&) { called = true; });
  UsageError unknown = caught<UsageError>([&] {
    manager.toOpBackend({{"prefill", &npu}, {"forward", &npu}});
  });
  EXPECT_CONTAINS(unknown.what(), "no method 'forward'; the manager has 'prefill', 'decode', 'warmup'");
  UsageError twice = caught<UsageError>([&] { manager.toOpBackend({{"decode", &npu}, {"decode", &npu}}); });
  EXPECT_CONTAINS(twice.what(), "'decode' is named twice");
  UsageError null = caught<UsageError>([&] {
    manager.toOpBackend({{"prefill", &npu}, {"decode", nullptr}});
  });
  EXPECT_CONTAINS(null.what(), "method 'decode', found null");
  EXPECT_FALSE(called);
}

TEST(ToOpBackend, OneManagerIsLoweredByTwoThreads) {
  const EdgeProgramManager manager = sampleManager();
  Unchanged unchanged(manager);
  std::vector<std::string> texts(2);
  auto work = [&](size_t i) {
    FunctionBackend backend = retargeting(i == 0 ? "npu" : "dsp");
    for (int round = 0; round < 50; ++round) texts[i] = snapshot(manager.toOpBackend(backend));
  };
  std::thread first(work, 0), second(work, 1);
  first.join();
  second.join();
  EXPECT_EQ(texts[0], snapshot(manager.toOpBackend(retargeting("npu"))));
  EXPECT_EQ(texts[1], snapshot(manager.toOpBackend(retargeting("dsp"))));
  unchanged.check();
}

TEST(ToOpBackend, TwoManagersOfOneProgramAreLoweredByTwoThreads) {
  const ExportedProgram program = branchingProgram();
  const std::string before = test::snapshot(program);
  std::vector<std::string> texts(2);
  auto work = [&](size_t i) {
    EdgeProgramManager manager(program.clone());
    for (int round = 0; round < 50; ++round) texts[i] = snapshot(manager.toOpBackend(retargeting()));
  };
  std::thread first(work, 0), second(work, 1);
  first.join();
  second.join();
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_EQ(test::snapshot(program), before);
}

}  // namespace
}  // namespace edgefx::test
