#include <edgefx/run/pytree.h>
#include <edgefx/run/saved_calls.h>
#include <edgefx/serialization/torch_save.h>
#include <edgefx/support/error.h>

#include "support/fail.h"

#include <fmt/format.h>

#include <utility>

namespace edgefx {
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

SavedCall readCase(const c10::IValue& dict, const std::string& file) {
  SavedCall read;
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

std::vector<SavedCall> readSavedCalls(const std::string& file) {
  const c10::IValue value = loadTorchSave(file);
  std::vector<SavedCall> cases;
  c10::IValue held;
  if (const c10::IValue* calls = findEntry(value, "calls", held)) {
    for (const c10::IValue& call : itemsOf(*calls, "calls", file)) cases.push_back(readCase(call, file));
  } else if (value.isGenericDict()) {
    cases.push_back(readCase(value, file));
  } else {
    SavedCall only;
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

std::vector<std::string> resultNames(const ExportedProgram& program) {
  std::vector<std::string> names;
  for (const OutputSpec& output : program.signature.outputs) {
    if (isMutation(output.kind) || output.kind == OutputKind::Token) continue;
    names.push_back(output.arg.isConstant() ? fmt::format("result {}", names.size()) : output.arg.name);
  }
  return names;
}

std::vector<VerifyReport::Compared> compareCall(const ExportedProgram& program, const SavedCall& expected,
                                                std::span<const c10::IValue> inputs,
                                                std::span<const c10::IValue> results,
                                                const Interpreter& interpreter, const Tolerance& tolerance) {
  std::vector<VerifyReport::Compared> compared;
  const auto compare = [&](std::string name, const c10::IValue& found, const c10::IValue& value) {
    compared.push_back({std::move(name), 0, compareValues(found, value, tolerance)});
  };
  const auto compareAll = [&](std::span<const c10::IValue> found, const Values& values, const auto& nameOf) {
    if (found.size() != values.size()) {
      Difference difference;
      difference.agrees = false;
      difference.reason = fmt::format("expected {} values, got {}", values.size(), found.size());
      compared.push_back({"results", 0, std::move(difference)});
      return;
    }
    for (size_t i = 0; i < values.size(); ++i) compare(nameOf(i), found[i], values[i]);
  };

  const std::vector<std::string> names = resultNames(program);
  if (expected.outputs) {
    compareAll(results, *expected.outputs,
               [&](size_t i) { return i < names.size() ? names[i] : fmt::format("result {}", i); });
  }
  if (expected.inputsAfter && expected.inputsAfter->size() == inputs.size()) {
    compareAll(inputs, *expected.inputsAfter,
               [](size_t i) { return fmt::format("input {} after the call", i); });
  }
  for (const auto& [name, value] : expected.buffersAfter)
    compare(fmt::format("buffer '{}'", name), interpreter.state(name), value);
  return compared;
}

}  // namespace edgefx
