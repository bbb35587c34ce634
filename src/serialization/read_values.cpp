#include "serialization/read_values.h"

#include "serialization/byte_text.h"
#include "support/fail.h"
#include "support/text_hash.h"

#include <array>
#include <bit>

namespace edgefx::detail {
namespace {

constexpr std::array<std::string_view, 7> kTensorMembers = {
    "dtype", "sizes", "requires_grad", "device", "strides", "storage_offset", "layout"};
constexpr std::array<std::string_view, 2> kDeviceMembers = {"type", "index"};
constexpr std::array<std::string_view, 2> kSymExprMembers = {"expr_str", "hint"};
constexpr JsonStruct kDevice{"Device", kDeviceMembers};
constexpr JsonStruct kSymExpr{"SymExpr", kSymExprMembers};

}  // namespace

const JsonStruct ValueReader::kTensorMeta{"TensorMeta", kTensorMembers};

void ValueReader::tensorMember(size_t i, JsonValue member) {
  switch (i) {
    case 0:
      tensor_.dtype = dtype(member);
      break;
    case 1:
      shape(member, "sizes", tensor_.sizes);
      break;
    case 2:
      tensor_.requiresGrad = json_.boolean(member, "requires_grad");
      break;
    case 3:
      tensor_.device = device(member);
      break;
    case 4:
      shape(member, "strides", tensor_.strides);
      break;
    case 5:
      tensor_.storageOffset = symInt(member);
      break;
    default:
      tensor_.layout = layout(member);
      break;
  }
}

void ValueReader::shape(JsonValue value, std::string_view what, std::vector<SymInt>& into) {
  into.clear();
  for (JsonValue item : json_.array(value, what)) into.push_back(symInt(item));
}

void ValueReader::checkTensor() const {
  if (tensor_.sizes.size() != tensor_.strides.size()) {
    json_.fail(fmt::format("{} sizes, but {} strides", tensor_.sizes.size(), tensor_.strides.size()));
  }
  // Counted in bytes, strides included: whoever allocates or indexes by this must not overflow.
  auto elements = static_cast<int64_t>(elementSize(tensor_.dtype));
  int64_t extent = tensor_.storageOffset.value();
  bool overflow = false, isEmpty = false;
  for (const SymInt& size : tensor_.sizes) {
    if (size.value() < 0) json_.fail(fmt::format("size {} is negative", size.value()));
    if (size.isSymbolic()) continue;
    isEmpty |= size.value() == 0;
    overflow |= __builtin_mul_overflow(elements, size.value(), &elements);
  }
  for (size_t i = 0; i < tensor_.sizes.size(); ++i) {
    int64_t reach = 0;
    if (tensor_.sizes[i].isSymbolic() || tensor_.sizes[i].value() == 0) continue;
    overflow |= __builtin_mul_overflow(tensor_.sizes[i].value() - 1, tensor_.strides[i].value(), &reach) ||
                __builtin_add_overflow(extent, reach, &extent);
  }
  if (overflow && !isEmpty) json_.fail("the tensor's size overflows 64 bits");
  for (const SymInt& stride : tensor_.strides) {
    if (stride.value() < 0) json_.fail(fmt::format("stride {} is negative", stride.value()));
  }
  if (tensor_.storageOffset.value() < 0) {
    json_.fail(fmt::format("storage offset {} is negative", tensor_.storageOffset.value()));
  }
}

std::shared_ptr<const Symbolic> ValueReader::symbolic(JsonValue value) {
  std::string_view expression;
  SymHint hint;
  uint32_t seen = json_.members(
      value, kSymExpr,
      [&](size_t i, JsonValue member) {
        if (i == 0) {
          expression = json_.string(member, "expr_str");
          return;
        }
        if (member.is_null()) return;
        auto [tag, number] = json_.tagged(member, "SymExprHint");
        if (tag == "as_int") {
          hint = json_.integer(number, tag);
        } else if (tag == "as_bool") {
          hint = json_.boolean(number, tag);
        } else if (tag == "as_float") {
          hint = json_.number(number, tag);
        } else {
          json_.fail(fmt::format("unknown tag '{}' of SymExprHint", printable(tag)));
        }
      },
      kIgnore);
  json_.require(kSymExpr, seen, 1);
  try {
    return caches_.symbolic(expression, hint);
  } catch (const Error& error) {
    json_.fail(error.diagnostics().front().message);
  }
}

SymInt ValueReader::symInt(JsonValue value) {
  auto [tag, held] = json_.tagged(value, "SymInt");
  if (sameName(tag, "as_int")) return SymInt(json_.integer(held, tag));
  if (tag != "as_expr") json_.fail(fmt::format("unknown tag '{}' of SymInt", printable(tag)));
  auto expression = symbolic(held);
  if (expression->hint.index() > 1) json_.fail("the hint of a symbolic integer must be an integer");
  return SymInt(std::move(expression));
}

ValueRef ValueReader::symIntValue(JsonValue value) {
  return ValueMeta::of(ValueMeta::SymIntValue{symInt(value)});
}

ValueRef ValueReader::symFloatValue(JsonValue value) {
  auto [tag, held] = json_.tagged(value, "SymFloat");
  if (tag == "as_float") return ValueMeta::of(ValueMeta::SymFloatValue{json_.number(held, tag)});
  if (tag != "as_expr") json_.fail(fmt::format("unknown tag '{}' of SymFloat", printable(tag)));
  return ValueMeta::of(ValueMeta::SymFloatValue{*symbolic(held)});
}

ValueRef ValueReader::symBoolValue(JsonValue value) {
  auto [tag, held] = json_.tagged(value, "SymBool");
  if (tag == "as_bool") return ValueMeta::of(ValueMeta::SymBoolValue{json_.boolean(held, tag)});
  if (tag != "as_expr") json_.fail(fmt::format("unknown tag '{}' of SymBool", printable(tag)));
  return ValueMeta::of(ValueMeta::SymBoolValue{*symbolic(held)});
}

DeviceSpec ValueReader::device(JsonValue value) {
  DeviceSpec device;
  uint32_t seen = json_.members(
      value, kDevice,
      [&](size_t i, JsonValue member) {
        if (i == 0) {
          device.type = json_.string(member, "type");
        } else if (!member.is_null()) {
          device.index = json_.integer(member, "index");
        }
      },
      kIgnore);
  json_.require(kDevice, seen, 1);
  if (device.type.empty() || device.type.find(':') != std::string::npos) {
    json_.fail(fmt::format("'{}' is no type of a device", printable(device.type)));
  }
  return device;
}

Dtype ValueReader::dtype(JsonValue value) {
  int64_t number = json_.integer(value, "dtype");
  std::optional<Dtype> dtype = dtypeFromNumber(number);
  if (!dtype) json_.fail(fmt::format("unknown dtype number {}", number));
  return *dtype;
}

Layout ValueReader::layout(JsonValue value) {
  int64_t number = json_.integer(value, "layout");
  std::optional<Layout> layout = layoutFromNumber(number);
  if (!layout) json_.fail(fmt::format("unknown layout number {}", number));
  return *layout;
}

MemoryFormat ValueReader::memoryFormat(JsonValue value) {
  int64_t number = json_.integer(value, "memory format");
  std::optional<MemoryFormat> format = memoryFormatFromNumber(number);
  if (!format) json_.fail(fmt::format("unknown memory format number {}", number));
  return *format;
}

ValueTable::ValueTable(size_t expected) : slots_(std::bit_ceil(expected + expected / 2 + 8)) {
  values_.reserve(expected);
}

size_t ValueTable::slotOf(std::string_view name, uint32_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t i = hash & mask;
  while (slots_[i].value != kNone &&
         (slots_[i].hash != hash || !sameName(values_[slots_[i].value].name, name))) {
    i = (i + 1) & mask;
  }
  return i;
}

void ValueTable::expect(std::string_view name) const {
  __builtin_prefetch(&slots_[static_cast<uint32_t>(hashText(name)) & (slots_.size() - 1)]);
}

ValueTable::Value* ValueTable::find(std::string_view name) {
  const Slot& slot = slots_[slotOf(name, static_cast<uint32_t>(hashText(name)))];
  return slot.value == kNone ? nullptr : &values_[slot.value];
}

ValueTable::Value* ValueTable::findGiven(std::string_view name) {
  const bool isNext = next_ < values_.size() && sameName(values_[next_].name, name);
  Value* value = isNext ? &values_[next_] : find(name);
  if (value != nullptr) next_ = static_cast<size_t>(value - values_.data()) + 1;
  // Values are used soon after they were given.
  if (const std::string_view later = upcoming(); !later.empty()) expect(later);
  return value;
}

ValueTable::Value* ValueTable::findUsed(std::string_view name) {
  if (next_ > 0 && sameName(values_[next_ - 1].name, name)) return &values_[next_ - 1];
  return find(name);
}

ValueTable::Value* ValueTable::add(std::string_view name) {
  if (values_.size() * 4 >= slots_.size() * 3) grow();
  const auto hash = static_cast<uint32_t>(hashText(name));
  Slot& slot = slots_[slotOf(name, hash)];
  if (slot.value != kNone) return nullptr;
  slot = {hash, static_cast<uint32_t>(values_.size())};
  values_.emplace_back().name = names_.store(name);
  return &values_.back();
}

void ValueTable::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.value == kNone) continue;
    size_t i = slot.hash & mask;
    while (slots_[i].value != kNone) i = (i + 1) & mask;
    slots_[i] = slot;
  }
}

}  // namespace edgefx::detail
