#include <edgefx/ir/dtype.h>

#include "serialization/byte_text.h"
#include "serialization/json_upgrader.h"
#include "support/fail.h"

namespace edgefx::detail {

void JsonUpgrader::graph(JsonValue value) {
  static constexpr Member kMembers[] = {
      {"inputs", &JsonUpgrader::listOf<&JsonUpgrader::argument>},
      {"outputs", &JsonUpgrader::listOf<&JsonUpgrader::argument>},
      {"nodes", &JsonUpgrader::listOf<&JsonUpgrader::node>},
      {"tensor_values", &JsonUpgrader::dictOf<&JsonUpgrader::tensorValue>},
      {"sym_int_values", &JsonUpgrader::dictOf<&JsonUpgrader::symInt>, "{}"},
      {"sym_bool_values", &JsonUpgrader::dictOf<&JsonUpgrader::symBool>, "{}"},
      {"is_single_tensor_return", &JsonUpgrader::copy, "false"},
      {"custom_obj_values", &JsonUpgrader::dictOf<&JsonUpgrader::customObject>, "{}"},
      {"sym_float_values", &JsonUpgrader::dictOf<&JsonUpgrader::symFloat>, "{}"},
  };
  structOf(value, {"Graph", kMembers});
}

void JsonUpgrader::node(JsonValue value) {
  static constexpr Member kMembers[] = {
      {"inputs", &JsonUpgrader::listOf<&JsonUpgrader::namedArgument>},
      {"outputs", &JsonUpgrader::listOf<&JsonUpgrader::argument>},
  };
  static constexpr Member kDelegateMembers[] = {
      {"inputs", &JsonUpgrader::delegateInputs},
      {"outputs", &JsonUpgrader::listOf<&JsonUpgrader::argument>},
  };
  const bool callsDelegate =
      isExir_ && stringMember(asObject(value), "target") == "torch.ops.higher_order.executorch_call_delegate";
  structOf(value, {"Node", callsDelegate ? std::span<const Member>(kDelegateMembers) : kMembers});
}

// ExecuTorch writes the delegate itself in place of the first argument, and a name with every argument.
void JsonUpgrader::delegateInputs(JsonValue value) {
  writer_.beginArray();
  size_t i = 0;
  for (JsonValue input : asArray(value)) {
    Inside here(*this, i);
    simdjson::dom::object fields = asObject(input);
    writer_.beginObject();
    writer_.key("name");
    writer_.string("");
    writer_.key("arg");
    if (i == 0) {
      delegateModule(member(fields, "arg"), stringMember(fields, "name"));
    } else {
      JsonValue held = member(fields, "arg");
      Inside inner(*this, "arg");
      argument(held);
    }
    writer_.endObject();
    ++i;
  }
  writer_.endArray();
}

void JsonUpgrader::delegateModule(JsonValue value, std::string_view name) {
  Inside here(*this, "arg");
  Tagged picked = pick(value, "Argument");
  if (picked.tag != "as_string")
    fail(fmt::format("expected a delegate as text, found tag '{}'", printable(picked.tag)));
  delegates_.push_back({graphPath_, std::string(name), std::string(asString(picked.value))});
  writer_.beginObject();
  writer_.key("as_string");
  writer_.string(name);
  writer_.endObject();
}

// ExecuTorch numbers the newer element types in another way than torch.
void JsonUpgrader::scalarType(JsonValue value) {
  constexpr int64_t kFirst = 14;
  constexpr Dtype kNewer[] = {Dtype::UInt16, Dtype::Float8E5M2, Dtype::Float8E4M3FN};
  if (!isExir_ || !value.is_int64() || int64_t(value) < kFirst || int64_t(value) > kFirst + 2) {
    copy(value);
    return;
  }
  writer_.integer(static_cast<int64_t>(kNewer[int64_t(value) - kFirst]));
}

void JsonUpgrader::namedArgument(JsonValue value) {
  static constexpr Member kMembers[] = {{"arg", &JsonUpgrader::argument}};
  structOf(value, {"NamedArgument", kMembers});
}

void JsonUpgrader::argument(JsonValue value) {
  static constexpr Member kTags[] = {
      {"as_none", &JsonUpgrader::none},
      {"as_scalar_type", &JsonUpgrader::scalarType},
      {"as_sym_int", &JsonUpgrader::symIntArgument},
      {"as_sym_ints", &JsonUpgrader::listOf<&JsonUpgrader::symIntArgument>},
      {"as_sym_bool", &JsonUpgrader::symBoolArgument},
      {"as_sym_bools", &JsonUpgrader::listOf<&JsonUpgrader::symBoolArgument>},
      {"as_sym_float", &JsonUpgrader::symFloatArgument},
      {"as_sym_floats", &JsonUpgrader::listOf<&JsonUpgrader::symFloatArgument>},
      {"as_optional_tensor", &JsonUpgrader::optionalTensor},
      {"as_optional_tensors", &JsonUpgrader::listOf<&JsonUpgrader::optionalTensor>},
      {"as_graph", &JsonUpgrader::graphArgument},
      {"as_custom_obj", &JsonUpgrader::customObject},
  };
  unionOf(value, {"Argument", kTags});
}

// An empty tuple, `[]`, before 8.2.
void JsonUpgrader::none(JsonValue value) {
  if (!value.is_bool() && asArray(value).size() != 0) fail("expected an empty array, found one with items");
  writer_.boolean(true);
}

void JsonUpgrader::symIntArgument(JsonValue value) {
  unionOf(value, {"SymIntArgument", {}});
}
void JsonUpgrader::symBoolArgument(JsonValue value) {
  unionOf(value, {"SymBoolArgument", {}});
}
void JsonUpgrader::symFloatArgument(JsonValue value) {
  unionOf(value, {"SymFloatArgument", {}});
}

void JsonUpgrader::optionalTensor(JsonValue value) {
  static constexpr Member kTags[] = {{"as_none", &JsonUpgrader::none},
                                     {"as_tensor", &JsonUpgrader::tensorOrName}};
  unionOf(value, {"OptionalTensorArgument", kTags});
}

void JsonUpgrader::tensorOrName(JsonValue value) {
  if (!value.is_string()) {
    copy(value);
    return;
  }
  writer_.beginObject();
  copyMember("name", value);
  writer_.endObject();
}

void JsonUpgrader::graphArgument(JsonValue value) {
  static constexpr Member kMembers[] = {{"graph", &JsonUpgrader::graph}};
  const size_t outer = graphPath_.size();
  if (isExir_) {
    const std::string_view name = stringMember(asObject(value), "name");
    graphPath_.append(outer == 0 ? "" : ".").append(name);
  }
  structOf(value, {"GraphArgument", kMembers});
  graphPath_.resize(outer);
}

void JsonUpgrader::customObject(JsonValue value) {
  static constexpr Member kMembers[] = {{"class_fqn", &JsonUpgrader::copy, R"("")"}};
  simdjson::dom::object fields = asObject(value);
  if (!find(fields, "name") && find(fields, "blob")) {
    detail::fail<UnsupportedError>("{}: the custom object is stored as bytes of Python, which cannot be read",
                                   pathText());
  }
  structOf(value, {"CustomObjArgument", kMembers});
}

// Major 1 wraps the description of a tensor.
void JsonUpgrader::tensorValue(JsonValue value) {
  simdjson::dom::object fields = asObject(value);
  std::optional<JsonValue> meta = major_ == 1 ? find(fields, "meta") : std::nullopt;
  if (!meta) {
    tensorMeta(value);
    return;
  }
  for (auto field : fields) {
    if (field.key != "meta") fail(fmt::format("unknown member '{}' beside 'meta'", field.key));
  }
  Inside here(*this, "meta");
  tensorMeta(*meta);
}

void JsonUpgrader::tensorMeta(JsonValue value) {
  static constexpr Member kMembers[] = {
      {"dtype", &JsonUpgrader::scalarType},
      {"sizes", &JsonUpgrader::listOf<&JsonUpgrader::symInt>},
      {"strides", &JsonUpgrader::listOf<&JsonUpgrader::symInt>},
      {"storage_offset", &JsonUpgrader::storageOffset},
  };
  structOf(value, {"TensorMeta", kMembers});
}

void JsonUpgrader::storageOffset(JsonValue value) {
  if (!value.is_int64()) {
    symInt(value);
    return;
  }
  writer_.beginObject();
  copyMember("as_int", value);
  writer_.endObject();
}

void JsonUpgrader::symInt(JsonValue value) {
  static constexpr Member kTags[] = {{"as_expr", &JsonUpgrader::symExpr}};
  unionOf(value, {"SymInt", kTags});
}

void JsonUpgrader::symFloat(JsonValue value) {
  static constexpr Member kTags[] = {{"as_expr", &JsonUpgrader::symExpr}};
  unionOf(value, {"SymFloat", kTags});
}

void JsonUpgrader::symBool(JsonValue value) {
  static constexpr Member kTags[] = {{"as_expr", &JsonUpgrader::symExpr}};
  unionOf(value, {"SymBool", kTags});
}

// A plain string in a SymBool of major 1.
void JsonUpgrader::symExpr(JsonValue value) {
  static constexpr Member kMembers[] = {{"hint", &JsonUpgrader::hint, "null"}};
  if (!value.is_string()) {
    structOf(value, {"SymExpr", kMembers});
    return;
  }
  writer_.beginObject();
  copyMember("expr_str", value);
  writer_.key("hint");
  writer_.null();
  writer_.endObject();
}

// A plain number in major 1.
void JsonUpgrader::hint(JsonValue value) {
  if (value.is_object()) {
    unionOf(value, {"SymExprHint", {}});
    return;
  }
  std::string_view tag;
  if (value.is_int64()) {
    tag = "as_int";
  } else if (value.is_bool()) {
    tag = "as_bool";
  } else if (value.type() == simdjson::dom::element_type::DOUBLE) {  // is_double() counts integers, too
    tag = "as_float";
  }
  if (tag.empty()) failKind("an integer or null", value);
  writer_.beginObject();
  copyMember(tag, value);
  writer_.endObject();
}

}  // namespace edgefx::detail
