#include <edgefx/text/diagrams.h>

#include "tools/command.h"
#include "tools/program_files.h"

#include <filesystem>
#include <memory>
#include <vector>

namespace edgefx::tools {
namespace {

struct DumpOptions {
  std::string file;
  std::string format = "dot";
  std::string model;
  std::string output;
};

ExitCode dump(const DumpOptions& options, std::string& out) {
  LoadOptions load;
  load.verify = false;  // a broken program is what one wants to look at
  const Archive archive = readArchive(options.file, load);
  if (!options.model.empty()) archive.program(options.model);
  std::vector<std::string> names;
  for (const Archive::Model& model : archive.models) names.push_back(methodName(archive, model));
  std::vector<NamedProgramRef> methods;
  for (size_t i = 0; i < names.size(); ++i) {
    const Archive::Model& model = archive.models[i];
    if (options.model.empty() || model.name == options.model) methods.push_back({names[i], &model.program});
  }
  const std::string text =
      options.format == "dot"
          ? dotText(methods)
          : modelExplorerJson(methods, std::filesystem::path(options.file).filename().string()) + '\n';
  putText(options.output, text, out);
  return ExitCode::Ok;
}

}  // namespace

void addDumpCommand(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<DumpOptions>();
  CLI::App* command =
      app.add_subcommand("dump", "Write the graphs of a model for a viewer: Graphviz or Model Explorer");
  command->add_option("FILE", options->file, "The .pt2 file")->required()->type_name("");
  command
      ->add_option("--format", options->format,
                   "dot for Graphviz, which is what one gets otherwise, or me-json for Model Explorer")
      ->check(CLI::IsMember({"dot", "me-json"}))
      ->type_name("FORMAT");
  command->add_option("--model", options->model, "Only this model; otherwise all")->type_name("NAME");
  command->add_option("-o,--output", options->output, "Write to this file")->type_name("FILE");
  command->footer(
      "Branches of control flow and delegates are graphs of their own, to which their nodes lead. The model "
      "is not checked: see 'edgefx verify'.\n\n"
      "Example:\n  edgefx dump npu.pt2 --format me-json -o npu.json");
  command->callback(
      [options, &chosen] { chosen = [options](std::string& out) { return dump(*options, out); }; });
}

}  // namespace edgefx::tools
