#include "serialization/old_schema.h"

#include "serialization/json_reader.h"
#include "support/json_writer.h"

#include <algorithm>
#include <array>
#include <vector>

namespace edgefx::test {
namespace {

using detail::JsonValue;
using detail::JsonWriter;
using detail::pythonJson;

constexpr std::array<std::string_view, 21> kArgumentTags = {
    "as_none",      "as_tensor",      "as_tensors", "as_int",      "as_ints", "as_float", "as_floats",
    "as_string",    "as_strings",     "as_sym_int", "as_sym_ints", "as_bool", "as_bools", "as_sym_bool",
    "as_sym_bools", "as_scalar_type", "as_layout",  "as_device",   "as_expr", "as_graph", "as_name"};
constexpr std::array<std::string_view, 7> kSpecTags = {
    "user_input", "parameter", "buffer", "tensor_constant", "user_output", "buffer_mutation", "loss_output"};

template <size_t count>
bool isAmong(const std::array<std::string_view, count>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void writeCanonical(JsonWriter& writer, JsonValue value, std::initializer_list<std::string_view> without) {
  if (value.is_array()) {
    writer.beginArray();
    for (JsonValue item : simdjson::dom::array(value)) writeCanonical(writer, item, without);
    writer.endArray();
  } else if (value.is_object()) {
    std::vector<std::pair<std::string_view, JsonValue>> members;
    for (auto field : simdjson::dom::object(value)) {
      if (field.value.is_null() || std::find(without.begin(), without.end(), field.key) != without.end())
        continue;
      members.emplace_back(field.key, field.value);
    }
    std::stable_sort(members.begin(), members.end(), [](auto& a, auto& b) { return a.first < b.first; });
    writer.beginObject();
    for (auto& [key, member] : members) {
      writer.key(key);
      writeCanonical(writer, member, without);
    }
    writer.endObject();
  } else {
    writer.raw(pythonJson(value));
  }
}

// Copies JSON and changes it; major 8 in, `major` out. Knows unions by their tags, which no other object has.
class Downgrader {
 public:
  Downgrader(int64_t major, bool onlyUnions) : major_(major), onlyUnions_(onlyUnions) {}

  std::string text(JsonValue value) {
    write(value);
    return writer_.take();
  }

 private:
  void write(JsonValue value) {
    if (value.is_array()) {
      writer_.beginArray();
      for (JsonValue item : simdjson::dom::array(value)) write(item);
      writer_.endArray();
    } else if (value.is_object()) {
      writer_.beginObject();
      for (auto field : simdjson::dom::object(value)) member(field.key, field.value);
      allMembers(simdjson::dom::object(value));
      writer_.endObject();
    } else {
      writer_.raw(pythonJson(value));
    }
  }

  void member(std::string_view key, JsonValue value) {
    if (onlyUnions_) {
      writer_.key(key);
      write(value);
      return;
    }
    if (major_ <= 2 && key == "persistent") return;
    bool isVerifiers = key == "verifiers";
    writer_.key(isVerifiers ? "dialect" : key);
    if (isVerifiers) {
      writer_.raw(pythonJson(value.at(0)));
    } else if (key == "as_none") {
      writer_.raw("[]");
    } else if (key == "range_constraints") {
      ranges(value);
    } else if (key == "schema_version") {
      writer_.raw(major_ > 2 ? "{\"major\": 5, \"minor\": 1}" : "2");
    } else if (JsonValue offset; key == "storage_offset" && major_ <= 2 &&
                                 value.at_key("as_int").get(offset) == simdjson::SUCCESS) {
      writer_.raw(pythonJson(offset));
    } else if (key == "as_optional_tensors" && major_ <= 2) {
      optionalTensors(value);
    } else if (key == "as_string_to_argument" || key == "metadata") {
      writer_.raw(pythonJson(value));
    } else {
      write(value);
    }
  }

  void allMembers(simdjson::dom::object fields) {
    if (major_ > 2 || fields.size() != 1) return;
    std::string_view tag = (*fields.begin()).key;
    auto nulls = [&](const auto& tags) {
      for (std::string_view other : tags) {
        if (other == tag) continue;
        writer_.key(other);
        writer_.null();
      }
    };
    if (tag.starts_with("as_")) nulls(kArgumentTags);
    if (isAmong(kSpecTags, tag) && simdjson::dom::element((*fields.begin()).value).is_object())
      nulls(kSpecTags);
  }

  void ranges(JsonValue value) {
    writer_.beginObject();
    for (auto field : simdjson::dom::object(value)) {
      writer_.key(field.key);
      writer_.beginObject();
      for (auto bound : simdjson::dom::object(field.value)) {
        writer_.key(bound.key);
        if (bound.value.is_null()) {
          writer_.raw(bound.key == "min_val" ? "-Infinity" : "Infinity");
        } else {
          writer_.raw(pythonJson(bound.value));
        }
      }
      writer_.endObject();
    }
    writer_.endObject();
  }

  void optionalTensors(JsonValue value) {
    writer_.beginArray();
    for (JsonValue item : simdjson::dom::array(value)) {
      JsonValue tensor;
      bool isTensor = item.at_key("as_tensor").get(tensor) == simdjson::SUCCESS;
      writer_.beginObject();
      writer_.key("as_tensor");
      writer_.raw(isTensor ? pythonJson(tensor.at_key("name")) : "null");
      writer_.key("as_none");
      writer_.raw(isTensor ? "null" : "[]");
      writer_.endObject();
    }
    writer_.endArray();
  }

  int64_t major_;
  bool onlyUnions_;
  JsonWriter writer_;
};

}  // namespace

std::string canonicalJson(simdjson::dom::element value, std::initializer_list<std::string_view> without) {
  JsonWriter writer;
  writeCanonical(writer, value, without);
  return writer.take();
}

std::string downgradedJson(simdjson::dom::element program, int64_t major) {
  return Downgrader(major, false).text(program);
}

std::string withAllMembers(simdjson::dom::element value) {
  return Downgrader(2, true).text(value);
}

}  // namespace edgefx::test
