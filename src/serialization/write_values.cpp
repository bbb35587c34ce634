#include "serialization/write_values.h"

#include <initializer_list>

namespace edgefx::detail {
namespace {

void writeHint(JsonWriter& json, const SymHint& hint) {
  if (std::holds_alternative<std::monostate>(hint)) {
    json.null();
    return;
  }
  json.beginObject();
  if (const auto* integer = std::get_if<int64_t>(&hint)) {
    json.key("as_int");
    json.integer(*integer);
  } else if (const auto* boolean = std::get_if<bool>(&hint)) {
    json.key("as_bool");
    json.boolean(*boolean);
  } else {
    json.key("as_float");
    json.number(std::get<double>(hint));
  }
  json.endObject();
}

void writeExpression(JsonWriter& json, const Symbolic& symbolic) {
  json.beginObject();
  json.key("as_expr");
  json.beginObject();
  json.key("expr_str");
  json.string(symbolic.expression.text());
  json.key("hint");
  writeHint(json, symbolic.hint);
  json.endObject();
  json.endObject();
}

void writeShape(JsonWriter& json, const std::vector<SymInt>& shape) {
  json.beginArray();
  for (const SymInt& value : shape) writeSymInt(json, value);
  json.endArray();
}

// Whether JSON text holds the name as it is; true of every identifier.
bool isPlain(std::string_view name) {
  for (char c : name) {
    bool isLetter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!isLetter && !(c >= '0' && c <= '9') && c != '_' && c != '.') return false;
  }
  return true;
}

// One value made of JSON text, a quoted name and more text: most of a file are references to values, which
// are written several times faster in one piece.
void writeAround(JsonWriter& json, std::initializer_list<std::string_view> before, std::string_view name,
                 std::string_view after) {
  constexpr size_t kRoom = 256, kLongestName = 128;
  if (name.size() > kLongestName || !isPlain(name)) {
    JsonWriter quoted;
    quoted.string(name);
    std::string text;
    for (std::string_view part : before) text += part;
    text.append(quoted.text()).append(after);
    json.raw(text);
    return;
  }
  char text[kRoom];
  char* end = text;
  auto append = [&](std::string_view part) { end += part.copy(end, part.size()); };
  for (std::string_view part : before) append(part);
  *end++ = '"';
  append(name);
  *end++ = '"';
  append(after);
  json.raw({text, end});
}

}  // namespace

void writeNamed(JsonWriter& json, std::string_view tag, std::string_view name) {
  writeAround(json, {R"({")", tag, R"(": {"name": )"}, name, "}}");
}

void writeSymbolicName(JsonWriter& json, std::string_view tag, std::string_view name) {
  writeAround(json, {R"({")", tag, R"(": {"as_name": )"}, name, "}}");
}

void writeName(JsonWriter& json, std::string_view name) {
  writeAround(json, {R"({"name": )"}, name, "}");
}

void writeCustomObject(JsonWriter& json, std::string_view name, std::string_view className) {
  json.beginObject();
  json.key("name");
  json.string(name);
  json.key("class_fqn");
  json.string(className);
  json.endObject();
}

void writeDevice(JsonWriter& json, const DeviceSpec& device) {
  json.beginObject();
  json.key("type");
  json.string(device.type);
  json.key("index");
  if (device.index) {
    json.integer(*device.index);
  } else {
    json.null();
  }
  json.endObject();
}

void writeSymInt(JsonWriter& json, const SymInt& value) {
  if (value.isSymbolic()) {
    writeExpression(json, *value.symbolic());
    return;
  }
  json.beginObject();
  json.key("as_int");
  json.integer(value.value());
  json.endObject();
}

void writeSymFloat(JsonWriter& json, const ValueMeta::SymFloatValue& value) {
  if (const auto* symbolic = std::get_if<Symbolic>(&value.value)) {
    writeExpression(json, *symbolic);
    return;
  }
  json.beginObject();
  json.key("as_float");
  json.number(std::get<double>(value.value));
  json.endObject();
}

void writeSymBool(JsonWriter& json, const ValueMeta::SymBoolValue& value) {
  if (const auto* symbolic = std::get_if<Symbolic>(&value.value)) {
    writeExpression(json, *symbolic);
    return;
  }
  json.beginObject();
  json.key("as_bool");
  json.boolean(std::get<bool>(value.value));
  json.endObject();
}

void writeConstant(JsonWriter& json, const ConstantScalar& value) {
  if (std::holds_alternative<std::monostate>(value)) {
    writeNone(json);
    return;
  }
  json.beginObject();
  if (const auto* boolean = std::get_if<bool>(&value)) {
    json.key("as_bool");
    json.boolean(*boolean);
  } else if (const auto* integer = std::get_if<int64_t>(&value)) {
    json.key("as_int");
    json.integer(*integer);
  } else if (const auto* number = std::get_if<double>(&value)) {
    json.key("as_float");
    json.number(*number);
  } else {
    json.key("as_string");
    json.string(std::get<std::string>(value));
  }
  json.endObject();
}

void openTensorMeta(JsonWriter& json, const TensorMeta& tensor) {
  json.beginObject();
  json.key("dtype");
  json.integer(static_cast<int64_t>(tensor.dtype));
  json.key("sizes");
  writeShape(json, tensor.sizes);
  json.key("requires_grad");
  json.boolean(tensor.requiresGrad);
  json.key("device");
  writeDevice(json, tensor.device);
  json.key("strides");
  writeShape(json, tensor.strides);
  json.key("storage_offset");
  writeSymInt(json, tensor.storageOffset);
  json.key("layout");
  json.integer(static_cast<int64_t>(tensor.layout));
}

std::string_view SharedTexts::tensorMeta(const TensorMeta& tensor) {
  std::string& text = texts_[&tensor];
  if (text.empty()) {
    openTensorMeta(scratch_, tensor);
    scratch_.endObject();
    text = scratch_.take();
  }
  return text;
}

std::string_view SharedTexts::quoted(const std::string& text) {
  std::string& quoted = texts_[&text];
  if (quoted.empty()) {
    scratch_.string(text);
    quoted = scratch_.take();
  }
  return quoted;
}

}  // namespace edgefx::detail
