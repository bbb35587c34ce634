#include <edgefx/dialect/decompose.h>
#include <edgefx/dialect/functionalize.h>
#include <edgefx/dialect/to_edge.h>
#include <edgefx/ir/fx_text.h>
#include <edgefx/passes/pass_manager.h>
#include <edgefx/passes/standard.h>
#include <edgefx/support/error.h>
#include <edgefx/text/program_text.h>

#include "tools/command.h"
#include "tools/program_files.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace edgefx::tools {
namespace {

namespace fs = std::filesystem;

struct OptOptions {
  std::string input;
  std::string output;
  std::string model;
  std::vector<std::string> passes;
  bool edge = false;
  bool text = false;
  bool printAfterAll = false;
  bool printAfterChange = false;
  bool timing = false;
  bool listPasses = false;
  std::string tree;
  std::string reproducer;
};

// The steps to edge dialect, as passes.
const std::map<std::string, std::function<void(ExportedProgram&)>>& dialectSteps() {
  static const std::map<std::string, std::function<void(ExportedProgram&)>> steps = {
      {"decompose", [](ExportedProgram& program) { decompose(program); }},
      {"functionalize", [](ExportedProgram& program) { program = functionalize(std::move(program)); }},
      {"to-edge", [](ExportedProgram& program) { program = toEdgeDialect(std::move(program)); }}};
  return steps;
}

std::vector<std::string> passNames() {
  std::vector<std::string> names = standardPassNames();
  for (const auto& [name, step] : dialectSteps()) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

PassRef findPass(const std::string& name) {
  const std::vector<std::string> names = passNames();
  if (std::ranges::find(names, name) == names.end()) {
    throw UsageError(
        Diagnostic(fmt::format("there is no pass '{}'; there are '{}'", name, fmt::join(names, "', '"))));
  }
  const auto step = dialectSteps().find(name);
  if (step == dialectSteps().end()) return makePass(name);
  return programPass(name, [run = step->second](ExportedProgram& program) {
    run(program);
    return true;  // the pass manager looks for itself
  });
}

// Shows each program to which a pass did something, or every one.
PassObserver printer(bool always, std::string& out) {
  PassObserver observer;
  observer.afterPass = [always, &out](const PassEvent& event) {
    if (!always && !event.changed) return;
    out += fmt::format("# method \"{}\" after '{}'{}\n{}", event.method, event.pass,
                       event.changed ? "" : " (no change)", fxText(event.program.graphModule()));
  };
  return observer;
}

// A folder's name for a method: no two methods have one, and none leads elsewhere.
std::string folderName(std::string_view method) {
  std::string name;
  for (const char c : method) {
    const bool isPlain =
        (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == '-';
    if (isPlain) {
      name += c;
    } else {
      name += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return name.empty() ? "%" : name;
}

// Writes "DIR/<method>/<number>-<pass>.txt" for every pass.
PassObserver treeWriter(const std::string& directory) {
  PassObserver observer;
  observer.afterPass = [directory](const PassEvent& event) {
    const fs::path at = fs::path(directory) / folderName(event.method);
    fs::create_directories(at);
    const NamedProgramRef method{event.method, &event.program};
    writeTextFile((at / fmt::format("{}-{}.txt", event.index + 1, event.pass)).string(),
                  programText({&method, 1}));
  };
  return observer;
}

// Time that passes took, by method and position.
class Timer {
 public:
  PassObserver observer() {
    PassObserver observer;
    observer.beforePass = [this](const PassEvent&) { begin_ = std::chrono::steady_clock::now(); };
    observer.afterPass = [this](const PassEvent& event) {
      const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin_;
      lines_ += fmt::format("{:10.3f} ms  {:<24}  {}\n", time.count(), event.pass, event.method);
      total_ += time.count();
    };
    return observer;
  }
  std::string text() const { return lines_ + fmt::format("{:10.3f} ms  in all\n", total_); }

 private:
  std::chrono::steady_clock::time_point begin_;
  std::string lines_;
  double total_ = 0;
};

// A text of the program before the pass that failed, with the command that runs it again.
PassObserver reproducerWriter(const std::string& file) {
  PassObserver observer;
  observer.onFailure = [file](const PassFailure& failure) {
    const NamedProgramRef method{failure.method, &failure.program};
    const std::string text = programText({&method, 1}, {.mostBytes = std::numeric_limits<size_t>::max()});
    writeTextFile(file, fmt::format("# edgefx opt {} -o OUT.pt2 --passes {}\n{}", file,
                                    fmt::join(failure.passes, ","), text));
  };
  return observer;
}

ExitCode optimise(const OptOptions& options, std::string& out) {
  if (options.listPasses) {
    for (const std::string& name : passNames()) out += name + '\n';
    return ExitCode::Ok;
  }
  for (const auto& [value, name] : {std::pair(&options.input, "IN"), {&options.output, "--output"}}) {
    if (value->empty()) throw UsageError(Diagnostic(fmt::format("{} is required", name)));
  }
  PassManager passes;
  for (const std::string& name : options.passes) passes.add(findPass(name));
  Timer timer;
  if (options.timing) passes.observe(timer.observer());
  if (options.printAfterAll || options.printAfterChange) passes.observe(printer(options.printAfterAll, out));
  if (!options.tree.empty()) passes.observe(treeWriter(options.tree));
  if (!options.reproducer.empty()) passes.observe(reproducerWriter(options.reproducer));

  Archive archive = readArchive(options.input);
  if (!options.model.empty()) archive.program(options.model);
  for (Archive::Model& model : archive.models) {
    if (!options.model.empty() && model.name != options.model) continue;
    if (options.edge) wrapAsEdge(model.program);
    try {
      passes.run(model.program, methodName(archive, model));
    } catch (Error& error) {
      if (!options.reproducer.empty())
        error.addNote(fmt::format("see '{}' for the program before the pass", options.reproducer));
      throw CommandError(ExitCode::Lowering, error.what());
    }
  }
  if (options.timing) out += timer.text();
  if (options.text) {
    writeTextFile(options.output, archiveText(archive, std::numeric_limits<size_t>::max()));
  } else {
    saveArchive(archive, options.output);
  }
  return ExitCode::Ok;
}

}  // namespace

void addOptCommand(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<OptOptions>();
  CLI::App* command = app.add_subcommand("opt", "Run passes over the models of a file");
  command->add_option("IN", options->input, "The file to read, .pt2 or text")->type_name("");
  command->add_option("-o,--output", options->output, "The file to write")->type_name("FILE");
  command->add_option("--passes", options->passes, "Passes in order, with commas between")
      ->delimiter(',')
      ->type_name("NAMES");
  command->add_flag("--list-passes", options->listPasses, "Print the names of all passes");
  command->add_option("--model", options->model, "Only this model; the others stay as they are")
      ->type_name("NAME");
  command->add_flag("--edge", options->edge, kEdgeHelp);
  command->add_flag("--text", options->text, "Write a text as 'edgefx print --text' does, with all bytes");
  command->add_flag("--print-ir-after-all", options->printAfterAll, "Print the graphs after each pass");
  command->add_flag("--print-ir-after-change", options->printAfterChange,
                    "Print the graphs after each pass that changed them");
  command->add_flag("--pass-timing", options->timing, "Print how long each pass took");
  command->add_option("--print-ir-tree", options->tree, "Write programs after each pass into this folder")
      ->type_name("DIR");
  command
      ->add_option("--reproducer", options->reproducer,
                   "If a pass fails, write the program before it here, with the passes from it on")
      ->type_name("FILE");
  command->footer(
      "Programs are checked after every pass. If one fails nothing is written but the reproducer.\n\n"
      "Example:\n  edgefx opt model.pt2 -o small.pt2 --passes no-ops,fuse-views,dead-code --pass-timing");
  command->callback(
      [options, &chosen] { chosen = [options](std::string& out) { return optimise(*options, out); }; });
}

}  // namespace edgefx::tools
