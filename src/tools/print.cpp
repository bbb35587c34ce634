#include <edgefx/ir/fx_text.h>
#include <edgefx/program/delegated_text.h>
#include <edgefx/serialization/pt2.h>

#include "tools/command.h"

#include <charconv>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace edgefx::tools {
namespace {

struct PrintOptions {
  std::string file;
  std::string model;
  bool signature = false;
  bool delegates = false;
  bool edge = false;
};

// Major and minor number of "2.14.1+cpu".
std::optional<std::pair<int, int>> releaseOf(std::string_view version) {
  std::pair<int, int> release;
  const char* end = version.data() + version.size();
  auto [dot, majorError] = std::from_chars(version.data(), end, release.first);
  if (majorError != std::errc() || dot == end || *dot != '.') return std::nullopt;
  if (std::from_chars(dot + 1, end, release.second).ec != std::errc()) return std::nullopt;
  return release;
}

// As the torch that wrote the file prints it.
SignatureStyle signatureStyle(const ExportedProgram& program) {
  const std::pair<int, int> firstWithSections{2, 7};
  bool isOld = program.schemaVersion.major < 8 ||
               (program.schemaVersion.major == 8 && program.schemaVersion.minor <= 6);
  if (auto release = releaseOf(program.torchVersion)) isOld = *release < firstWithSections;
  return isOld ? SignatureStyle::DataClass : SignatureStyle::Sections;
}

std::string printedText(const ExportedProgram& program, const PrintOptions& options) {
  if (options.signature) return text(program.signature, signatureStyle(program));
  if (options.delegates) return delegatedText(program);
  return fxText(program.graphModule());
}

ExitCode print(const PrintOptions& options, std::string& out) {
  LoadOptions load;
  load.verify = false;  // a broken program is what one wants to look at
  ExportedProgram program = loadProgram(options.file, options.model, load);
  if (options.edge) wrapAsEdge(program);
  out += printedText(program, options);
  if (!out.ends_with('\n')) out += '\n';
  return ExitCode::Ok;
}

}  // namespace

void addPrintCommand(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<PrintOptions>();
  CLI::App* command =
      app.add_subcommand("print", "Print the graphs of a model, or its signature, as Python does");
  command->add_option("FILE", options->file, "The .pt2 file")->required()->type_name("");
  command->add_option("--model", options->model, "Which model; otherwise \"model\", or the only one")
      ->type_name("NAME");
  CLI::Option* signature =
      command->add_flag("--signature", options->signature, "Print the signature instead of the graphs");
  command
      ->add_flag("--delegates", options->delegates,
                 "Print below each delegate its backend and the graph that was compiled, as ExecuTorch does")
      ->excludes(signature);
  command->add_flag("--edge", options->edge, kEdgeHelp);
  command->footer(
      "The model is not checked: see 'edgefx verify'.\n\nExample:\n  edgefx print llm.pt2 --model decode "
      "--signature");
  command->callback(
      [options, &chosen] { chosen = [options](std::string& out) { return print(*options, out); }; });
}

}  // namespace edgefx::tools
