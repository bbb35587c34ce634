#include "serialization/exir_json.h"

#include <edgefx/program/lowered_module.h>
#include <edgefx/program/tensor_table.h>

#include "serialization/exir_lowered.h"
#include "serialization/json_document.h"
#include "serialization/json_reader.h"
#include "serialization/write_program.h"
#include "support/fail.h"

#include <algorithm>

namespace edgefx::detail {
namespace {

// Tags of later schemas.
bool isLaterTag(std::string_view tag) {
  constexpr std::string_view kTags[] = {"as_sym_float",   "as_sym_floats",         "as_complex",
                                        "as_int_lists",   "as_string_to_argument", "as_nested_tensors",
                                        "as_float_lists", "parameter_mutation"};
  return std::find(std::begin(kTags), std::end(kTags), tag) != std::end(kTags);
}

constexpr std::string_view kDelegateCall = "torch.ops.higher_order.executorch_call_delegate";

// Rewrites JSON of schema 8.20, as writeProgram makes it, in the form of ExecuTorch's fork of major 5.
class ExirJson {
 public:
  ExirJson(const ExportedProgram& program, size_t nesting) : program_(program), nesting_(nesting) {}

  std::string write(JsonValue root) {
    json_.beginObject();
    json_.key("graph_module");
    writeModule(member(root, "graph_module"));
    writeTable(root, "opset_version");
    json_.key("range_constraints");
    writeRanges(member(root, "range_constraints"));
    json_.key("schema_version");
    json_.raw(fmt::format(R"({{"major": {}, "minor": {}}})", kExirSchema.major, kExirSchema.minor));
    json_.key("dialect");
    json_.string("");
    json_.key("verifiers");
    json_.beginArray();
    if (program_.dialect == Dialect::Edge) {
      json_.string("EDGE");
    } else {
      for (const std::string& verifier : program_.verifiers) json_.string(verifier);
    }
    json_.endArray();
    json_.endObject();
    return json_.take();
  }

 private:
  static JsonValue member(JsonValue object, std::string_view name) { return object.at_key(name).value(); }
  static std::string_view text(JsonValue value) { return value.get_string().value(); }

  void copyMember(JsonValue object, std::string_view name) {
    json_.key(name);
    write(member(object, name), name);
  }

  // A dict, whose keys are names of the program and no tags.
  void writeTable(JsonValue object, std::string_view name) {
    json_.key(name);
    json_.beginObject();
    for (auto field : member(object, name).get_object()) {
      json_.key(field.key);
      write(field.value, name);
    }
    json_.endObject();
  }

  void writeModule(JsonValue value) {
    json_.beginObject();
    json_.key("graph");
    writeGraph(member(value, "graph"), "");
    copyMember(value, "signature");
    json_.key("module_call_graph");
    json_.beginArray();
    for (JsonValue entry : member(value, "module_call_graph").get_array()) {
      json_.beginObject();
      copyMember(entry, "fqn");
      JsonValue signature = member(entry, "signature");
      if (!signature.is_null()) {
        json_.key("signature");
        json_.beginObject();
        for (std::string_view name : {"inputs", "outputs", "in_spec", "out_spec"})
          copyMember(signature, name);
        json_.endObject();
      }
      json_.endObject();
    }
    json_.endArray();
    json_.endObject();
  }

  void writeRanges(JsonValue value) {
    json_.beginObject();
    for (auto range : value.get_object()) {
      json_.key(range.key);
      json_.beginObject();
      for (std::string_view name : {"min_val", "max_val"}) {
        JsonValue bound = member(range.value, name);
        json_.key(name);
        if (bound.is_null()) {
          json_.raw(name == "min_val" ? "-Infinity" : "Infinity");
        } else {
          json_.integer(bound.get_int64().value());
        }
      }
      json_.endObject();
    }
    json_.endObject();
  }

  void writeGraph(JsonValue value, const std::string& path) {
    json_.beginObject();
    copyMember(value, "inputs");
    copyMember(value, "outputs");
    json_.key("nodes");
    json_.beginArray();
    for (JsonValue node : member(value, "nodes").get_array()) {
      try {
        writeNode(node, path);
      } catch (Error& error) {
        Diagnostic known;
        known.graph = path;
        known.node = text(member(node, "name"));
        error.fillIn(known);
        throw;
      }
    }
    json_.endArray();
    json_.key("tensor_values");
    json_.beginObject();
    for (auto field : member(value, "tensor_values").get_object()) {
      json_.key(field.key);
      writeTensorMeta(field.value);
    }
    json_.endObject();
    writeTable(value, "sym_int_values");
    writeTable(value, "sym_bool_values");
    copyMember(value, "is_single_tensor_return");
    writeTable(value, "custom_obj_values");
    if (member(value, "sym_float_values").get_object().value().size() != 0)
      fail<UnsupportedError>("ExecuTorch's form cannot hold symbolic floats");
    json_.endObject();
  }

  void writeTensorMeta(JsonValue value) {
    json_.beginObject();
    for (auto field : value.get_object()) {
      json_.key(field.key);
      if (field.key == "dtype") {
        writeDtype(field.value);
      } else if (field.key == "storage_offset") {
        json_.raw(R"({"as_int": 0})");
      } else {
        write(field.value, field.key);
      }
    }
    json_.endObject();
  }

  void writeDtype(JsonValue value) {
    const auto dtype = static_cast<Dtype>(value.get_int64().value());
    constexpr Dtype kNewer[] = {Dtype::UInt16, Dtype::Float8E5M2, Dtype::Float8E4M3FN};
    constexpr int64_t kFirst = 14;
    const auto* newer = std::find(std::begin(kNewer), std::end(kNewer), dtype);
    if (newer != std::end(kNewer)) {
      json_.integer(kFirst + (newer - kNewer));
    } else if (static_cast<int64_t>(dtype) < kFirst) {
      json_.integer(static_cast<int64_t>(dtype));
    } else {
      fail<UnsupportedError>("ExecuTorch's form has no number for {}", fxText(dtype));
    }
  }

  void writeNode(JsonValue node, const std::string& path) {
    const bool isCall = text(member(node, "target")) == kDelegateCall;
    json_.beginObject();
    copyMember(node, "name");
    copyMember(node, "target");
    json_.key("inputs");
    json_.beginArray();
    size_t i = 0;
    for (JsonValue input : member(node, "inputs").get_array()) {
      json_.beginObject();
      JsonValue argument = member(input, "arg");
      if (isCall) {
        writeDelegateInput(argument, member(input, "kind"), path, i);
      } else {
        copyMember(input, "name");
        json_.key("arg");
        writeArgument(argument, path);
      }
      json_.endObject();
      ++i;
    }
    json_.endArray();
    json_.key("outputs");
    writeOutputs(member(node, "outputs"), member(node, "is_hop_single_tensor_return"));
    json_.key("metadata");
    json_.raw(pythonJson(member(node, "metadata")));
    json_.endObject();
  }

  // The first argument is the delegate itself, under its name.
  void writeDelegateInput(JsonValue argument, JsonValue kind, const std::string& path, size_t i) {
    constexpr int64_t kKeyword = 2;
    if (kind.get_int64().value() == kKeyword)
      fail<UnsupportedError>("ExecuTorch's form cannot hold a call of a delegate with keyword arguments");
    json_.key("name");
    if (i > 0) {
      json_.string(fmt::format("delegate_arg_{}", i - 1));
      json_.key("arg");
      writeArgument(argument, path);
      return;
    }
    JsonValue held;
    const GraphModule* owner = program_.graphModule().findChild(path);
    const GraphModule::Delegate* delegate = nullptr;
    if (argument.at_key("as_string").get(held) == simdjson::SUCCESS && owner != nullptr)
      delegate = owner->findDelegate(text(held));
    if (delegate == nullptr)
      fail<UnsupportedError>("expected a delegate as first argument of executorch_call_delegate");
    json_.string(delegate->name);
    json_.key("arg");
    json_.beginObject();
    json_.key("as_string");
    json_.string(exirLowered(*delegate->module, nesting_ + 1));
    json_.endObject();
  }

  // A tuple of one tensor is written as a list, since there is no flag to tell it from the tensor.
  void writeOutputs(JsonValue outputs, JsonValue flag) {
    simdjson::dom::array items = outputs.get_array();
    const bool isTuple = !flag.is_null() && !flag.get_bool().value() && items.size() == 1;
    JsonValue tensor;
    if (isTuple && items.at(0).at_key("as_tensor").get(tensor) == simdjson::SUCCESS) {
      json_.beginArray();
      json_.beginObject();
      json_.key("as_tensors");
      json_.beginArray();
      json_.raw(pythonJson(tensor));
      json_.endArray();
      json_.endObject();
      json_.endArray();
      return;
    }
    if (isTuple && (items.at(0).at_key("as_sym_int").error() == simdjson::SUCCESS ||
                    items.at(0).at_key("as_sym_bool").error() == simdjson::SUCCESS)) {
      fail<UnsupportedError>("ExecuTorch's form cannot hold this tuple of a single number");
    }
    write(outputs, "outputs");
  }

  void writeArgument(JsonValue argument, const std::string& path) {
    JsonValue graph;
    if (argument.at_key("as_graph").get(graph) != simdjson::SUCCESS) {
      write(argument, "arg");
      return;
    }
    const std::string_view name = text(member(graph, "name"));
    json_.beginObject();
    json_.key("as_graph");
    json_.beginObject();
    copyMember(graph, "name");
    json_.key("graph");
    writeGraph(member(graph, "graph"), path.empty() ? std::string(name) : fmt::format("{}.{}", path, name));
    json_.endObject();
    json_.endObject();
  }

  // Any value whose place says nothing about its form. `key` is the member it is under.
  void write(JsonValue value, std::string_view key) {
    if (value.is_array()) {
      json_.beginArray();
      for (JsonValue item : value.get_array()) write(item, key);
      json_.endArray();
    } else if (value.is_object()) {
      json_.beginObject();
      for (auto field : value.get_object()) writeField(field.key, field.value);
      json_.endObject();
    } else if (value.is_string() && (key == "as_float" || key == "as_floats")) {
      json_.raw(text(value));  // not finite
    } else {
      json_.raw(pythonJson(value));
    }
  }

  void writeField(std::string_view key, JsonValue value) {
    if (value.is_null()) return;
    if (isLaterTag(key)) fail<UnsupportedError>("ExecuTorch's form has no '{}'", key);
    json_.key(key);
    if (key == "as_none") {
      json_.raw("[]");
    } else if (key == "as_scalar_type") {
      writeDtype(value);
    } else if (key == "expr_str") {
      std::string python;
      SymExpr::parse(text(value)).appendPython(python);
      json_.string(python);
    } else {
      write(value, key);
    }
  }

  const ExportedProgram& program_;
  size_t nesting_;
  JsonWriter json_;
};

}  // namespace

std::string exirJson(const ExportedProgram& program, size_t nesting) {
  std::string text;
  {
    JsonWriter json;
    if (program.unknownMembers.empty()) {
      writeProgram(json, program, EdgeTargets::Exir);
    } else {
      ExportedProgram known = program.clone();
      known.unknownMembers.clear();
      writeProgram(json, known, EdgeTargets::Exir);
    }
    text = json.take();
  }
  JsonDocument document;
  return ExirJson(program, nesting).write(document.parse(text, "program"));
}

}  // namespace edgefx::detail
