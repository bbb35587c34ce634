#pragma once

#include <edgefx/support/error.h>

#include "support/text_hash.h"

#include <simdjson.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace edgefx::detail {

using JsonValue = simdjson::dom::element;

// Where in a model's JSON the reader is, for messages. Kept as parts, since most files have no fault.
struct JsonPlace {
  std::string record;        // record of the archive
  std::string graph;         // dotted path of the nested graph module
  std::string_view section;  // "graph_module.graph.tensor_values"
  std::string_view item;     // value, spec or entry of the section
  std::string_view node;     // node being read
  int64_t index = -1;        // its number, or that of the spec
};

// Equality of names and tags: a call of memcmp costs more than comparing their few words here.
inline bool sameName(std::string_view a, std::string_view b) {
  const size_t size = a.size();
  if (size != b.size()) return false;
  const char *x = a.data(), *y = b.data();
  auto differ = [x, y]<typename Word>(Word left, size_t at) {
    Word right;
    std::memcpy(&left, x + at, sizeof(Word));
    std::memcpy(&right, y + at, sizeof(Word));
    return left != right;
  };
  // The last word overlaps the one before.
  if (size >= 8) {
    for (size_t i = 0; i + 8 < size; i += 8) {
      if (differ(uint64_t{}, i)) return false;
    }
    return !differ(uint64_t{}, size - 8);
  }
  if (size >= 4) return !differ(uint32_t{}, 0) && !differ(uint32_t{}, size - 4);
  for (size_t i = 0; i < size; ++i) {
    if (x[i] != y[i]) return false;
  }
  return true;
}

[[noreturn]] void failAt(const JsonPlace& place, std::string message);

// A struct of the schema: its name and members, for strict reading.
struct JsonStruct {
  std::string_view name;
  std::span<const std::string_view> members;

  // The index of a member; the number of members if there is none of that name.
  size_t find(std::string_view member) const {
    size_t i = 0;
    while (i < members.size() && !sameName(members[i], member)) ++i;
    return i;
  }
};

// Type-checked access to JSON values; `what` names the member in messages.
class JsonReader {
 public:
  JsonPlace place;

  [[noreturn]] void fail(std::string message) const { failAt(place, std::move(message)); }

  std::string_view string(JsonValue value, std::string_view what) const {
    std::string_view text;
    if (value.get(text) != simdjson::SUCCESS) failKind(what, "a string", value);
    return text;
  }
  int64_t integer(JsonValue value, std::string_view what) const {
    int64_t number = 0;
    if (value.get(number) != simdjson::SUCCESS) failInteger(what, value);
    return number;
  }
  bool boolean(JsonValue value, std::string_view what) const;
  // A number, an integer literal, or "Infinity", "-Infinity", "NaN".
  double number(JsonValue value, std::string_view what) const;
  simdjson::dom::array array(JsonValue value, std::string_view what) const {
    simdjson::dom::array items;
    if (value.get(items) != simdjson::SUCCESS) failKind(what, "an array", value);
    return items;
  }
  simdjson::dom::object object(JsonValue value, std::string_view what) const {
    simdjson::dom::object fields;
    if (value.get(fields) != simdjson::SUCCESS) failKind(what, "an object", value);
    return fields;
  }

  // Calls visit(member index, value) for each member of a struct in file order, and unknown(key, value) for
  // others. Refuses anything but an object, and members that occur twice. Returns the members seen as a bit
  // mask.
  template <typename Visit, typename Unknown>
  uint32_t members(JsonValue value, const JsonStruct& schema, Visit&& visit, Unknown&& unknown) const {
    uint32_t seen = 0;
    size_t i = 0;
    for (auto field : object(value, schema.name)) {
      // Most files have the members in the schema's order.
      if (i >= schema.members.size() || !sameName(schema.members[i], field.key)) i = schema.find(field.key);
      if (i == schema.members.size()) {
        unknown(field.key, field.value);
        continue;
      }
      if ((seen >> i & 1) != 0) failDuplicate(schema, field.key);
      seen |= uint32_t{1} << i;
      visit(i, field.value);
      ++i;
    }
    return seen;
  }
  // Refuses the struct if one of the first `count` members was not seen.
  void require(const JsonStruct& schema, uint32_t seen, size_t count) const {
    uint32_t wanted = (uint32_t{1} << count) - 1;
    if ((seen & wanted) != wanted) failMissing(schema, ~seen & wanted);
  }

  // The tag and value of a union: an object with exactly one member.
  struct Tagged {
    std::string_view tag;
    JsonValue value;
  };
  Tagged tagged(JsonValue value, std::string_view unionName) const {
    simdjson::dom::object fields = object(value, unionName);
    if (fields.size() != 1) failTags(fields, unionName);
    auto only = fields.begin();
    return {only.key(), only.value()};
  }

  struct CustomObj {
    std::string_view name, className;  // the class may be missing
  };
  CustomObj customObj(JsonValue value) const;

 private:
  [[noreturn]] void failKind(std::string_view what, std::string_view wanted, JsonValue found) const;
  [[noreturn]] void failInteger(std::string_view what, JsonValue found) const;
  [[noreturn]] void failTags(simdjson::dom::object found, std::string_view unionName) const;
  [[noreturn]] void failDuplicate(const JsonStruct& schema, std::string_view key) const;
  [[noreturn]] void failMissing(const JsonStruct& schema, uint32_t missing) const;
};

// For members of small structs that edgefx does not know: they carry nothing it could lose by dropping them.
inline constexpr auto kIgnore = [](std::string_view, JsonValue) {};

// Finds names that occur twice, without growing quadratic on many names.
class UniqueNames {
 public:
  // Returns whether the name is new.
  bool add(std::string_view name) {
    if (names_.empty()) {
      for (std::string_view known : few_) {
        if (known == name) return false;
      }
      few_.push_back(name);
      if (few_.size() > kMostFew) names_.insert(few_.begin(), few_.end());
      return true;
    }
    return names_.insert(name).second;
  }
  void clear() {
    few_.clear();
    names_.clear();
  }

 private:
  static constexpr size_t kMostFew = 16;
  std::vector<std::string_view> few_;
  std::unordered_set<std::string_view, TextHash, std::equal_to<>> names_;
};

// The number of items; unlike size(), right for any number.
inline size_t countOf(simdjson::dom::array items) {
  size_t count = 0;
  for (auto at = items.begin(); at != items.end(); ++at) ++count;
  return count;
}

// "null", "a string", ...: for messages.
std::string_view kindName(JsonValue value);

// The value as JSON text in Python's form.
std::string pythonJson(JsonValue value);

// Appends `"key": value` in Python's form, after ", " unless the text is empty.
void appendMember(std::string& text, std::string_view key, JsonValue value);

}  // namespace edgefx::detail
