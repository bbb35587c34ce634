#include <edgefx/program/check_program.h>
#include <edgefx/program/check_shapes.h>
#include <edgefx/serialization/pt2.h>

#include "tools/command.h"
#include "tools/program_files.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace edgefx::tools {
namespace {

struct VerifyOptions {
  std::string file;
  std::string model;
  bool edge = false;
  bool shapes = false;
};

std::string onOneLine(Diagnostic violation) {
  violation.nodeText.clear();
  violation.notes.clear();
  std::string line = violation.render();
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return line;
}

ExitCode verify(const VerifyOptions& options, std::string& out) {
  LoadOptions load;
  load.verify = false;  // the first violations would end it
  load.checkWeights = true;
  Archive archive = readArchive(options.file, load);
  if (!options.model.empty()) archive.program(options.model);

  bool isValid = true;
  for (auto& [name, program] : archive.models) {
    if (!options.model.empty() && name != options.model) continue;
    if (options.edge) wrapAsEdge(program);
    std::vector<Diagnostic> violations = checkProgram(program);
    std::ranges::move(checkDelegates(program), std::back_inserter(violations));
    if (options.shapes) std::ranges::move(checkShapes(program), std::back_inserter(violations));
    for (Diagnostic& violation : violations) {
      isValid = false;
      if (archive.models.size() > 1) violation.method = name;
      out += onOneLine(std::move(violation)) + '\n';
    }
  }
  if (!isValid) return ExitCode::BadModel;
  out += "ok\n";
  return ExitCode::Ok;
}

}  // namespace

void addVerifyCommand(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command = app.add_subcommand("verify", "Check the models of a file");
  command->add_option("FILE", options->file, "The .pt2 file")->required()->type_name("");
  command->add_option("--model", options->model, "Check only this model")->type_name("NAME");
  command->add_flag("--edge", options->edge, kEdgeHelp);
  command->add_flag(
      "--shapes", options->shapes,
      "Compare the recorded value of each call with what its operator gives for the inputs, too");
  command->footer(
      "Reads all weights, too. Prints every rule that is broken, one a line, and exits with 1, or prints "
      "\"ok\".\n\n"
      "Example:\n  edgefx verify model.pt2");
  command->callback(
      [options, &chosen] { chosen = [options](std::string& out) { return verify(*options, out); }; });
}

}  // namespace edgefx::tools
