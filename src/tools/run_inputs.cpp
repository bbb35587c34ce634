#include "tools/run_inputs.h"

#include <edgefx/run/pytree.h>
#include <edgefx/run/verify_lowering.h>
#include <edgefx/serialization/torch_save.h>
#include <edgefx/support/error.h>

#include "support/fail.h"

#include <utility>

namespace edgefx::tools {
namespace {

using detail::fail;
using Values = std::vector<c10::IValue>;

// Null if it is no dict or has no such key.
const c10::IValue* findEntry(const c10::IValue& dict, std::string_view key, c10::IValue& holder) {
  if (!dict.isGenericDict()) return nullptr;
  const auto entries = dict.toGenericDict();
  const auto found = entries.find(c10::IValue(std::string(key)));
  if (found == entries.end()) return nullptr;
  holder = found->value();
  return &holder;
}

bool isSequence(const c10::IValue& value) {
  return value.isList() || value.isTuple();
}

Values itemsOf(const c10::IValue& value, std::string_view what, const std::string& file) {
  if (value.isList()) return value.toListRef().vec();
  if (value.isTuple()) {
    const auto& items = value.toTupleRef().elements();
    return Values(items.begin(), items.end());
  }
  fail<UsageError>("{}: expected a list or tuple of {}, got a value of type {}", file, what, value.tagKind());
}

std::vector<NamedValue> namedItems(const c10::IValue& dict) {
  std::vector<NamedValue> named;
  for (const auto& entry : dict.toGenericDict()) named.emplace_back(entry.key().toStringRef(), entry.value());
  return named;
}

// What torch.export.save keeps: (args, kwargs).
bool isCall(const c10::IValue& value) {
  if (!value.isTuple() || value.toTupleRef().elements().size() != 2) return false;
  return value.toTupleRef().elements()[0].isTuple() && value.toTupleRef().elements()[1].isGenericDict();
}

Values flattenCall(const ExportedProgram& program, const c10::IValue& call) {
  const auto& parts = call.toTupleRef().elements();
  return flattenInputs(program, itemsOf(parts[0], "arguments", ""), namedItems(parts[1]));
}

RunCase readCase(const c10::IValue& dict, const std::string& file) {
  RunCase read;
  c10::IValue held;
  if (const c10::IValue* inputs = findEntry(dict, "inputs", held))
    read.inputs = itemsOf(*inputs, "inputs", file);
  for (const char* key : {"outputs", "graph_outputs"}) {
    if (const c10::IValue* outputs = findEntry(dict, key, held))
      read.outputs = itemsOf(*outputs, "outputs", file);
  }
  if (const c10::IValue* after = findEntry(dict, "inputs_after", held)) {
    read.inputsAfter = itemsOf(*after, "inputs", file);
  }
  if (const c10::IValue* buffers = findEntry(dict, "buffers_after", held)) {
    if (!buffers->isGenericDict()) fail<UsageError>("{}: expected a dict of buffers", file);
    for (auto& [name, value] : namedItems(*buffers)) read.buffersAfter.emplace(name, value);
  }
  return read;
}

}  // namespace

std::vector<c10::IValue> readInputs(const ExportedProgram& program, const std::string& file) {
  const c10::IValue value = loadTorchSave(file);
  c10::IValue held;
  if (const c10::IValue* inputs = findEntry(value, "inputs", held)) return itemsOf(*inputs, "inputs", file);
  if (isCall(value)) return flattenCall(program, value);
  if (value.isTensor()) return {value};
  return itemsOf(value, "inputs", file);
}

std::vector<RunCase> readExpected(const std::string& file) {
  const c10::IValue value = loadTorchSave(file);
  std::vector<RunCase> cases;
  c10::IValue held;
  if (const c10::IValue* calls = findEntry(value, "calls", held)) {
    for (const c10::IValue& call : itemsOf(*calls, "calls", file)) cases.push_back(readCase(call, file));
  } else if (value.isGenericDict()) {
    cases.push_back(readCase(value, file));
  } else {
    RunCase only;
    only.outputs = isSequence(value) ? itemsOf(value, "outputs", file) : Values{value};
    cases.push_back(std::move(only));
  }
  return cases;
}

std::vector<c10::IValue> sampleInputs(const ExportedProgram& program, uint64_t seed, std::string& note) {
  if (!program.exampleInputs.empty() && seed == 0) {
    const c10::IValue value = parseTorchSave(program.exampleInputs, "sample inputs");
    if (isCall(value)) {
      note = "the sample inputs of the file";
      return flattenCall(program, value);
    }
  }
  note = "generated inputs";
  return generateInputs(program, seed);
}

}  // namespace edgefx::tools
