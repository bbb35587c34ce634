#include <edgefx/serialization/pt2.h>

#include "tools/command.h"

#include <memory>

namespace edgefx::tools {
namespace {

struct Options {
  std::string input;
  std::string output;
  bool edge = false;
};

ExitCode convert(const Options& options) {
  Archive archive = loadArchive(options.input);
  if (options.edge) {
    for (Archive::Model& model : archive.models) wrapAsEdge(model.program);
  }
  saveArchive(archive, options.output);
  return ExitCode::Ok;
}

}  // namespace

void addConvertCommand(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("convert", "Write a file anew, in the layout of torch 2.9 and later");
  command->add_option("IN", options->input, "The .pt2 file to read, of torch 2.1 or later")
      ->required()
      ->type_name("");
  command->add_option("OUT", options->output, "The .pt2 file to write; may be the same")
      ->required()
      ->type_name("");
  command->add_flag("--edge", options->edge, kEdgeHelp);
  command->footer(
      "All models are kept, and records that edgefx does not know are copied.\n\n"
      "Example:\n  edgefx convert old.pt2 new.pt2");
  command->callback([options, &chosen] { chosen = [options](std::string&) { return convert(*options); }; });
}

}  // namespace edgefx::tools
