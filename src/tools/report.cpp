#include <edgefx/backend/delegation_report.h>
#include <edgefx/serialization/pt2.h>

#include "tools/command.h"
#include "tools/program_files.h"

#include <cstdint>
#include <memory>
#include <optional>

namespace edgefx::tools {
namespace {

struct ReportOptions {
  std::string file;
  bool isJson = false;
  std::optional<int64_t> maxUndelegated;
};

ExitCode report(const ReportOptions& options, std::string& out) {
  const Archive archive = readArchive(options.file);
  DelegationReport report;
  for (const Archive::Model& model : archive.models) {
    report.methods.push_back(reportDelegation(model.program, methodName(archive, model)));
  }
  out += options.isJson ? json(report) + '\n' : text(report);
  const auto undelegated = static_cast<int64_t>(report.nodes().undelegated);
  if (options.maxUndelegated && undelegated > *options.maxUndelegated) {
    throw CommandError(ExitCode::BadModel, options.file + ": " + std::to_string(undelegated) +
                                               " nodes are not delegated, expected at most " +
                                               std::to_string(*options.maxUndelegated));
  }
  return ExitCode::Ok;
}

}  // namespace

void addReportCommand(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand(
      "report", "Tell which operators of a lowered file are delegated, and why others not");
  command->add_option("FILE", options->file, "The .pt2 file")->required()->type_name("");
  command->add_flag("--json", options->isJson, "Print JSON instead of tables");
  command
      ->add_option("--max-undelegated", options->maxUndelegated,
                   "Exit with 1 if more calls than this are not delegated, over all methods")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  command->footer(
      "Counts calls of operators and functions, also those inside of delegates and of the branches of "
      "control "
      "flow, but not getitems and the calls of delegates. Reasons are those that partitioners gave.\n\n"
      "Example:\n  edgefx report npu.pt2 --max-undelegated 12");
  command->callback(
      [options, &chosen] { chosen = [options](std::string& out) { return report(*options, out); }; });
}

}  // namespace edgefx::tools
