#pragma once

#include "tools/tool.h"

#include <CLI/CLI.hpp>

#include <functional>
#include <stdexcept>
#include <string>

namespace edgefx::tools {

// The work of a subcommand: appends its results to `out`. Throws what goes wrong.
using Command = std::function<ExitCode(std::string& out)>;

// Each adds a subcommand to `app`. When that is what the arguments ask for, parsing them puts its work into
// `chosen`.
void addPrintCommand(CLI::App& app, Command& chosen);
void addVerifyCommand(CLI::App& app, Command& chosen);
void addConvertCommand(CLI::App& app, Command& chosen);
void addLowerCommand(CLI::App& app, Command& chosen);

// Ends the tool with that exit code, whatever its message was thrown as.
struct CommandError : std::runtime_error {
  CommandError(ExitCode exitCode, const std::string& message) : std::runtime_error(message), code(exitCode) {}
  ExitCode code;
};

inline constexpr const char* kEdgeHelp =
    "Take the operators as edge operators; needed unless edgefx wrote the file";

}  // namespace edgefx::tools
