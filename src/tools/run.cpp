#include <edgefx/backend/plugin.h>
#include <edgefx/ir/graph_module.h>
#include <edgefx/run/saved_calls.h>
#include <edgefx/serialization/pt2.h>
#include <edgefx/serialization/torch_save.h>
#include <edgefx/support/error.h>

#include "tools/command.h"
#include "tools/program_files.h"
#include "tools/value_text.h"

#include <fmt/format.h>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace edgefx::tools {
namespace {

struct RunToolOptions {
  std::string file;
  std::string model;
  RunSource source;
  std::string expect;
  std::string output;
  bool tap = false;
  bool edge = false;
};

// Appends a line for each value of a call; true if all agree.
bool showCompared(const std::vector<VerifyReport::Compared>& values, const std::string& prefix,
                  std::string& out) {
  bool agrees = true;
  for (const auto& [name, call, difference] : values) {
    out += prefix + name + ": " + text(difference) + '\n';
    agrees = agrees && difference.agrees;
  }
  return agrees;
}

ExitCode runModel(const RunToolOptions& options, std::string& out) {
  BackendRegistry registry;
  for (const std::string& plugin : options.source.plugins) loadPlugin(plugin, registry);
  ExportedProgram program = readProgram(options.file, options.model);
  if (options.edge) wrapAsEdge(program);

  RunOptions run;
  if (!options.source.plugins.empty()) run.delegateRunner = delegateRunner(registry);
  if (options.tap) {
    run.tap = [&out](const TapEvent& event) {
      out += fmt::format("%{} = {}\n", childPath(event.graph, event.node.name()), valueText(event.value));
    };
  }
  Interpreter interpreter = makeInterpreter(program, std::move(run));

  std::vector<SavedCall> cases;
  if (!options.expect.empty()) cases = readSavedCalls(options.expect);
  if (cases.empty()) cases.emplace_back();
  if (!options.source.inputs.empty()) cases.front().inputs = readInputs(program, options.source.inputs);
  std::string note;
  if (options.source.inputs.empty() && (options.expect.empty() || cases.front().inputs.empty())) {
    cases.front().inputs = sampleInputs(program, options.source.seed, note);
  }

  bool agrees = true;
  std::vector<c10::IValue> results;
  for (size_t call = 0; call < cases.size(); ++call) {
    results = runOnce(interpreter, cases[call].inputs);
    const std::string prefix = cases.size() > 1 ? fmt::format("call {}, ", call + 1) : std::string();
    if (!options.expect.empty()) {
      agrees = showCompared(compareCall(program, cases[call], cases[call].inputs, results, interpreter,
                                        options.source.tolerance),
                            prefix, out) &&
               agrees;
    }
  }
  if (options.expect.empty()) {
    const std::vector<std::string> names = resultNames(program);
    for (size_t i = 0; i < results.size(); ++i)
      out += fmt::format("{}: {}\n", names[i], valueText(results[i]));
    if (!note.empty()) out += "(with " + note + ")\n";
  }
  if (!options.output.empty()) {
    c10::impl::GenericList list(c10::AnyType::get());
    for (c10::IValue& result : results) list.push_back(std::move(result));
    saveTorchSave(options.output, list);
  }
  if (!agrees) return ExitCode::BadModel;
  if (!options.expect.empty()) out += "ok\n";
  return ExitCode::Ok;
}

}  // namespace

void addRunCommand(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<RunToolOptions>();
  CLI::App* command = app.add_subcommand("run", "Run a model with LibTorch's kernels");
  command->add_option("FILE", options->file, "The .pt2 file")->required()->type_name("");
  command->add_option("--model", options->model, "Which model; otherwise \"model\", or the only one")
      ->type_name("NAME");
  addSourceOptions(*command, options->source, "the sample inputs of the model, or generated ones");
  command
      ->add_option(
          "--expect", options->expect,
          "File of torch.save to compare with: a list of results, or a dict with \"outputs\", and possibly "
          "\"inputs\", \"buffers_after\", \"inputs_after\" and \"calls\"")
      ->type_name("FILE");
  command->add_option("-o,--output", options->output, "Write the results, a list, for torch.load")
      ->type_name("FILE");
  command->add_flag("--tap", options->tap, "Print the value of every node");
  command->add_flag("--edge", options->edge, kEdgeHelp);
  command->footer(
      "Prints a line for each result; with --expect how far it is from what was expected, then \"ok\", or "
      "exits with "
      "1. Operators that cannot run here are named before anything runs.\n\nExample:\n  edgefx run model.pt2 "
      "--inputs "
      "x.pt --expect y.pt");
  command->callback(
      [options, &chosen] { chosen = [options](std::string& out) { return runModel(*options, out); }; });
}

}  // namespace edgefx::tools
