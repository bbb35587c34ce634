#pragma once

#include <edgefx/ir/node.h>

#include "ir/storage.h"
#include "serialization/json_reader.h"
#include "serialization/load_caches.h"

#include <string_view>
#include <vector>

namespace edgefx::detail {

// Reads the descriptions of values: TensorMeta, SymInt and its kin.
class ValueReader {
 public:
  ValueReader(JsonReader& json, LoadCaches& caches) : json_(json), caches_(caches) {}

  // Into scratch memory that the next call overwrites. `unknown` is called for members the schema lacks.
  template <typename Unknown>
  const TensorMeta& tensorMeta(JsonValue value, Unknown&& unknown) {
    uint32_t seen = json_.members(
        value, kTensorMeta, [this](size_t i, JsonValue member) { tensorMember(i, member); }, unknown);
    json_.require(kTensorMeta, seen, kTensorMeta.members.size());
    checkTensor();
    return tensor_;
  }
  SymInt symInt(JsonValue value);
  ValueRef symIntValue(JsonValue value);
  ValueRef symFloatValue(JsonValue value);
  ValueRef symBoolValue(JsonValue value);
  DeviceSpec device(JsonValue value);
  Dtype dtype(JsonValue value);
  Layout layout(JsonValue value);
  MemoryFormat memoryFormat(JsonValue value);

 private:
  static const JsonStruct kTensorMeta;

  void tensorMember(size_t i, JsonValue member);
  void shape(JsonValue value, std::string_view what, std::vector<SymInt>& into);
  void checkTensor() const;
  std::shared_ptr<const Symbolic> symbolic(JsonValue value);

  JsonReader& json_;
  LoadCaches& caches_;
  TensorMeta tensor_;
};

// The values of one graph by their names in the file, which need not be the names of their nodes.
class ValueTable {
 public:
  struct Value {
    std::string_view name;
    ValueRef meta;
    Node* node = nullptr;  // null until defined
  };

  explicit ValueTable(size_t expected);

  // The entry of a value that a node gives, or uses; null if there is no entry of that name. Fastest where
  // the entries have the order of the nodes, and for values given just before.
  Value* findGiven(std::string_view name);
  Value* findUsed(std::string_view name);
  // Returns null if there is an entry of that name already. The entry may move when others are added.
  Value* add(std::string_view name);
  // A hint that a name will be looked for or added soon: slots of large tables lie far from the cache.
  void expect(std::string_view name) const;
  size_t size() const { return values_.size(); }
  // A value that is likely to be given a little later, empty if there is none.
  std::string_view upcoming() const {
    return values_.size() - next_ > kAhead ? values_[next_ + kAhead].name : std::string_view();
  }

 private:
  static constexpr size_t kAhead = 4;
  static constexpr uint32_t kNone = ~uint32_t{0};
  // Small, so that the slots of large graphs stay in the cache; values near each other in the file are used
  // near each other.
  struct Slot {
    uint32_t hash = 0;
    uint32_t value = kNone;  // index into values_
  };

  Value* find(std::string_view name);
  size_t slotOf(std::string_view name, uint32_t hash) const;
  void grow();

  std::vector<Slot> slots_;
  std::vector<Value> values_;
  size_t next_ = 0;  // index of the entry after the one given last
  TextPages names_;
};

}  // namespace edgefx::detail
