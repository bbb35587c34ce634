#pragma once

#include <edgefx/program/exported_program.h>
#include <edgefx/run/verify_lowering.h>

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

// Calls of programs in files of torch.save, with what they are known to give.
namespace edgefx {

struct SavedCall {
  std::vector<c10::IValue> inputs;                  // flat
  std::optional<std::vector<c10::IValue>> outputs;  // all leaves of the result
  std::map<std::string, c10::IValue> buffersAfter;  // by name
  // The values of the inputs after the call, those that it writes.
  std::optional<std::vector<c10::IValue>> inputsAfter;
};

// Reads the inputs of a call from a file of torch.save: (args, kwargs), a dict with "inputs", or a list or
// tuple of all leaves. Throws Error naming the file.
std::vector<c10::IValue> readInputs(const ExportedProgram& program, const std::string& file);

// Reads calls with their expected results: a dict with "inputs", "outputs" (or "graph_outputs") and, where
// there are any, "buffers_after", "inputs_after" and "calls", a list of such dicts for calls one after the
// other; or a list or tuple of the results only. Throws Error naming the file.
std::vector<SavedCall> readSavedCalls(const std::string& file);

// The sample inputs that the program was saved with; generated ones if it has none. Adds to `note` what
// was taken.
std::vector<c10::IValue> sampleInputs(const ExportedProgram& program, uint64_t seed, std::string& note);

// Names of the results of a call, in order: those of their nodes, or of constants their positions.
std::vector<std::string> resultNames(const ExportedProgram& program);

// How what a call of the program gave differs from what it is known to give: results, inputs that it writes
// (`inputs` as they are after the call), buffers of the interpreter's state. Another number of results is a
// difference, too. Throws UsageError for buffers that the program does not have.
std::vector<VerifyReport::Compared> compareCall(const ExportedProgram& program, const SavedCall& expected,
                                                std::span<const c10::IValue> inputs,
                                                std::span<const c10::IValue> results,
                                                const Interpreter& interpreter,
                                                const Tolerance& tolerance = {});

}  // namespace edgefx
