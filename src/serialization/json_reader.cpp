#include "serialization/json_reader.h"

#include "serialization/byte_text.h"
#include "support/fail.h"
#include "support/json_writer.h"

#include <array>
#include <limits>
#include <utility>

namespace edgefx::detail {

void failAt(const JsonPlace& place, std::string message) {
  Diagnostic diagnostic;
  diagnostic.record = place.record;
  diagnostic.graph = place.graph;
  if (!place.node.empty()) {
    diagnostic.node = printable(place.node);
  } else if (!place.section.empty()) {
    std::string where(place.section);
    if (!place.item.empty()) {
      where += fmt::format("['{}']", printable(place.item));
    } else if (place.index >= 0) {
      where += fmt::format("[{}]", place.index);
    }
    message = where + ": " + message;
  }
  diagnostic.message = std::move(message);
  throw ParseError(std::move(diagnostic));
}

std::string_view kindName(JsonValue value) {
  switch (value.type()) {
    case simdjson::dom::element_type::ARRAY:
      return "an array";
    case simdjson::dom::element_type::OBJECT:
      return "an object";
    case simdjson::dom::element_type::INT64:
    case simdjson::dom::element_type::UINT64:
      return "an integer";
    case simdjson::dom::element_type::DOUBLE:
      return "a float";
    case simdjson::dom::element_type::STRING:
      return "a string";
    case simdjson::dom::element_type::BOOL:
      return "a bool";
    case simdjson::dom::element_type::NULL_VALUE:
      return "null";
  }
  return "unknown";
}

void JsonReader::failKind(std::string_view what, std::string_view wanted, JsonValue found) const {
  fail(fmt::format("'{}' must be {}, found {}", what, wanted, kindName(found)));
}

void JsonReader::failInteger(std::string_view what, JsonValue found) const {
  if (found.is<uint64_t>()) fail(fmt::format("'{}' does not fit a 64-bit signed integer", what));
  failKind(what, "an integer", found);
}

void JsonReader::failTags(simdjson::dom::object found, std::string_view unionName) const {
  auto at = found.begin();
  if (at == found.end()) fail(fmt::format("{} needs exactly one tag, found none", unionName));
  const std::string_view first = at.key();
  ++at;
  fail(fmt::format("{} needs exactly one tag, found '{}' and '{}'", unionName, printable(first),
                   printable(at.key())));
}

void JsonReader::failDuplicate(const JsonStruct& schema, std::string_view key) const {
  fail(fmt::format("member '{}' of {} occurs twice", printable(key), schema.name));
}

void JsonReader::failMissing(const JsonStruct& schema, uint32_t missing) const {
  size_t i = 0;
  while ((missing >> i & 1) == 0) ++i;
  fail(fmt::format("{} lacks its member '{}'", schema.name, schema.members[i]));
}

bool JsonReader::boolean(JsonValue value, std::string_view what) const {
  bool flag = false;
  if (value.get(flag) != simdjson::SUCCESS) failKind(what, "a bool", value);
  return flag;
}

double JsonReader::number(JsonValue value, std::string_view what) const {
  double number = 0;
  if (value.get(number) == simdjson::SUCCESS) return number;
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS) {
    if (text == "Infinity") return std::numeric_limits<double>::infinity();
    if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    fail(fmt::format("'{}' must be a float, found the string '{}'", what, printable(text)));
  }
  failKind(what, "a float", value);
}

JsonReader::CustomObj JsonReader::customObj(JsonValue value) const {
  static constexpr std::array<std::string_view, 2> kMembers = {"name", "class_fqn"};
  static constexpr JsonStruct kCustomObj{"CustomObjArgument", kMembers};
  CustomObj found;
  uint32_t seen = members(
      value, kCustomObj,
      [&](size_t i, JsonValue member) {
        (i == 0 ? found.name : found.className) = string(member, kMembers[i]);
      },
      kIgnore);
  require(kCustomObj, seen, 1);
  return found;
}

namespace {

// Depth is bounded by the parser's own limit.
void write(JsonWriter& writer, JsonValue value) {
  switch (value.type()) {
    case simdjson::dom::element_type::ARRAY:
      writer.beginArray();
      for (JsonValue item : simdjson::dom::array(value)) write(writer, item);
      writer.endArray();
      break;
    case simdjson::dom::element_type::OBJECT:
      writer.beginObject();
      for (auto field : simdjson::dom::object(value)) {
        writer.key(field.key);
        write(writer, field.value);
      }
      writer.endObject();
      break;
    case simdjson::dom::element_type::INT64:
      writer.integer(int64_t(value));
      break;
    case simdjson::dom::element_type::UINT64:
      writer.raw(std::to_string(uint64_t(value)));
      break;
    case simdjson::dom::element_type::DOUBLE:
      writer.number(double(value));
      break;
    case simdjson::dom::element_type::STRING:
      writer.string(std::string_view(value));
      break;
    case simdjson::dom::element_type::BOOL:
      writer.boolean(bool(value));
      break;
    case simdjson::dom::element_type::NULL_VALUE:
      writer.null();
      break;
  }
}

}  // namespace

std::string pythonJson(JsonValue value) {
  JsonWriter writer;
  write(writer, value);
  return writer.take();
}

void appendMember(std::string& text, std::string_view key, JsonValue value) {
  if (!text.empty()) text += ", ";
  JsonWriter quoted;
  quoted.string(key);
  text += quoted.text();
  text += ": ";
  text += pythonJson(value);
}

}  // namespace edgefx::detail
