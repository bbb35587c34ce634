#include <edgefx/backend/plugin.h>
#include <edgefx/manager/edge_program_manager.h>
#include <edgefx/serialization/pt2.h>
#include <edgefx/support/error.h>

#include "tools/command.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace edgefx::tools {
namespace {

struct Options {
  std::string input;
  std::string output;
  std::string backend;
  std::vector<std::string> plugins;
  std::vector<std::string> methods;
  bool edge = false;
};

// What torch.export.save calls the only model of a file; as a method it is called as in Python.
constexpr std::string_view kOnlyModel = "model";
constexpr std::string_view kOnlyMethod = "forward";

std::string methodName(const Archive& archive, const Archive::Model& model) {
  const bool isOnly = archive.models.size() == 1 && model.name == kOnlyModel;
  return isOnly ? std::string(kOnlyMethod) : model.name;
}

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

EdgeProgramManager lowerMethods(const EdgeProgramManager& manager,
                                const EdgeProgramManager::BackendOfMethod& backends) {
  try {
    return manager.toOpBackend(backends);
  } catch (const std::exception& error) {
    throw CommandError(ExitCode::Lowering, error.what());
  }
}

ExitCode lower(const Options& options) {
  BackendRegistry registry;
  for (const std::string& plugin : options.plugins) loadPlugin(plugin, registry);
  const OpBackend& backend = registry.opBackend(options.backend);

  Archive archive = loadArchive(options.input);
  const std::vector<bool> chosen = chosenModels(archive, options.methods);
  EdgeProgramManager::Methods methods;
  EdgeProgramManager::BackendOfMethod backends;
  for (size_t i = 0; i < archive.models.size(); ++i) {
    std::string method = methodName(archive, archive.models[i]);
    if (chosen[i]) backends.emplace_back(method, &backend);
    if (options.edge) wrapAsEdge(archive.models[i].program);
    methods.emplace_back(std::move(method), std::move(archive.models[i].program));
  }

  const EdgeProgramManager manager(std::move(methods));
  const EdgeProgramManager lowered = lowerMethods(manager, backends);
  for (Archive::Model& model : archive.models) {
    model.program = lowered.exportedProgram(methodName(archive, model)).clone();
  }
  saveArchive(archive, options.output);
  return ExitCode::Ok;
}

}  // namespace

void addLowerCommand(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("lower", "Let an operator backend rewrite the models of a file");
  command->add_option("IN", options->input, "The .pt2 file to read")->required()->type_name("");
  command->add_option("-o,--output", options->output, "The .pt2 file to write; may be the same")
      ->required()
      ->type_name("FILE");
  command->add_option("--op-backend", options->backend, "Name of the backend")->required()->type_name("NAME");
  command
      ->add_option("--plugin", options->plugins, "Shared library with backends; may be given several times")
      ->type_name("LIB")
      ->allow_extra_args(false);
  command->add_option("--method", options->methods, "Lower only this method; may be given several times")
      ->type_name("NAME")
      ->allow_extra_args(false);
  command->add_flag("--edge", options->edge, kEdgeHelp);
  command->footer(
      "Methods are the models of the file; a single one called \"model\" is method \"forward\". What is not "
      "lowered is kept.\n\nExample:\n  edgefx lower model.pt2 -o npu.pt2 --edge --plugin ./libnpu.so "
      "--op-backend npu");
  command->callback([options, &chosen] { chosen = [options](std::string&) { return lower(*options); }; });
}

}  // namespace edgefx::tools
