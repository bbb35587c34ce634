#include "serialization/write_program.h"

#include <edgefx/program/tensor_table.h>
#include <edgefx/version.h>

#include "serialization/write_graph.h"
#include "support/fail.h"

namespace edgefx::detail {
namespace {

constexpr SchemaVersion kWrittenSchema{8, 20};

void writeStrings(JsonWriter& json, const std::vector<std::string>& strings) {
  json.beginArray();
  for (const std::string& text : strings) json.string(text);
  json.endArray();
}

void writeOptional(JsonWriter& json, const std::optional<int64_t>& number) {
  if (number) {
    json.integer(*number);
  } else {
    json.null();
  }
}

class ProgramWriter {
 public:
  ProgramWriter(JsonWriter& json, const ExportedProgram& program, EdgeTargets edgeTargets)
      : json_(json),
        program_(program),
        model_(json, program, edgeTargets),
        graph_(model_, program.graphModule()) {}

  void write();

 private:
  void writeSignature();
  void writeInputSpec(const InputSpec& spec, size_t index);
  std::string_view constantName(const InputSpec& spec, size_t index);
  void writeOutputSpec(const OutputSpec& spec);
  void writeSpecArgument(const SpecArg& arg);
  void writeSpecName(const SpecArg& arg);
  template <typename Spec>
  void writeTarget(std::string_view key, const Spec& spec);

  void writeModuleCall(const ModuleCallEntry& entry);
  void writeNamedTuples();
  void writeRanges();
  void writeVersions();

  JsonWriter& json_;
  const ExportedProgram& program_;
  ModelWriter model_;
  GraphWriter graph_;
  std::vector<const Node*> placeholders_;  // filled when needed
};

void ProgramWriter::write() {
  json_.beginObject();
  json_.key("graph_module");
  json_.beginObject();
  json_.key("graph");
  graph_.write();
  json_.key("signature");
  writeSignature();
  json_.key("module_call_graph");
  json_.beginArray();
  for (const ModuleCallEntry& entry : program_.moduleCallGraph) writeModuleCall(entry);
  json_.endArray();
  json_.key("metadata");
  json_.beginObject();
  for (const auto& [key, text] : program_.graphModule().metadata) {
    json_.key(key);
    json_.string(text);
  }
  json_.endObject();
  writeNamedTuples();
  if (model_.hasUnknown) model_.appendUnknown("graph_module");
  json_.endObject();
  json_.key("opset_version");
  json_.beginObject();
  for (const auto& [name, version] : program_.opsetVersion) {
    json_.key(name);
    json_.integer(version);
  }
  json_.endObject();
  writeRanges();
  writeVersions();
  json_.key("guards_code");
  writeStrings(json_, program_.guardsCode);
  if (model_.hasUnknown) model_.appendUnknown("");
  json_.endObject();
}

void ProgramWriter::writeSignature() {
  json_.beginObject();
  json_.key("input_specs");
  json_.beginArray();
  size_t index = 0;
  auto writeUnion = [&](std::string_view path, auto&& write) {
    json_.beginObject();
    write();
    if (model_.hasUnknown) model_.appendUnknown(fmt::format("graph_module.signature.{}[{}]", path, index));
    json_.endObject();
    json_.endObject();
    ++index;
  };
  for (const InputSpec& spec : program_.signature.inputs) {
    writeUnion("input_specs", [&] { writeInputSpec(spec, index); });
  }
  json_.endArray();
  json_.key("output_specs");
  json_.beginArray();
  index = 0;
  for (const OutputSpec& spec : program_.signature.outputs) {
    writeUnion("output_specs", [&] { writeOutputSpec(spec); });
  }
  json_.endArray();
  if (model_.hasUnknown) model_.appendUnknown("graph_module.signature");
  json_.endObject();
}

// {"name": "x"}
void ProgramWriter::writeSpecName(const SpecArg& arg) {
  if (arg.isConstant()) fail<UnsupportedError>("expected a node in the signature, found a constant");
  writeName(json_, graph_.names().nameOf(arg.name));
}

void ProgramWriter::writeSpecArgument(const SpecArg& arg) {
  std::string_view name = graph_.names().nameOf(arg.name);
  switch (arg.kind) {
    case SpecArgKind::Tensor:
    case SpecArgKind::Token:
      return writeNamed(json_, "as_tensor", name);
    case SpecArgKind::SymInt:
      return writeSymbolicName(json_, "as_sym_int", name);
    case SpecArgKind::SymFloat:
      return writeSymbolicName(json_, "as_sym_float", name);
    case SpecArgKind::SymBool:
      return writeSymbolicName(json_, "as_sym_bool", name);
    case SpecArgKind::CustomObject:
      json_.beginObject();
      json_.key("as_custom_obj");
      writeCustomObject(json_, name, arg.className);
      json_.endObject();
      return;
    case SpecArgKind::Constant:
      return writeConstant(json_, arg.value);
  }
}

template <typename Spec>
void ProgramWriter::writeTarget(std::string_view key, const Spec& spec) {
  if (!spec.target)
    fail<UnsupportedError>("the {} spec of '{}' has no target", name(spec.kind), spec.arg.name);
  json_.key(key);
  json_.string(*spec.target);
}

// Files that give constant inputs no name leave them to their placeholders.
std::string_view ProgramWriter::constantName(const InputSpec& spec, size_t index) {
  if (!spec.arg.name.empty()) return spec.arg.name;
  if (placeholders_.empty()) placeholders_ = program_.graph().placeholders();
  return index < placeholders_.size() ? placeholders_[index]->name() : std::string_view();
}

// Opens the struct inside the union and leaves it open.
void ProgramWriter::writeInputSpec(const InputSpec& spec, size_t index) {
  auto open = [&](std::string_view tag) {
    json_.key(tag);
    json_.beginObject();
  };
  auto openNamed = [&](std::string_view tag) {
    open(tag);
    json_.key("arg");
    writeSpecName(spec.arg);
  };
  switch (spec.kind) {
    case InputKind::UserInput:
      if (spec.arg.isConstant()) {
        open("constant_input");
        json_.key("name");
        json_.string(constantName(spec, index));
        json_.key("value");
        writeConstant(json_, spec.arg.value);
      } else {
        open("user_input");
        json_.key("arg");
        writeSpecArgument(spec.arg);
      }
      break;
    case InputKind::Parameter:
      openNamed("parameter");
      writeTarget("parameter_name", spec);
      break;
    case InputKind::Buffer:
      openNamed("buffer");
      writeTarget("buffer_name", spec);
      json_.key("persistent");
      json_.boolean(spec.persistent ? *spec.persistent : program_.stateDict().contains(*spec.target));
      break;
    case InputKind::ConstantTensor:
      openNamed("tensor_constant");
      writeTarget("tensor_constant_name", spec);
      break;
    case InputKind::CustomObject:
      open("custom_obj");
      json_.key("arg");
      writeCustomObject(json_, spec.arg.name, spec.arg.className);
      writeTarget("custom_obj_name", spec);
      break;
    case InputKind::Token:
      openNamed("token");
      break;
  }
}

// Opens the struct inside the union and leaves it open.
void ProgramWriter::writeOutputSpec(const OutputSpec& spec) {
  auto open = [&](std::string_view tag) {
    json_.key(tag);
    json_.beginObject();
    json_.key("arg");
    if (spec.kind == OutputKind::UserOutput) {
      writeSpecArgument(spec.arg);
    } else {
      writeSpecName(spec.arg);
    }
  };
  switch (spec.kind) {
    case OutputKind::UserOutput:
      return open("user_output");
    case OutputKind::LossOutput:
      return open("loss_output");
    case OutputKind::BufferMutation:
      open("buffer_mutation");
      return writeTarget("buffer_name", spec);
    case OutputKind::ParameterMutation:
      open("parameter_mutation");
      return writeTarget("parameter_name", spec);
    case OutputKind::GradientToParameter:
      open("gradient_to_parameter");
      return writeTarget("parameter_name", spec);
    case OutputKind::GradientToUserInput:
      open("gradient_to_user_input");
      return writeTarget("user_input_name", spec);
    case OutputKind::UserInputMutation:
      open("user_input_mutation");
      return writeTarget("user_input_name", spec);
    case OutputKind::Token:
      return open("token");
  }
}

void ProgramWriter::writeModuleCall(const ModuleCallEntry& entry) {
  json_.beginObject();
  json_.key("fqn");
  json_.string(entry.fqn);
  json_.key("signature");
  auto path = [&](std::string_view member) {
    return fmt::format("graph_module.module_call_graph[{}]{}", entry.fqn, member);
  };
  if (entry.signature) {
    const ModuleCallSignature& signature = *entry.signature;
    json_.beginObject();
    json_.key("inputs");
    json_.beginArray();
    for (const SpecArg& arg : signature.inputs) writeSpecArgument(arg);
    json_.endArray();
    json_.key("outputs");
    json_.beginArray();
    for (const SpecArg& arg : signature.outputs) writeSpecArgument(arg);
    json_.endArray();
    json_.key("in_spec");
    json_.string(signature.inSpec);
    json_.key("out_spec");
    json_.string(signature.outSpec);
    json_.key("forward_arg_names");
    if (signature.forwardArgNames) {
      writeStrings(json_, *signature.forwardArgNames);
    } else {
      json_.null();
    }
    if (model_.hasUnknown) model_.appendUnknown(path(".signature"));
    json_.endObject();
  } else {
    json_.null();
  }
  if (model_.hasUnknown) model_.appendUnknown(path(""));
  json_.endObject();
}

void ProgramWriter::writeNamedTuples() {
  json_.key("treespec_namedtuple_fields");
  json_.beginObject();
  for (const auto& [name, fields] : program_.namedTupleFields) {
    json_.key(name);
    json_.beginObject();
    json_.key("field_names");
    writeStrings(json_, fields);
    json_.endObject();
  }
  json_.endObject();
}

void ProgramWriter::writeRanges() {
  json_.key("range_constraints");
  json_.beginObject();
  for (const RangeConstraint& range : program_.rangeConstraints) {
    json_.key(range.symbol);
    json_.beginObject();
    json_.key("min_val");
    writeOptional(json_, range.min);
    json_.key("max_val");
    writeOptional(json_, range.max);
    if (model_.hasUnknown) model_.appendUnknown(fmt::format("range_constraints[{}]", range.symbol));
    json_.endObject();
  }
  json_.endObject();
}

void ProgramWriter::writeVersions() {
  json_.key("schema_version");
  json_.beginObject();
  json_.key("major");
  json_.integer(kWrittenSchema.major);
  json_.key("minor");
  json_.integer(kWrittenSchema.minor);
  if (model_.hasUnknown) model_.appendUnknown("schema_version");
  json_.endObject();
  json_.key("verifiers");
  // Python knows no verifier of edge programs; as ATen they pass.
  writeStrings(json_,
               program_.dialect == Dialect::Edge ? std::vector<std::string>{"ATEN"} : program_.verifiers);
  json_.key("torch_version");
  json_.string(program_.torchVersion.empty() ? "edgefx " + std::string(kVersion) : program_.torchVersion);
}

}  // namespace

void writeProgram(JsonWriter& json, const ExportedProgram& program, EdgeTargets edgeTargets) {
  ProgramWriter(json, program, edgeTargets).write();
}

}  // namespace edgefx::detail
