#include "tools/tool.h"

#include <edgefx/support/error.h>
#include <edgefx/version.h>

#include "tools/command.h"

#include <exception>
#include <sstream>
#include <utility>

namespace edgefx::tools {
namespace {

constexpr const char* kFooter = R"(Results go to stdout, messages to stderr.

Exit codes:
  0  all is well
  1  a model breaks a rule of its form, leaves more undelegated than is allowed, or computes something else
     than is expected
  2  wrong arguments, or no such model, method, partitioner or backend
  3  a file cannot be read, or a file or stdout cannot be written
  4  a partitioner, backend or pass failed, or returned what does not hold together
  5  something unexpected, such as lack of memory
  6  a model cannot run here, or failed while it ran

Example:
  edgefx print model.pt2
'edgefx COMMAND --help' tells more of a command.)";

ToolResult failed(ExitCode code, std::string message) {
  return {code, {}, std::move(message) + '\n'};
}

ToolResult run(const Command& command) {
  ToolResult result;
  try {
    result.exitCode = command(result.out);
    return result;
  } catch (const CommandError& error) {
    result.exitCode = error.code;
    result.err = std::string(error.what()) + '\n';
    return result;
  } catch (const VerificationError& error) {
    return failed(ExitCode::BadModel, error.what());
  } catch (const UsageError& error) {
    return failed(ExitCode::Usage, error.what());
  } catch (const LoweringError& error) {
    return failed(ExitCode::Lowering, error.what());
  } catch (const InternalError& error) {
    return failed(ExitCode::Unexpected, error.what());
  } catch (const Error& error) {
    return failed(ExitCode::File, error.what());
  } catch (const std::exception& error) {
    return failed(ExitCode::Unexpected, std::string("edgefx: unexpected fault: ") + error.what());
  }
}

}  // namespace

ToolResult runTool(const std::vector<std::string>& arguments) {
  CLI::App app(
      "Reads, checks, converts, lowers and runs programs of torch.export (.pt2 files, or texts that edgefx "
      "wrote).",
      "edgefx");
  app.set_version_flag("--version", "edgefx " + std::string(kVersion));
  app.require_subcommand(1);
  app.footer(kFooter);

  Command chosen;
  addPrintCommand(app, chosen);
  addDumpCommand(app, chosen);
  addVerifyCommand(app, chosen);
  addConvertCommand(app, chosen);
  addToEdgeCommand(app, chosen);
  addLowerCommand(app, chosen);
  addOptCommand(app, chosen);
  addReportCommand(app, chosen);
  addRunCommand(app, chosen);
  addCompareCommand(app, chosen);

  try {
    // CLI11 takes them from the back.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    std::ostringstream err;
    const int code = app.exit(error, out, err);
    return {code == 0 ? ExitCode::Ok : ExitCode::Usage, out.str(), err.str()};
  }
  return run(chosen);
}

}  // namespace edgefx::tools
