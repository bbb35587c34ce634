#pragma once

#include <edgefx/ir/meta.h>

#include "support/json_writer.h"

#include <string>
#include <string_view>
#include <unordered_map>

namespace edgefx::detail {

// {"tag": {"name": "x"}}
void writeNamed(JsonWriter& json, std::string_view tag, std::string_view name);
// {"tag": {"as_name": "x"}}
void writeSymbolicName(JsonWriter& json, std::string_view tag, std::string_view name);
// {"name": "x"}
void writeName(JsonWriter& json, std::string_view name);
// {"as_none": true}
inline void writeNone(JsonWriter& json) {
  json.raw(R"({"as_none": true})");
}
// {"name": "x", "class_fqn": "y"}
void writeCustomObject(JsonWriter& json, std::string_view name, std::string_view className);

void writeDevice(JsonWriter& json, const DeviceSpec& device);
void writeSymInt(JsonWriter& json, const SymInt& value);
void writeSymFloat(JsonWriter& json, const ValueMeta::SymFloatValue& value);
void writeSymBool(JsonWriter& json, const ValueMeta::SymBoolValue& value);
// As an Argument or ConstantValue: {"as_int": 3}.
void writeConstant(JsonWriter& json, const ConstantScalar& value);

// The members of a TensorMeta, up to its end, which the caller writes.
void openTensorMeta(JsonWriter& json, const TensorMeta& tensor);

// Texts of blocks that many nodes share, made once. Keyed by address: lives no longer than the program that
// is saved.
class SharedTexts {
 public:
  // A whole TensorMeta. `tensor` must be part of a ValueMeta.
  std::string_view tensorMeta(const TensorMeta& tensor);
  // A quoted string.
  std::string_view quoted(const std::string& text);

 private:
  std::unordered_map<const void*, std::string> texts_;
  JsonWriter scratch_;
};

}  // namespace edgefx::detail
