#pragma once

#include <edgefx/program/lowered_module.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace c10 {
struct IValue;
}

namespace edgefx {

// What a backend made of one partition.
struct PreprocessResult {
  SharedBytes processedBytes;
  DebugHandleMap debugHandleMap{};
  std::vector<NamedData> namedData{};
  // Names of the inputs that the payload takes, in order, for backends that know them. They must be the user
  // inputs of the program they were given, or every call would pass something else.
  std::optional<std::vector<std::string>> inputs{};
};

// A backend that compiles parts of programs into delegates.
class BackendDetails {
 public:
  virtual ~BackendDetails() = default;

  // The backend id that delegation specs name. Must not change.
  virtual std::string_view name() const = 0;

  // Compiles one partition. The delegate keeps `program` as it is: clone() it to run passes over it. Its
  // tensors share their storage with the caller's. What it throws reaches the caller, with backend, method
  // and delegate attached.
  virtual PreprocessResult preprocess(const ExportedProgram& program,
                                      std::span<const CompileSpec> compileSpecs) const = 0;

  struct Partition {
    const ExportedProgram& program;
    std::span<const CompileSpec> compileSpecs;
  };
  struct MethodPartitions {
    std::string method;
    std::vector<Partition> partitions;  // in the order of the graph, nested graphs after their owner's
  };
  // Compiles all partitions of all methods of one manager that go to this backend, for backends that share
  // something among them. Returns a result for each, in the same arrangement. Calls preprocess for each
  // unless overridden.
  virtual std::vector<std::vector<PreprocessResult>> preprocessMethods(
      std::span<const MethodPartitions> methods) const;

  // Runs a delegate that this backend compiled on the arguments of its call, for checks on the host (see
  // run/interpreter.h): the results in the order of the delegate's user outputs. Nothing, as unless
  // overridden, has the delegate's own program run instead. A backend whose delegates hold state keeps it
  // itself.
  virtual std::optional<std::vector<c10::IValue>> run(const LoweredModule& module,
                                                      std::span<const c10::IValue> arguments) const;
};

}  // namespace edgefx
