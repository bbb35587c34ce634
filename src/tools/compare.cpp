#include <edgefx/backend/plugin.h>
#include <edgefx/run/saved_calls.h>
#include <edgefx/serialization/pt2.h>
#include <edgefx/support/error.h>

#include "tools/command.h"
#include "tools/program_files.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace edgefx::tools {
namespace {

struct CompareOptions {
  std::string before;
  std::string after;
  std::string model;
  RunSource source;
};

ExitCode compare(const CompareOptions& options, std::string& out) {
  BackendRegistry registry;
  for (const std::string& plugin : options.source.plugins) loadPlugin(plugin, registry);
  Archive before = readArchive(options.before);
  Archive after = readArchive(options.after);
  VerifyOptions verify;
  verify.tolerance = options.source.tolerance;
  if (!options.source.plugins.empty()) verify.delegateRunner = delegateRunner(registry);

  bool agrees = true;
  bool isAny = false;
  for (const Archive::Model& model : before.models) {
    if (!options.model.empty() && model.name != options.model) continue;
    isAny = true;
    const auto other =
        std::ranges::find_if(after.models, [&](const Archive::Model& one) { return one.name == model.name; });
    if (other == after.models.end()) {
      throw UsageError(Diagnostic("'" + options.after + "' has no model '" + model.name + "'"));
    }
    std::string note;
    const std::vector<c10::IValue> inputs = options.source.inputs.empty()
                                                ? sampleInputs(model.program, options.source.seed, note)
                                                : readInputs(model.program, options.source.inputs);
    const VerifyReport report = verifyPrograms(model.program, other->program, inputs, verify);
    if (before.models.size() > 1) out += "model '" + model.name + "'\n";
    out += report.text(true);
    agrees = agrees && report.agrees();
  }
  if (!isAny) throw UsageError(Diagnostic("'" + options.before + "' has no model '" + options.model + "'"));
  if (!agrees) return ExitCode::BadModel;
  out += "ok\n";
  return ExitCode::Ok;
}

}  // namespace

void addCompareCommand(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command =
      app.add_subcommand("compare", "Run two files on the same inputs and compare the results");
  command->add_option("A", options->before, "The original .pt2 file")->required()->type_name("");
  command->add_option("B", options->after, "The lowered .pt2 file")->required()->type_name("");
  command->add_option("--model", options->model, "Compare only this model")->type_name("NAME");
  addSourceOptions(*command, options->source, "the sample inputs of A, or generated ones");
  command->footer(
      "Prints the largest differences of each result and of each buffer and input that is written; models "
      "that write "
      "state are called twice. If they differ, names the first node that does and exits with "
      "1.\n\nExample:\n  edgefx compare model.pt2 lowered.pt2");
  command->callback(
      [options, &chosen] { chosen = [options](std::string& out) { return compare(*options, out); }; });
}

}  // namespace edgefx::tools
