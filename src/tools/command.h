#pragma once

#include <edgefx/run/verify_lowering.h>
#include <edgefx/serialization/pt2.h>

#include "tools/tool.h"

#include <CLI/CLI.hpp>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace edgefx::tools {

// The work of a subcommand: appends its results to `out`. Throws what goes wrong.
using Command = std::function<ExitCode(std::string& out)>;

// Each adds a subcommand to `app`. When that is what the arguments ask for, parsing them puts its work into
// `chosen`.
void addPrintCommand(CLI::App& app, Command& chosen);
void addVerifyCommand(CLI::App& app, Command& chosen);
void addConvertCommand(CLI::App& app, Command& chosen);
void addLowerCommand(CLI::App& app, Command& chosen);
void addOptCommand(CLI::App& app, Command& chosen);
void addDumpCommand(CLI::App& app, Command& chosen);
void addReportCommand(CLI::App& app, Command& chosen);
void addRunCommand(CLI::App& app, Command& chosen);
void addCompareCommand(CLI::App& app, Command& chosen);
void addToEdgeCommand(CLI::App& app, Command& chosen);

// Ends the tool with that exit code, whatever its message was thrown as. Results so far are kept.
struct CommandError : std::runtime_error {
  CommandError(ExitCode exitCode, const std::string& message) : std::runtime_error(message), code(exitCode) {}
  ExitCode code;
};

// What a model of the archive is called as a method: its name, but "forward" if it is the only one and has
// the name that torch.export.save gives.
std::string methodName(const Archive& archive, const Archive::Model& model);

// What a run takes from outside.
struct RunSource {
  std::string inputs;  // file, empty for none
  uint64_t seed = 0;
  Tolerance tolerance;
  std::vector<std::string> plugins;
};
// --inputs, --seed, --atol, --rtol and --plugin. `otherwise` says what is taken without --inputs.
void addSourceOptions(CLI::App& command, RunSource& source, const std::string& otherwise);
// --atol and --rtol.
void addToleranceOptions(CLI::App& command, Tolerance& tolerance);

// As the library's, but a program that cannot run, or fails while it does, ends the tool with ExitCode::Run.
Interpreter makeInterpreter(const ExportedProgram& program, RunOptions options);
std::vector<c10::IValue> runOnce(Interpreter& interpreter, const std::vector<c10::IValue>& inputs);
VerifyReport verifyPrograms(const ExportedProgram& before, const ExportedProgram& after,
                            const std::vector<c10::IValue>& inputs, const VerifyOptions& options);

inline constexpr const char* kEdgeHelp =
    "Take the operators as edge operators; needed unless edgefx wrote the file";

}  // namespace edgefx::tools
