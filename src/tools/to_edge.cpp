#include <edgefx/manager/to_edge.h>
#include <edgefx/serialization/pt2.h>
#include <edgefx/support/error.h>

#include "tools/command.h"

#include <memory>
#include <string>
#include <utility>

namespace edgefx::tools {
namespace {

struct ToEdgeOptions {
  std::string input;
  std::string output;
  EdgeCompileConfig config;
  bool anyOperator = false;
};

ExitCode convertToEdge(const ToEdgeOptions& options) {
  Archive archive = loadArchive(options.input);
  EdgeProgramManager::Methods methods;
  for (Archive::Model& model : archive.models) {
    methods.emplace_back(methodName(archive, model), std::move(model.program));
  }
  EdgeCompileConfig config = options.config;
  config.checkIrValidity = !options.anyOperator;
  try {
    const EdgeProgramManager manager = toEdge(std::move(methods), std::move(config));
    for (size_t i = 0; i < archive.models.size(); ++i) {
      archive.models[i].program = manager.exportedProgram(manager.methods()[i]).clone();
    }
  } catch (const UnsupportedError& error) {
    throw CommandError(ExitCode::Lowering, error.what());
  }
  saveArchive(archive, options.output);
  return ExitCode::Ok;
}

}  // namespace

void addToEdgeCommand(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<ToEdgeOptions>();
  CLI::App* command = app.add_subcommand("to-edge", "Bring the models of a file to edge dialect");
  command->add_option("IN", options->input, "The .pt2 file to read, of torch.export")
      ->required()
      ->type_name("");
  command->add_option("-o,--output", options->output, "The .pt2 file to write; may be the same")
      ->required()
      ->type_name("FILE");
  command->add_flag("--skip-dim-order", options->config.skipDimOrder,
                    "Keep memory formats instead of dim-order operators");
  auto addNames = [command](const char* name, std::vector<std::string>& names, const char* help) {
    command->add_option(name, names, help)->type_name("OPERATOR")->allow_extra_args(false);
  };
  addNames("--preserve", options->config.preserveOps,
           "Do not decompose this operator, such as aten.rms_norm.default; may be given several times");
  addNames("--exception", options->config.coreAtenOpsExceptionList,
           "Let this operator pass though it is not of Core ATen; may be given several times");
  command->add_flag("--any-operator", options->anyOperator, "Let all operators pass");
  command->footer(
      "The file that is written says that it is of edge dialect, other commands need no --edge for it.\n\n"
      "Example:\n  edgefx to-edge model.pt2 -o edge.pt2 --skip-dim-order");
  command->callback(
      [options, &chosen] { chosen = [options](std::string&) { return convertToEdge(*options); }; });
}

}  // namespace edgefx::tools
