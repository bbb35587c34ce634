#include "serialization/read_signature.h"

#include "serialization/byte_text.h"
#include "serialization/tree_spec.h"
#include "support/fail.h"

#include <array>

namespace edgefx::detail {
namespace {

constexpr std::array<std::string_view, 2> kSignatureMembers = {"input_specs", "output_specs"};
constexpr std::array<std::string_view, 2> kConstantInputMembers = {"name", "value"};
constexpr std::array<std::string_view, 1> kNameMembers = {"name"};
constexpr std::array<std::string_view, 2> kCallEntryMembers = {"fqn", "signature"};
constexpr std::array<std::string_view, 5> kCallSignatureMembers = {"inputs", "outputs", "in_spec", "out_spec",
                                                                   "forward_arg_names"};
constexpr JsonStruct kSignature{"GraphSignature", kSignatureMembers};
constexpr JsonStruct kConstantInput{"InputToConstantInputSpec", kConstantInputMembers};
constexpr JsonStruct kCallEntry{"ModuleCallEntry", kCallEntryMembers};
constexpr JsonStruct kCallSignature{"ModuleCallSignature", kCallSignatureMembers};

struct OutputTag {
  std::string_view tag;
  OutputKind kind;
  std::string_view targetMember;
};
constexpr std::array<OutputTag, 8> kOutputTags = {{
    {"user_output", OutputKind::UserOutput, ""},
    {"loss_output", OutputKind::LossOutput, ""},
    {"buffer_mutation", OutputKind::BufferMutation, "buffer_name"},
    {"parameter_mutation", OutputKind::ParameterMutation, "parameter_name"},
    {"gradient_to_parameter", OutputKind::GradientToParameter, "parameter_name"},
    {"gradient_to_user_input", OutputKind::GradientToUserInput, "user_input_name"},
    {"user_input_mutation", OutputKind::UserInputMutation, "user_input_name"},
    {"token", OutputKind::Token, ""},
}};

}  // namespace

struct SignatureReader::SpecMembers {
  std::optional<JsonValue> arg;
  std::optional<std::string> target;
  std::optional<bool> persistent;
};

GraphSignature SignatureReader::read(JsonValue value) {
  json_.place.section = "graph_module.signature";
  std::array<std::optional<JsonValue>, 2> members;
  uint32_t seen = json_.members(
      value, kSignature, [&](size_t i, JsonValue member) { members[i] = member; },
      [&](std::string_view key, JsonValue member) {
        graphs_.keepUnknown("graph_module.signature", key, member);
      });
  json_.require(kSignature, seen, 2);

  GraphSignature signature;
  constantNames_.clear();
  json_.place.section = "graph_module.signature.input_specs";
  json_.place.index = 0;
  for (JsonValue item : json_.array(*members[0], "input_specs")) {
    constantNames_.emplace_back();
    signature.inputs.push_back(readInput(item, signature.inputs.size()));
    ++json_.place.index;
  }
  json_.place.section = "graph_module.signature.output_specs";
  json_.place.index = 0;
  for (JsonValue item : json_.array(*members[1], "output_specs")) {
    signature.outputs.push_back(readOutput(item, signature.outputs.size()));
    ++json_.place.index;
  }
  json_.place.index = -1;
  return signature;
}

SignatureReader::SpecMembers SignatureReader::readSpec(JsonValue value, std::string_view structName,
                                                       std::string_view targetMember,
                                                       const std::string& path) {
  std::array<std::string_view, 3> names = {"arg", targetMember, "persistent"};
  bool isBuffer = structName == "buffer";
  JsonStruct schema{structName, std::span(names).first(targetMember.empty() ? 1 : isBuffer ? 3 : 2)};
  SpecMembers members;
  uint32_t seen = json_.members(
      value, schema,
      [&](size_t i, JsonValue member) {
        if (i == 0) {
          members.arg = member;
        } else if (i == 1) {
          members.target = json_.string(member, targetMember);
        } else {
          members.persistent = json_.boolean(member, "persistent");
        }
      },
      [&](std::string_view key, JsonValue member) { graphs_.keepUnknown(path, key, member); });
  json_.require(schema, seen, schema.members.size());
  return members;
}

SpecArg SignatureReader::namedArg(JsonValue value, SpecArgKind kind, std::string_view structName) {
  JsonStruct schema{structName, kNameMembers};
  SpecArg arg;
  arg.kind = kind;
  uint32_t seen = json_.members(
      value, schema, [&](size_t, JsonValue member) { arg.name = json_.string(member, "name"); }, kIgnore);
  json_.require(schema, seen, 1);
  return arg;
}

ConstantScalar SignatureReader::readConstant(JsonValue value) {
  auto [tag, held] = json_.tagged(value, "ConstantValue");
  if (tag == "as_none") return {};
  if (tag == "as_int") return json_.integer(held, tag);
  if (tag == "as_float") return json_.number(held, tag);
  if (tag == "as_bool") return json_.boolean(held, tag);
  if (tag == "as_string") return std::string(json_.string(held, tag));
  json_.fail(fmt::format("unknown tag '{}' of ConstantValue", printable(tag)));
}

SpecArg SignatureReader::readArgument(JsonValue value) {
  auto [tag, held] = json_.tagged(value, "Argument");
  if (tag == "as_tensor") return namedArg(held, SpecArgKind::Tensor, "TensorArgument");
  if (tag == "as_custom_obj") {
    SpecArg arg;
    arg.kind = SpecArgKind::CustomObject;
    auto [name, className] = json_.customObj(held);
    arg.name = name;
    arg.className = className;
    return arg;
  }
  SpecArgKind symbolic = tag == "as_sym_int"     ? SpecArgKind::SymInt
                         : tag == "as_sym_float" ? SpecArgKind::SymFloat
                         : tag == "as_sym_bool"  ? SpecArgKind::SymBool
                                                 : SpecArgKind::Constant;
  SpecArg arg;
  arg.kind = symbolic;
  if (symbolic == SpecArgKind::Constant) {
    arg.value = readConstant(value);
    return arg;
  }
  auto [kind, name] = json_.tagged(held, tag);
  if (kind == "as_name") {
    arg.name = json_.string(name, kind);
    return arg;
  }
  // A plain number where a symbolic one may stand is a constant.
  arg.kind = SpecArgKind::Constant;
  arg.value = readConstant(held);
  return arg;
}

InputSpec SignatureReader::readInput(JsonValue value, size_t index) {
  auto [tag, held] = json_.tagged(value, "InputSpec");
  std::string path = fmt::format("graph_module.signature.input_specs[{}]", index);
  InputSpec spec;
  auto stored = [&](InputKind kind, std::string_view targetMember) {
    SpecMembers members = readSpec(held, tag, targetMember, path);
    spec.kind = kind;
    spec.target = std::move(members.target);
    spec.persistent = members.persistent;
    return *members.arg;
  };
  if (tag == "user_input") {
    spec.arg = readArgument(*readSpec(held, tag, "", path).arg);
    if (spec.arg.isConstant()) constantNames_.back() = spec.arg.name = fmt::format("arg{}", index);
  } else if (tag == "parameter") {
    spec.arg =
        namedArg(stored(InputKind::Parameter, "parameter_name"), SpecArgKind::Tensor, "TensorArgument");
  } else if (tag == "buffer") {
    spec.arg = namedArg(stored(InputKind::Buffer, "buffer_name"), SpecArgKind::Tensor, "TensorArgument");
  } else if (tag == "tensor_constant") {
    spec.arg = namedArg(stored(InputKind::ConstantTensor, "tensor_constant_name"), SpecArgKind::Tensor,
                        "TensorArgument");
  } else if (tag == "custom_obj") {
    JsonValue arg = stored(InputKind::CustomObject, "custom_obj_name");
    spec.arg.kind = SpecArgKind::CustomObject;
    auto [name, className] = json_.customObj(arg);
    spec.arg.name = name;
    spec.arg.className = className;
  } else if (tag == "token") {
    spec.kind = InputKind::Token;
    spec.arg = namedArg(*readSpec(held, tag, "", path).arg, SpecArgKind::Token, "TokenArgument");
  } else if (tag == "constant_input") {
    spec.arg.kind = SpecArgKind::Constant;
    uint32_t seen = json_.members(
        held, kConstantInput,
        [&](size_t i, JsonValue member) {
          if (i == 0) {
            spec.arg.name = json_.string(member, "name");
          } else {
            spec.arg.value = readConstant(member);
          }
        },
        [&](std::string_view key, JsonValue member) { graphs_.keepUnknown(path, key, member); });
    json_.require(kConstantInput, seen, 2);
    // The placeholder is named after its position if the file gives no name.
    if (spec.arg.name.empty()) spec.arg.name = fmt::format("arg{}", index);
    constantNames_.back() = spec.arg.name;
  } else {
    json_.fail(fmt::format("unknown tag '{}' of InputSpec", printable(tag)));
  }
  return spec;
}

OutputSpec SignatureReader::readOutput(JsonValue value, size_t index) {
  auto [tag, held] = json_.tagged(value, "OutputSpec");
  for (const OutputTag& known : kOutputTags) {
    if (known.tag != tag) continue;
    OutputSpec spec;
    spec.kind = known.kind;
    SpecMembers members = readSpec(held, tag, known.targetMember,
                                   fmt::format("graph_module.signature.output_specs[{}]", index));
    spec.target = std::move(members.target);
    if (spec.kind == OutputKind::UserOutput) {
      spec.arg = readArgument(*members.arg);
    } else if (spec.kind == OutputKind::Token) {
      spec.arg = namedArg(*members.arg, SpecArgKind::Token, "TokenArgument");
    } else {
      spec.arg = namedArg(*members.arg, SpecArgKind::Tensor, "TensorArgument");
    }
    return spec;
  }
  json_.fail(fmt::format("unknown tag '{}' of OutputSpec", printable(tag)));
}

ModuleCallSignature SignatureReader::readCallSignature(JsonValue value, const std::string& fqn) {
  ModuleCallSignature signature;
  auto arguments = [&](JsonValue list, std::string_view what) {
    std::vector<SpecArg> args;
    for (JsonValue item : json_.array(list, what)) args.push_back(readArgument(item));
    return args;
  };
  auto treeSpec = [&](JsonValue member, std::string_view what) {
    std::string text(json_.string(member, what));
    try {
      checkTreeSpec(text);
    } catch (const ParseError& error) {
      json_.fail(fmt::format("{}: {}", what, error.diagnostics().front().message));
    }
    return text;
  };
  uint32_t seen = json_.members(
      value, kCallSignature,
      [&](size_t i, JsonValue member) {
        switch (i) {
          case 0:
            signature.inputs = arguments(member, "inputs");
            break;
          case 1:
            signature.outputs = arguments(member, "outputs");
            break;
          case 2:
            signature.inSpec = treeSpec(member, "in_spec");
            break;
          case 3:
            signature.outSpec = treeSpec(member, "out_spec");
            break;
          default:
            if (member.is_null()) break;
            signature.forwardArgNames.emplace();
            for (JsonValue item : json_.array(member, "forward_arg_names")) {
              signature.forwardArgNames->emplace_back(json_.string(item, "forward_arg_names item"));
            }
        }
      },
      [&](std::string_view key, JsonValue member) {
        graphs_.keepUnknown(fmt::format("graph_module.module_call_graph[{}].signature", fqn), key, member);
      });
  json_.require(kCallSignature, seen, 4);
  return signature;
}

std::vector<ModuleCallEntry> SignatureReader::readCallGraph(JsonValue value) {
  std::vector<ModuleCallEntry> entries;
  json_.place.index = 0;
  for (JsonValue item : json_.array(value, "module_call_graph")) {
    ModuleCallEntry entry;
    std::optional<JsonValue> signature;
    std::vector<std::pair<std::string_view, JsonValue>> unknown;
    uint32_t seen = json_.members(
        item, kCallEntry,
        [&](size_t i, JsonValue member) {
          if (i == 0) {
            entry.fqn = json_.string(member, "fqn");
          } else if (!member.is_null()) {
            signature = member;
          }
        },
        [&](std::string_view key, JsonValue member) { unknown.emplace_back(key, member); });
    json_.require(kCallEntry, seen, 1);
    json_.place.item = entry.fqn;
    if (signature) entry.signature = readCallSignature(*signature, entry.fqn);
    for (auto& [key, member] : unknown) {
      graphs_.keepUnknown(fmt::format("graph_module.module_call_graph[{}]", entry.fqn), key, member);
    }
    json_.place.item = {};
    entries.push_back(std::move(entry));
    ++json_.place.index;
  }
  json_.place.index = -1;
  return entries;
}

}  // namespace edgefx::detail
