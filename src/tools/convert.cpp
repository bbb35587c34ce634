#include <edgefx/serialization/exir.h>
#include <edgefx/serialization/pt2.h>
#include <edgefx/support/warning.h>

#include "tools/command.h"
#include "tools/program_files.h"

#include <limits>
#include <memory>
#include <string>

namespace edgefx::tools {
namespace {

struct ConvertOptions {
  std::string input;
  std::string output;
  bool edge = false;
  std::string format = "pt2";
};

ExitCode convert(const ConvertOptions& options) {
  Archive archive = readArchive(options.input);
  if (options.edge) {
    for (Archive::Model& model : archive.models) wrapAsEdge(model.program);
  }
  if (options.format == "exir") {
    saveExir(archive, options.output);
  } else if (options.format == "text") {
    if (!archive.foreign.empty()) {
      warn({"text", "a text has no place for records that edgefx does not know: " +
                        std::to_string(archive.foreign.size()) + " are left out, '" +
                        archive.foreign.front().name + "' the first of them"});
    }
    writeTextFile(options.output, archiveText(archive, std::numeric_limits<size_t>::max()));
  } else {
    saveArchive(archive, options.output);
  }
  return ExitCode::Ok;
}

}  // namespace

void addConvertCommand(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* command = app.add_subcommand(
      "convert", "Write a file anew, in the layout of torch 2.9 and later, that of ExecuTorch, or as text");
  command->add_option("IN", options->input, "The file to read, of torch 2.1 or later or of ExecuTorch")
      ->required()
      ->type_name("");
  command->add_option("OUT", options->output, "The file to write; may be the same")
      ->required()
      ->type_name("");
  command->add_flag("--edge", options->edge, kEdgeHelp);
  command
      ->add_option(
          "--format", options->format,
          "pt2; text: what 'print --text' shows, with all bytes; or exir: what ExecuTorch's own serializer "
          "writes, of one model")
      ->check(CLI::IsMember({"pt2", "exir", "text"}))
      ->type_name("NAME");
  command->footer(
      "All models are kept, and records that edgefx does not know are copied, save into a text.\n\n"
      "Example:\n  edgefx convert lowered.pt2 for_python.bin --format exir");
  command->callback([options, &chosen] { chosen = [options](std::string&) { return convert(*options); }; });
}

}  // namespace edgefx::tools
