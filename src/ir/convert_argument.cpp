#include "ir/convert_argument.h"

#include <edgefx/ir/scalar_type.h>
#include <edgefx/support/python_text.h>

#include "support/fail.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/scalar_tensor.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>

#include <optional>
#include <utility>
#include <vector>

namespace edgefx::detail {
namespace {

at::Layout torchLayout(Layout layout) {
  switch (layout) {
    case Layout::SparseCoo:
      return at::kSparse;
    case Layout::SparseCsr:
      return at::kSparseCsr;
    case Layout::SparseCsc:
      return at::kSparseCsc;
    case Layout::SparseBsr:
      return at::kSparseBsr;
    case Layout::SparseBsc:
      return at::kSparseBsc;
    case Layout::Mkldnn:
      return at::kMkldnn;
    case Layout::Strided:
      return at::kStrided;
    case Layout::Unknown:
      break;
  }
  fail<UnsupportedError>("LibTorch has no layout '{}'", fxText(layout));
}

at::MemoryFormat torchMemoryFormat(MemoryFormat format) {
  switch (format) {
    case MemoryFormat::Contiguous:
      return at::MemoryFormat::Contiguous;
    case MemoryFormat::ChannelsLast:
      return at::MemoryFormat::ChannelsLast;
    case MemoryFormat::ChannelsLast3d:
      return at::MemoryFormat::ChannelsLast3d;
    case MemoryFormat::Preserve:
      return at::MemoryFormat::Preserve;
    case MemoryFormat::Unknown:
      break;
  }
  fail<UnsupportedError>("LibTorch has no memory format '{}'", fxText(format));
}

c10::IValue listOf(std::span<const Argument> items, const LeafValues& leaves) {
  c10::impl::GenericList list(c10::AnyType::get());
  list.reserve(items.size());
  for (const Argument& item : items) list.push_back(toIValue(item, leaves));
  return list;
}

c10::IValue integersOf(std::span<const Argument> bounds, const LeafValues& leaves) {
  int64_t parts[3];
  for (int i = 0; i < 3; ++i) {
    const c10::IValue part = toIValue(bounds[i], leaves);
    if (!part.isInt()) fail<UnsupportedError>("a range takes ints, got {}", describe(part));
    parts[i] = part.toInt();
  }
  const auto [start, stop, step] = parts;
  constexpr int64_t kMostItems = 1 << 20;
  c10::impl::GenericList list(c10::IntType::get());
  if (step == 0) fail<UnsupportedError>("a range has step 0");
  for (int64_t at = start; step > 0 ? at < stop : at > stop;) {
    if (list.size() == kMostItems) fail<UnsupportedError>("a range has more than {} items", kMostItems);
    list.push_back(at);
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return list;
}

[[noreturn]] void refuse(const c10::IValue& value, const c10::Argument& declared) {
  fail<UsageError>("argument '{}' is declared as {}, got {}", declared.name(),
                   declared.real_type()->annotation_str(), describe(value));
}

c10::IValue wrappedNumber(const c10::IValue& number) {
  at::Tensor tensor = at::scalar_tensor(number.toScalar(), at::device(at::kCPU).dtype([&] {
    if (number.isBool()) return at::kBool;
    if (number.isInt()) return at::kLong;
    return number.isComplexDouble() ? at::kComplexDouble : at::kDouble;
  }()));
  // Such a tensor takes part in type promotion as the number that it is.
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

std::optional<c10::IValue> itemOf(const c10::IValue& value) {
  if (!value.isTensor() || !value.toTensor().defined() || value.toTensor().numel() != 1) return std::nullopt;
  return scalarValue(value.toTensor().item());
}

c10::IValue convertTo(c10::IValue value, const c10::Type& type, const c10::Argument& declared);

c10::IValue convertList(const c10::IValue& value, const c10::ListType& type, const c10::Argument& declared) {
  const c10::TypePtr& element = type.getElementType();
  c10::impl::GenericList list(element);
  if (value.isList()) {
    const c10::ArrayRef<c10::IValue> items = value.toListRef();
    list.reserve(items.size());
    for (const c10::IValue& item : items) list.push_back(convertTo(item, *element, declared));
  } else if (value.isTuple()) {
    for (const c10::IValue& item : value.toTupleRef().elements()) {
      list.push_back(convertTo(item, *element, declared));
    }
  } else if (const auto length = declared.N(); length && !value.isNone()) {
    const c10::IValue item = convertTo(value, *element, declared);
    for (int32_t i = 0; i < *length; ++i) list.push_back(item);
  } else {
    refuse(value, declared);
  }
  return list;
}

c10::IValue convertTo(c10::IValue value, const c10::Type& type, const c10::Argument& declared) {
  switch (type.kind()) {
    case c10::TypeKind::OptionalType:
      if (value.isNone()) return value;
      return convertTo(std::move(value), *type.castRaw<c10::OptionalType>()->getElementType(), declared);
    case c10::TypeKind::TensorType:
      if (value.isTensor()) return value;
      if (value.isScalar()) return wrappedNumber(value);
      refuse(value, declared);
    case c10::TypeKind::NumberType:
      if (value.isScalar()) return value;
      if (auto item = itemOf(value)) return *item;
      refuse(value, declared);
    case c10::TypeKind::FloatType:
      if (value.isDouble()) return value;
      if (value.isInt()) return static_cast<double>(value.toInt());
      if (value.isBool()) return value.toBool() ? 1.0 : 0.0;
      if (auto item = itemOf(value)) return convertTo(std::move(*item), type, declared);
      refuse(value, declared);
    case c10::TypeKind::IntType:
      if (value.isInt()) return value;
      if (value.isBool()) return int64_t{value.toBool()};
      if (auto item = itemOf(value)) return convertTo(std::move(*item), type, declared);
      refuse(value, declared);
    case c10::TypeKind::BoolType:
      if (value.isBool()) return value;
      if (auto item = itemOf(value)) return convertTo(std::move(*item), type, declared);
      refuse(value, declared);
    case c10::TypeKind::StringType:
      if (value.isString()) return value;
      refuse(value, declared);
    case c10::TypeKind::DeviceObjType:
      if (value.isDevice()) return value;
      if (value.isString()) return c10::Device(value.toStringRef());
      refuse(value, declared);
    case c10::TypeKind::GeneratorType:
      if (value.isGenerator()) return value;
      refuse(value, declared);
    case c10::TypeKind::ListType:
      return convertList(value, *type.castRaw<c10::ListType>(), declared);
    default:
      return value;
  }
}

void describeItems(std::string& out, c10::ArrayRef<c10::IValue> items) {
  constexpr size_t kShown = 8;
  for (size_t i = 0; i < items.size() && i < kShown; ++i) {
    if (i > 0) out += ", ";
    out += describe(items[i]);
  }
  if (items.size() > kShown) out += ", ...";
}

}  // namespace

c10::IValue scalarValue(const at::Scalar& scalar) {
  if (scalar.isBoolean()) return scalar.toBool();
  if (scalar.isIntegral(false)) return scalar.toLong();
  if (scalar.isComplex()) return scalar.toComplexDouble();
  return scalar.toDouble();
}

c10::IValue toIValue(const Argument& argument, const LeafValues& leaves) {
  switch (argument.kind()) {
    case ArgumentKind::None:
      return {};
    case ArgumentKind::Bool:
      return argument.asBool();
    case ArgumentKind::Int:
      return argument.asInt();
    case ArgumentKind::Float:
      return argument.asFloat();
    case ArgumentKind::Complex: {
      const auto [real, imaginary] = argument.asComplex();
      return c10::complex<double>(real, imaginary);
    }
    case ArgumentKind::String:
      return std::string(argument.asString());
    case ArgumentKind::Node:
      return leaves.node(argument.asNode());
    case ArgumentKind::List:
    case ArgumentKind::Tuple:
      return listOf(argument.items(), leaves);
    case ArgumentKind::Range:
      return integersOf(argument.items(), leaves);
    case ArgumentKind::Symbolic:
      return leaves.symbolic(argument.asSymbolic());
    case ArgumentKind::Dtype: {
      const auto type = toScalarType(argument.asDtype());
      if (!type) fail<UnsupportedError>("this LibTorch has no dtype '{}'", fxText(argument.asDtype()));
      return static_cast<int64_t>(*type);
    }
    case ArgumentKind::Layout:
      return static_cast<int64_t>(torchLayout(argument.asLayout()));
    case ArgumentKind::MemoryFormat:
      return static_cast<int64_t>(torchMemoryFormat(argument.asMemoryFormat()));
    case ArgumentKind::Device:
      return c10::Device(std::string(argument.asDevice()));
    case ArgumentKind::Dict:
    case ArgumentKind::Slice:
    case ArgumentKind::Ellipsis:
    case ArgumentKind::Operator:
      break;
  }
  fail<UnsupportedError>("an argument of kind {} cannot be passed to a kernel", name(argument.kind()));
}

c10::IValue convertArgument(c10::IValue value, const c10::Argument& declared) {
  return convertTo(std::move(value), *declared.type(), declared);
}

c10::IValue defaultArgument(const c10::Argument& declared) {
  if (declared.default_value()) return *declared.default_value();
  if (declared.type()->kind() == c10::TypeKind::OptionalType) return {};
  fail<UsageError>("argument '{}' of type {} is missing", declared.name(),
                   declared.real_type()->annotation_str());
}

std::string describe(const c10::IValue& value) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined()) return "an undefined tensor";
    const std::optional<Dtype> dtype = fromScalarType(tensor.scalar_type());
    std::string out(dtype ? fxText(*dtype).substr(6) : std::string_view(c10::toString(tensor.scalar_type())));
    return out + fmt::format("[{}]", fmt::join(tensor.sizes(), ", "));
  }
  if (value.isNone()) return "None";
  if (value.isBool()) return value.toBool() ? "True" : "False";
  if (value.isInt()) return std::to_string(value.toInt());
  if (value.isDouble()) {
    std::string out;
    appendRepr(out, value.toDouble());
    return out;
  }
  if (value.isString()) {
    std::string out;
    appendReprString(out, value.toStringRef());
    return out;
  }
  if (value.isList()) {
    std::string out = "[";
    describeItems(out, value.toListRef());
    return out + ']';
  }
  if (value.isTuple()) {
    std::string out = "(";
    describeItems(out, value.toTupleRef().elements());
    return out + ')';
  }
  return "a value of type " + value.tagKind();
}

}  // namespace edgefx::detail
