#include <edgefx/backend/plugin.h>
#include <edgefx/manager/edge_program_manager.h>
#include <edgefx/program/check_shapes.h>
#include <edgefx/run/saved_calls.h>
#include <edgefx/serialization/payloads.h>
#include <edgefx/serialization/pt2.h>
#include <edgefx/support/error.h>

#include "tools/command.h"
#include "tools/program_files.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace edgefx::tools {
namespace {

struct LowerOptions {
  std::string input;
  std::string output;
  std::string payloads;  // folder, empty for none
  std::vector<std::string> partitioners;
  std::vector<std::string> opBackends;
  std::vector<std::string> plugins;
  std::vector<std::string> methods;
  bool edge = false;
  bool check = false;
  Tolerance tolerance;
};

// Whether to lower each model.
std::vector<bool> chosenModels(const Archive& archive, const std::vector<std::string>& wanted) {
  std::vector<bool> chosen(archive.models.size(), wanted.empty());
  for (const std::string& name : wanted) {
    auto found = std::find_if(archive.models.begin(), archive.models.end(), [&](const Archive::Model& model) {
      return model.name == name || methodName(archive, model) == name;
    });
    if (found == archive.models.end()) {
      std::string known;
      for (const Archive::Model& model : archive.models) {
        known += (known.empty() ? "'" : ", '") + methodName(archive, model) + "'";
      }
      throw UsageError(Diagnostic("there is no method '" + name + "'; the file has " + known));
    }
    chosen[static_cast<size_t>(found - archive.models.begin())] = true;
  }
  return chosen;
}

// What is to lower the methods, in order.
struct Steps {
  std::vector<const Partitioner*> partitioners;
  std::vector<const OpBackend*> opBackends;
};

Steps findSteps(const LowerOptions& options, const BackendRegistry& registry) {
  Steps steps;
  for (const std::string& name : options.partitioners) {
    steps.partitioners.push_back(&registry.partitioner(name));
  }
  for (const std::string& name : options.opBackends) steps.opBackends.push_back(&registry.opBackend(name));
  return steps;
}

// Lowers the methods named, one step after the other.
EdgeProgramManager lowerMethods(EdgeProgramManager manager, const std::vector<std::string>& methods,
                                const Steps& steps, const BackendRegistry& registry) {
  try {
    for (const Partitioner* partitioner : steps.partitioners) {
      EdgeProgramManager::PartitionerOfMethod partitioners;
      for (const std::string& method : methods) partitioners.emplace_back(method, partitioner);
      manager = manager.toBackend(partitioners, registry);
    }
    for (const OpBackend* backend : steps.opBackends) {
      EdgeProgramManager::BackendOfMethod backends;
      for (const std::string& method : methods) backends.emplace_back(method, backend);
      manager = manager.toOpBackend(backends);
    }
    return manager;
  } catch (const std::exception& error) {
    throw CommandError(ExitCode::Lowering, error.what());
  }
}

// Runs the lowered method beside the original, and compares recorded values with what operators give; appends
// what differs.
bool checkLowered(const std::string& method, const ExportedProgram& before, const ExportedProgram& after,
                  const LowerOptions& options, const BackendRegistry& registry, std::string& out) {
  VerifyOptions verify;
  verify.tolerance = options.tolerance;
  verify.delegateRunner = delegateRunner(registry);
  std::string note;
  const std::vector<c10::IValue> inputs = sampleInputs(before, 0, note);
  const VerifyReport report = verifyPrograms(before, after, inputs, verify);
  if (!report.agrees()) out += "method '" + method + "' computes something else\n";
  out += report.text(true);

  ShapeRules rules;
  for (const std::string& name : options.opBackends) registry.opBackend(name).addShapeRules(rules);
  const std::vector<Diagnostic> differences = checkShapes(after, &rules);
  for (const Diagnostic& difference : differences) out += difference.render() + '\n';
  return report.agrees() && differences.empty();
}

ExitCode lower(const LowerOptions& options, std::string& out) {
  BackendRegistry registry;
  for (const std::string& plugin : options.plugins) loadPlugin(plugin, registry);
  const Steps steps = findSteps(options, registry);

  Archive archive = readArchive(options.input);
  const std::vector<bool> chosen = chosenModels(archive, options.methods);
  EdgeProgramManager::Methods methods;
  std::vector<std::string> wanted;
  for (size_t i = 0; i < archive.models.size(); ++i) {
    std::string method = methodName(archive, archive.models[i]);
    if (chosen[i]) wanted.push_back(method);
    if (options.edge) wrapAsEdge(archive.models[i].program);
    methods.emplace_back(std::move(method), std::move(archive.models[i].program));
  }

  const EdgeProgramManager originals(std::move(methods));
  const EdgeProgramManager lowered = lowerMethods(originals, wanted, steps, registry);
  bool agrees = true;
  for (const std::string& method : wanted) {
    if (!options.check) break;
    agrees = checkLowered(method, originals.exportedProgram(method), lowered.exportedProgram(method), options,
                          registry, out) &&
             agrees;
  }
  if (!agrees) return ExitCode::BadModel;
  for (Archive::Model& model : archive.models) {
    model.program = lowered.exportedProgram(methodName(archive, model)).clone();
  }
  if (!options.payloads.empty()) exportPayloads(archive, options.payloads);
  saveArchive(archive, options.output);
  return ExitCode::Ok;
}

void addOptions(CLI::App& command, LowerOptions& options) {
  command.add_option("IN", options.input, "The .pt2 file to read")->required()->type_name("");
  command.add_option("-o,--output", options.output, "The .pt2 file to write; may be the same")
      ->required()
      ->type_name("FILE");
  auto addNames = [&command](const char* name, std::vector<std::string>& names, const char* help,
                             const char* type = "NAME") {
    command.add_option(name, names, help)->type_name(type)->allow_extra_args(false);
  };
  addNames("--partitioner", options.partitioners,
           "Move what this partitioner tags into delegates; may be given several times");
  addNames("--op-backend", options.opBackends,
           "Let this operator backend rewrite what is left; may be given several times");
  addNames("--plugin", options.plugins,
           "Shared library with partitioners and backends; may be given several times", "LIB");
  addNames("--method", options.methods, "Lower only this method; may be given several times");
  command
      .add_option("--payloads", options.payloads,
                  "Write what backends made of each delegate to this folder, too")
      ->type_name("DIR");
  command.add_flag("--edge", options.edge, kEdgeHelp);
  command.add_flag(
      "--check", options.check,
      "Run each lowered method beside the original, on its sample inputs or generated ones, compare recorded "
      "shapes with what operators give, and write nothing if anything differs");
  addToleranceOptions(command, options.tolerance);
}

}  // namespace

void addLowerCommand(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<LowerOptions>();
  CLI::App* command =
      app.add_subcommand("lower", "Let partitioners and operator backends lower the models of a file");
  addOptions(*command, *options);
  command->footer(
      "Partitioners run first, then operator backends, each in the order given; one of them is needed. "
      "Methods are the models of the file; a single one called \"model\" is method \"forward\". What is not "
      "lowered is kept.\n\nExample:\n  edgefx lower model.pt2 -o npu.pt2 --edge --plugin ./libnpu.so "
      "--partitioner npu --op-backend kernels");
  command->callback([options, &chosen] {
    if (options->partitioners.empty() && options->opBackends.empty()) {
      throw CLI::RequiredError("--partitioner or --op-backend");
    }
    chosen = [options](std::string& out) { return lower(*options, out); };
  });
}

}  // namespace edgefx::tools
