#include <edgefx/run/interpreter.h>
#include <edgefx/run/verify_lowering.h>
#include <edgefx/support/error.h>

#include "tools/command.h"

#include <ATen/core/ivalue.h>

#include <utility>

namespace edgefx::tools {

void addToleranceOptions(CLI::App& command, Tolerance& tolerance) {
  command.add_option("--atol", tolerance.absolute, "Largest difference allowed, absolute")
      ->capture_default_str();
  command.add_option("--rtol", tolerance.relative, "and relative to what is expected; the two are added")
      ->capture_default_str();
}

void addSourceOptions(CLI::App& command, RunSource& source, const std::string& otherwise) {
  command
      .add_option("--inputs", source.inputs,
                  "File of torch.save with (args, kwargs), a list of all inputs, or a dict with \"inputs\"; "
                  "otherwise " +
                      otherwise)
      ->type_name("FILE");
  command
      .add_option("--seed", source.seed, "Of generated inputs; 0 takes the sample inputs if there are any")
      ->type_name("N");
  addToleranceOptions(command, source.tolerance);
  command
      .add_option(
          "--plugin", source.plugins,
          "Shared library with operators, and backends that run their delegates; may be given several times")
      ->type_name("LIB")
      ->allow_extra_args(false);
}

Interpreter makeInterpreter(const ExportedProgram& program, RunOptions options) {
  try {
    return Interpreter(program, std::move(options));
  } catch (const UnsupportedError& error) {
    throw CommandError(ExitCode::Run, error.what());
  }
}

std::vector<c10::IValue> runOnce(Interpreter& interpreter, const std::vector<c10::IValue>& inputs) {
  try {
    return interpreter.run(inputs);
  } catch (const ExecutionError& error) {
    throw CommandError(ExitCode::Run, error.what());
  }
}

VerifyReport verifyPrograms(const ExportedProgram& before, const ExportedProgram& after,
                            const std::vector<c10::IValue>& inputs, const VerifyOptions& options) {
  try {
    return verifyLowering(before, after, inputs, options);
  } catch (const ExecutionError& error) {
    throw CommandError(ExitCode::Run, error.what());
  } catch (const UnsupportedError& error) {
    throw CommandError(ExitCode::Run, error.what());
  }
}

}  // namespace edgefx::tools
