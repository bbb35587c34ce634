#include "serialization/byte_text.h"
#include "serialization/json_upgrader.h"
#include "support/fail.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace edgefx::detail {
namespace {

bool isConstantTag(std::string_view tag) {
  constexpr std::array<std::string_view, 5> kTags = {"as_none", "as_int", "as_float", "as_bool", "as_string"};
  return std::find(kTags.begin(), kTags.end(), tag) != kTags.end();
}

}  // namespace

// The signature of major 1, which says what an input or output is by its name.
struct JsonUpgrader::OldSignature {
  using Names = std::map<std::string_view, std::string_view>;
  Names parameters;          // by input
  Names buffers;             // by input
  Names mutations;           // buffer, by output
  Names parameterGradients;  // parameter, by output
  Names inputGradients;      // input, by output
  std::set<std::string_view> userInputs;
  std::vector<std::string_view> userOutputs;
  std::string_view loss;
};

void JsonUpgrader::signature(JsonValue value) {
  static constexpr Member kMembers[] = {
      {"input_specs", &JsonUpgrader::listOf<&JsonUpgrader::inputSpec>},
      {"output_specs", &JsonUpgrader::listOf<&JsonUpgrader::outputSpec>},
  };
  simdjson::dom::object fields = asObject(value);
  if (major_ == 1 && !find(fields, "input_specs")) {
    oldSignature(fields);
  } else {
    structOf(value, {"GraphSignature", kMembers});
  }
}

void JsonUpgrader::inputSpec(JsonValue value) {
  static constexpr Member kTags[] = {
      {"user_input", &JsonUpgrader::argumentSpec},
      {"buffer", &JsonUpgrader::bufferSpec},
      {"custom_obj", &JsonUpgrader::customObjectSpec},
      {"constant_input", &JsonUpgrader::constantInputSpec},
  };
  Tagged picked = pick(value, "InputSpec");
  if (picked.tag == "user_input") {
    Inside tag(*this, picked.tag);
    simdjson::dom::object fields = asObject(picked.value);
    JsonValue argument = member(fields, "arg");
    Inside here(*this, "arg");
    if (Tagged held = pick(argument, "Argument"); isConstantTag(held.tag)) {
      constantInput(held);
      return;
    }
  }
  taggedAs(picked, kTags);
}

void JsonUpgrader::outputSpec(JsonValue value) {
  static constexpr Member kTags[] = {{"user_output", &JsonUpgrader::argumentSpec}};
  unionOf(value, {"OutputSpec", kTags});
}

void JsonUpgrader::argumentSpec(JsonValue value) {
  static constexpr Member kMembers[] = {{"arg", &JsonUpgrader::argument}};
  structOf(value, {"the spec", kMembers});
}

void JsonUpgrader::customObjectSpec(JsonValue value) {
  static constexpr Member kMembers[] = {{"arg", &JsonUpgrader::customObject}};
  structOf(value, {"the spec", kMembers});
}

void JsonUpgrader::bufferSpec(JsonValue value) {
  static constexpr Member kMembers[] = {{"persistent", nullptr}};
  simdjson::dom::object fields = asObject(value);
  writer_.beginObject();
  structMembers(fields, {"the spec", kMembers});
  if (auto persistent = find(fields, "persistent")) {
    copyMember("persistent", *persistent);
  } else {
    persistence(stringMember(fields, "buffer_name"));
  }
  writer_.endObject();
}

void JsonUpgrader::persistence(std::string_view bufferName) {
  writer_.key("persistent");
  writer_.boolean(stateDict_.contains(bufferName));
}

void JsonUpgrader::constantInputSpec(JsonValue value) {
  static constexpr Member kMembers[] = {{"value", &JsonUpgrader::constantValue}};
  structOf(value, {"the spec", kMembers});
}

void JsonUpgrader::constantValue(JsonValue value) {
  static constexpr Member kTags[] = {{"as_none", &JsonUpgrader::none}};
  unionOf(value, {"ConstantValue", kTags});
}

// Without a name, which makes the reader name the placeholder by its position.
void JsonUpgrader::constantInput(const Tagged& constant) {
  static constexpr Member kTags[] = {{"as_none", &JsonUpgrader::none}};
  writer_.beginObject();
  writer_.key("constant_input");
  writer_.beginObject();
  writer_.key("name");
  writer_.string("");
  writer_.key("value");
  taggedAs(constant, kTags);
  writer_.endObject();
  writer_.endObject();
}

// The name of the value that an argument is; none for constants.
std::optional<std::string_view> JsonUpgrader::argumentName(const Tagged& argument) {
  if (argument.tag == "as_tensor" || argument.tag == "as_custom_obj") {
    return stringMember(asObject(argument.value), "name");
  }
  if (!argument.tag.starts_with("as_sym_")) return std::nullopt;
  Tagged held = pick(argument.value, argument.tag);
  if (held.tag != "as_name") return std::nullopt;
  return asString(held.value);
}

JsonUpgrader::OldSignature JsonUpgrader::readOldSignature(simdjson::dom::object fields) {
  OldSignature old;
  auto names = [&](simdjson::dom::object from, std::string_view name, OldSignature::Names& into) {
    std::optional<JsonValue> value = find(from, name);
    if (!value) return;
    Inside list(*this, name);
    for (auto field : asObject(*value)) {
      Inside here(*this, field.key);
      if (!into.emplace(field.key, asString(field.value)).second) fail("the name occurs twice");
    }
  };
  auto each = [&](std::string_view name, auto&& visit) {
    JsonValue value = member(fields, name);
    Inside list(*this, name);
    size_t i = 0;
    for (JsonValue item : asArray(value)) {
      Inside here(*this, i++);
      visit(asString(item));
    }
  };
  names(fields, "inputs_to_parameters", old.parameters);
  names(fields, "inputs_to_buffers", old.buffers);
  names(fields, "buffers_to_mutate", old.mutations);
  each("user_inputs", [&](std::string_view name) {
    if (!old.userInputs.insert(name).second) fail(fmt::format("input '{}' occurs twice", printable(name)));
  });
  each("user_outputs", [&](std::string_view name) { old.userOutputs.push_back(name); });
  if (auto backward = find(fields, "backward_signature")) {
    Inside here(*this, "backward_signature");
    simdjson::dom::object parts = asObject(*backward);
    names(parts, "gradients_to_parameters", old.parameterGradients);
    names(parts, "gradients_to_user_inputs", old.inputGradients);
    if (auto loss = find(parts, "loss_output")) old.loss = asString(*loss);
  }
  return old;
}

// One spec for each input and output of the graph, in its order: parameters, buffers, user inputs; mutated
// buffers, user outputs, gradients.
void JsonUpgrader::oldSignature(simdjson::dom::object fields) {
  static constexpr Member kMembers[] = {
      {"inputs_to_parameters", nullptr}, {"inputs_to_buffers", nullptr}, {"buffers_to_mutate", nullptr},
      {"user_inputs", nullptr},          {"user_outputs", nullptr},      {"backward_signature", nullptr},
  };
  OldSignature old = readOldSignature(fields);
  if (!graph_) fail("the module has no graph");
  simdjson::dom::object graph = asObject(*graph_);
  simdjson::dom::array inputs = asArray(member(graph, "inputs"));
  simdjson::dom::array outputs = asArray(member(graph, "outputs"));

  size_t constants = countOf(inputs);
  size_t known = old.parameters.size() + old.buffers.size() + old.userInputs.size();
  size_t found = 0;
  writer_.beginObject();
  writer_.key("input_specs");
  writer_.beginArray();
  for (JsonValue input : inputs) {
    Inside here(*this, "graph input");
    if (oldInput(old, pick(input, "Argument"), input)) ++found;
  }
  writer_.endArray();
  constants -= found;
  // User inputs that are constants have names here, but none in the graph.
  if (found > known || known - found > constants) {
    fail(fmt::format("{} inputs are named, {} of them are inputs of the graph", known, found));
  }

  size_t expected = old.mutations.size() + old.userOutputs.size() + old.parameterGradients.size() +
                    old.inputGradients.size();
  if (countOf(outputs) != expected) {
    fail(fmt::format("{} outputs are named, the graph has {}", expected, countOf(outputs)));
  }
  writer_.key("output_specs");
  writer_.beginArray();
  size_t i = 0;
  for (JsonValue output : outputs) {
    Inside here(*this, "graph output");
    oldOutput(old, output, i++);
  }
  writer_.endArray();
  structMembers(fields, {"GraphSignature", kMembers});
  writer_.endObject();
}

// Returns whether the input has a name.
bool JsonUpgrader::oldInput(const OldSignature& old, const Tagged& picked, JsonValue input) {
  std::optional<std::string_view> name = argumentName(picked);
  if (!name) {
    if (!isConstantTag(picked.tag)) fail(fmt::format("tag '{}' cannot be an input", printable(picked.tag)));
    constantInput(picked);
  } else if (auto parameter = old.parameters.find(*name); parameter != old.parameters.end()) {
    namedSpec("parameter", *name, "parameter_name", parameter->second);
  } else if (auto buffer = old.buffers.find(*name); buffer != old.buffers.end()) {
    namedSpec("buffer", *name, "buffer_name", buffer->second);
  } else if (old.userInputs.contains(*name)) {
    userSpec("user_input", input);
  } else {
    fail(fmt::format("'{}' is no parameter, buffer or user input of the signature", printable(*name)));
  }
  return name.has_value();
}

// Mutated buffers come first, then what the user gets, then gradients.
void JsonUpgrader::oldOutput(const OldSignature& old, JsonValue output, size_t index) {
  Tagged picked = pick(output, "Argument");
  std::optional<std::string_view> name = argumentName(picked);
  auto target = [&](const OldSignature::Names& names) -> std::optional<std::string_view> {
    auto found = name ? names.find(*name) : names.end();
    return found == names.end() ? std::nullopt : std::optional(found->second);
  };
  size_t firstGradient = old.mutations.size() + old.userOutputs.size();
  if (index < old.mutations.size()) {
    auto buffer = target(old.mutations);
    if (!buffer)
      fail(fmt::format("output {} must be one of the {} mutated buffers", index, old.mutations.size()));
    namedSpec("buffer_mutation", *name, "buffer_name", *buffer);
  } else if (index < firstGradient) {
    std::string_view expected = old.userOutputs[index - old.mutations.size()];
    if (name && *name != expected) {
      fail(fmt::format("output {} must be '{}', found '{}'", index, printable(expected), printable(*name)));
    }
    if (name && !old.loss.empty() && *name == old.loss) {
      namedSpec("loss_output", *name, {}, {});
    } else {
      userSpec("user_output", output);
    }
  } else if (auto parameter = target(old.parameterGradients)) {
    namedSpec("gradient_to_parameter", *name, "parameter_name", *parameter);
  } else if (auto input = target(old.inputGradients)) {
    namedSpec("gradient_to_user_input", *name, "user_input_name", *input);
  } else {
    fail(fmt::format("output {} must be a gradient of the backward signature", index));
  }
}

// {tag: {"arg": {"name": argument}, targetMember: target}}
void JsonUpgrader::namedSpec(std::string_view tag, std::string_view argument, std::string_view targetMember,
                             std::string_view target) {
  writer_.beginObject();
  writer_.key(tag);
  writer_.beginObject();
  writer_.key("arg");
  writer_.beginObject();
  writer_.key("name");
  writer_.string(argument);
  writer_.endObject();
  if (!targetMember.empty()) {
    writer_.key(targetMember);
    writer_.string(target);
  }
  if (tag == "buffer") persistence(target);
  writer_.endObject();
  writer_.endObject();
}

void JsonUpgrader::userSpec(std::string_view tag, JsonValue held) {
  writer_.beginObject();
  writer_.key(tag);
  writer_.beginObject();
  writer_.key("arg");
  argument(held);
  writer_.endObject();
  writer_.endObject();
}

}  // namespace edgefx::detail
