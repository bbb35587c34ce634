#pragma once

#include "serialization/json_reader.h"
#include "serialization/upgrade_json.h"
#include "support/json_writer.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace edgefx::detail {

// Copies a program's JSON into a writer and changes what the old schema had in another form. Each function
// named after a struct or union of the schema writes one value of it.
class JsonUpgrader {
 public:
  JsonUpgrader(int64_t major, const NameSet& stateDict) : major_(major), stateDict_(stateDict) {}

  void program(JsonValue value);

  std::string take() { return writer_.take(); }
  // What could not be kept, empty if nothing.
  const std::string& lost() const { return lost_; }
  std::vector<ExirDelegate> takeDelegates() { return std::move(delegates_); }

 private:
  using Convert = void (JsonUpgrader::*)(JsonValue);

  // A member of a struct, or a tag of a union, that is not merely copied.
  struct Member {
    std::string_view name;
    Convert convert;               // null: the member is left out
    std::string_view absent = {};  // JSON text of a struct's member that is absent or null; empty: as it is
  };
  struct Schema {
    std::string_view name;
    std::span<const Member> members;
  };
  struct Tagged {
    std::string_view tag;
    JsonValue value;
  };

  // Where in the input the upgrader is, for messages.
  struct Step {
    std::string_view key;
    size_t index = 0;
    bool isKey = true;
  };
  class Inside {
   public:
    Inside(JsonUpgrader& upgrader, std::string_view key) : path_(upgrader.path_) { path_.push_back({key}); }
    Inside(JsonUpgrader& upgrader, size_t index) : path_(upgrader.path_) {
      path_.push_back({{}, index, false});
    }
    ~Inside() { path_.pop_back(); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    std::vector<Step>& path_;
  };

  struct OldSignature;

  std::string pathText() const;
  [[noreturn]] void fail(const std::string& message) const;
  [[noreturn]] void failKind(std::string_view wanted, JsonValue found) const;
  simdjson::dom::object asObject(JsonValue value) const;
  simdjson::dom::array asArray(JsonValue value) const;
  std::string_view asString(JsonValue value) const;
  std::optional<JsonValue> find(simdjson::dom::object fields,
                                std::string_view name) const;  // null counts as absent
  JsonValue member(simdjson::dom::object fields, std::string_view name) const;
  std::string_view stringMember(simdjson::dom::object fields, std::string_view name);
  Tagged pick(JsonValue value, std::string_view unionName) const;

  void copy(JsonValue value);
  void copyMember(std::string_view name, JsonValue value);
  void structMembers(simdjson::dom::object fields, const Schema& schema);
  void structOf(JsonValue value, const Schema& schema);
  void unionOf(JsonValue value, const Schema& schema);
  void taggedAs(const Tagged& picked, std::span<const Member> tags);

  template <Convert item>
  void listOf(JsonValue value) {
    writer_.beginArray();
    size_t i = 0;
    for (JsonValue element : asArray(value)) {
      Inside here(*this, i++);
      (this->*item)(element);
    }
    writer_.endArray();
  }
  template <Convert item>
  void dictOf(JsonValue value) {
    writer_.beginObject();
    for (auto field : asObject(value)) {
      Inside here(*this, field.key);
      writer_.key(field.key);
      (this->*item)(field.value);
    }
    writer_.endObject();
  }

  void schemaVersion(JsonValue value);
  void verifiers(simdjson::dom::object fields);
  void equalityConstraints(JsonValue value);
  void rangeConstraint(JsonValue value);
  void lowerBound(JsonValue value) { bound(value, "-Infinity"); }
  void upperBound(JsonValue value) { bound(value, "Infinity"); }
  void bound(JsonValue value, std::string_view infinity);
  void graphModule(JsonValue value);
  void callEntries(JsonValue value);
  void callEntry(JsonValue value);
  void callSignature(JsonValue value);
  void programCall();

  void graph(JsonValue value);
  void node(JsonValue value);
  void namedArgument(JsonValue value);
  void delegateInputs(JsonValue value);
  void delegateModule(JsonValue value, std::string_view name);
  void scalarType(JsonValue value);
  void argument(JsonValue value);
  void none(JsonValue value);
  void symIntArgument(JsonValue value);
  void symBoolArgument(JsonValue value);
  void symFloatArgument(JsonValue value);
  void optionalTensor(JsonValue value);
  void tensorOrName(JsonValue value);
  void graphArgument(JsonValue value);
  void customObject(JsonValue value);
  void tensorValue(JsonValue value);
  void tensorMeta(JsonValue value);
  void storageOffset(JsonValue value);
  void symInt(JsonValue value);
  void symFloat(JsonValue value);
  void symBool(JsonValue value);
  void symExpr(JsonValue value);
  void hint(JsonValue value);

  void signature(JsonValue value);
  void inputSpec(JsonValue value);
  void outputSpec(JsonValue value);
  void argumentSpec(JsonValue value);
  void customObjectSpec(JsonValue value);
  void bufferSpec(JsonValue value);
  void constantInputSpec(JsonValue value);
  void constantValue(JsonValue value);
  void persistence(std::string_view bufferName);
  void constantInput(const Tagged& constant);
  std::optional<std::string_view> argumentName(const Tagged& argument);
  OldSignature readOldSignature(simdjson::dom::object fields);
  void oldSignature(simdjson::dom::object fields);
  bool oldInput(const OldSignature& old, const Tagged& picked, JsonValue input);
  void oldOutput(const OldSignature& old, JsonValue output, size_t index);
  void namedSpec(std::string_view tag, std::string_view argument, std::string_view targetMember,
                 std::string_view target);
  void userSpec(std::string_view tag, JsonValue held);

  int64_t major_;
  const NameSet& stateDict_;
  JsonWriter writer_;
  std::string lost_;
  std::vector<Step> path_;
  std::optional<JsonValue> graph_;     // of the program
  std::optional<JsonValue> callSpec_;  // of the program, if it has one
  bool isExir_ = false;                // ExecuTorch's fork of major 5
  std::string graphPath_;              // dotted path of the graph module
  std::vector<ExirDelegate> delegates_;
};

}  // namespace edgefx::detail
