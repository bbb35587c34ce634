#include <edgefx/ir/fx_text.h>
#include <edgefx/program/delegated_text.h>
#include <edgefx/serialization/pt2.h>
#include <edgefx/text/fx_reader.h>
#include <edgefx/text/program_text.h>

#include "tools/command.h"
#include "tools/program_files.h"

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
  bool text = false;
  bool fromFxText = false;
  uint64_t mostBytes = 256;
  std::string output;
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

std::string printedFxText(const PrintOptions& options) {
  std::unique_ptr<GraphModule> module = readFxText(readWholeFile(options.file), options.file);
  if (!options.text) return fxText(*module);
  return programText(ExportedProgram(std::move(module)));
}

std::string printedFile(const PrintOptions& options) {
  LoadOptions load;
  load.verify = false;  // a broken program is what one wants to look at
  if (options.text && options.model.empty()) {
    Archive archive = readArchive(options.file, load);
    for (Archive::Model& model : archive.models) {
      if (options.edge) wrapAsEdge(model.program);
    }
    return archiveText(archive, options.mostBytes);
  }
  ExportedProgram program = readProgram(options.file, options.model, load);
  if (options.edge) wrapAsEdge(program);
  if (!options.text) return printedText(program, options);
  const NamedProgramRef method{options.model, &program};
  return programText({&method, 1}, {.mostBytes = options.mostBytes});
}

ExitCode print(const PrintOptions& options, std::string& out) {
  std::string text = options.fromFxText ? printedFxText(options) : printedFile(options);
  if (!text.ends_with('\n')) text += '\n';
  putText(options.output, text, out);
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
  CLI::Option* delegates =
      command
          ->add_flag(
              "--delegates", options->delegates,
              "Print below each delegate its backend and the graph that was compiled, as ExecuTorch does")
          ->excludes(signature);
  command->add_flag("--edge", options->edge, kEdgeHelp);
  CLI::Option* text =
      command
          ->add_flag("--text", options->text, "Print programs with all they hold, as text that edgefx reads")
          ->excludes(signature)
          ->excludes(delegates);
  command
      ->add_option("--bytes", options->mostBytes,
                   "With --text: how many bytes of a tensor or payload are printed; longer ones are left out")
      ->needs(text)
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  command->add_flag("--from-fx-text", options->fromFxText, "FILE is such text of a graph as Python prints")
      ->excludes(signature)
      ->excludes(delegates);
  command->add_option("-o,--output", options->output, "Write to this file")->type_name("FILE");
  command->footer(
      "The model is not checked: see 'edgefx verify'. --text prints all models unless one is named.\n\n"
      "Example:\n  edgefx print llm.pt2 --model decode --signature");
  command->callback(
      [options, &chosen] { chosen = [options](std::string& out) { return print(*options, out); }; });
}

}  // namespace edgefx::tools
