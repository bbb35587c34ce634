#pragma once

#include <edgefx/program/exported_program.h>
#include <edgefx/support/shared_bytes.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace edgefx {

// A setting for a backend: what the key and the bytes mean is between the caller and the backend.
struct CompileSpec {
  std::string key;
  std::string value;  // bytes

  bool operator==(const CompileSpec&) const = default;
};

// A blob that a backend wants stored beside its payload, found by key at run time.
struct NamedData {
  std::string key;
  SharedBytes bytes;
  int64_t alignment = 1;      // in bytes, at least 1
  std::string externalTag{};  // the file it belongs in; empty for the program's own
};

// From a backend's own identifiers to the debug handles of the nodes behind them, in order.
using DebugHandleMap = std::vector<std::pair<std::variant<int64_t, std::string>, std::vector<int64_t>>>;

// A delegate: a part of a program that a backend has compiled. A child of a graph module, named by a get_attr
// node that is the first argument of a call of executorch_call_delegate. Immutable once it hangs there, so
// that copies of the program share it.
struct LoweredModule {
  std::string backendId;
  SharedBytes processedBytes;  // the payload, which only the backend understands
  std::vector<CompileSpec> compileSpecs;
  ExportedProgram program;  // what was compiled; its user inputs are the call's arguments, in order
  DebugHandleMap debugHandleMap;
  std::vector<NamedData> namedData;
};

using LoweredModuleRef = std::shared_ptr<const LoweredModule>;

// Hangs a delegate into `owner` under `name`. It has an effect if its program writes state or holds an impure
// node. Throws UsageError as GraphModule::addDelegate does. O(nodes of the program).
void addLoweredModule(GraphModule& owner, std::string_view name, LoweredModuleRef module);
// The same for who knows whether the program holds an impure node. O(outputs).
void addLoweredModule(GraphModule& owner, std::string_view name, LoweredModuleRef module, bool isImpure);

// The delegate that a call of executorch_call_delegate runs, or that a get_attr node names, in the graph of
// `owner`; null for every other node. O(log delegates).
const LoweredModule* findLoweredModule(const GraphModule& owner, const Node& node);

// Whether the node calls a delegate.
bool callsDelegate(const Node& node);

}  // namespace edgefx
