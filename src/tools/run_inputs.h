#pragma once

#include <edgefx/program/exported_program.h>

#include <ATen/core/ivalue.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace edgefx::tools {

// One call of a program, and what it is known to give.
struct RunCase {
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
// other; or a list or tuple of the results only.
std::vector<RunCase> readExpected(const std::string& file);

// The sample inputs that the program was saved with; generated ones if it has none. Adds to `note` what
// was taken.
std::vector<c10::IValue> sampleInputs(const ExportedProgram& program, uint64_t seed, std::string& note);

}  // namespace edgefx::tools
