#include "ir/dtype_promotion.h"
#include "ir/shape_layout.h"
#include "ir/shape_rules.h"
#include "ir/sym_arith.h"

#include <cmath>

// Tensors that are made from sizes and numbers.
namespace edgefx::detail {
namespace {

void refuseLayouts(const ShapeCall& call) {
  const Argument* const layout = call.find(kKeywordOnly, "layout");
  if (layout != nullptr &&
      (layout->kind() != ArgumentKind::Layout || layout->asLayout() != Layout::Strided)) {
    throw ShapeUnknown();
  }
}

TensorMeta makeTensor(const ShapeCall& call, Dtype dtype, Dims sizes) {
  refuseLayouts(call);
  for (const SymInt& size : sizes) {
    if (!size.isSymbolic() && size.value() < 0)
      call.fail("expected no size below 0, found {}", dimsText(sizes));
  }
  TensorMeta source;
  source.device = call.device(kKeywordOnly, "device").value_or(DeviceSpec());
  return contiguousLike(source, dtype, std::move(sizes));
}

Dtype numberDtype(const Argument& number) {
  DtypePromotion promotion;
  promotion.add(number);
  return promotion.result();
}

ValueRef sizedShape(const ShapeCall& call) {
  if (call.overload() == "names" || call.overload().starts_with("generator_with")) throw ShapeUnknown();
  const Dtype dtype = call.dtype(kKeywordOnly, "dtype").value_or(Dtype::Float32);
  TensorMeta made = makeTensor(call, dtype, call.sizes(0, "size"));
  const MemoryFormat format =
      call.memoryFormat(kKeywordOnly, "memory_format").value_or(MemoryFormat::Contiguous);
  if (format != MemoryFormat::Preserve) made.strides = formatStrides(call, made.sizes, format);
  return valueOf(std::move(made));
}

ValueRef fullShape(const ShapeCall& call) {
  if (call.overload() != "default") throw ShapeUnknown();
  std::optional<Dtype> dtype = call.dtype(kKeywordOnly, "dtype");
  if (!dtype) dtype = numberDtype(call.at(1, "fill_value"));
  return valueOf(makeTensor(call, *dtype, call.sizes(0, "size")));
}

ValueRef scalarTensorShape(const ShapeCall& call) {
  return valueOf(makeTensor(call, call.dtype(kKeywordOnly, "dtype").value_or(Dtype::Float32), {}));
}

ValueRef emptyStridedShape(const ShapeCall& call) {
  const Dtype dtype = call.dtype(kKeywordOnly, "dtype").value_or(Dtype::Float32);
  TensorMeta made = makeTensor(call, dtype, call.sizes(0, "size"));
  made.strides = call.sizes(1, "stride");
  if (made.strides.size() != made.sizes.size()) {
    call.fail("expected as many strides as sizes, found {} and {}", dimsText(made.strides),
              dimsText(made.sizes));
  }
  return valueOf(std::move(made));
}

ValueRef emptyPermutedShape(const ShapeCall& call) {
  const Dtype dtype = call.dtype(kKeywordOnly, "dtype").value_or(Dtype::Float32);
  TensorMeta made = makeTensor(call, dtype, call.sizes(0, "size"));
  const std::vector<int64_t> order = call.integers(1, "physical_layout");
  if (order.size() != made.sizes.size())
    call.fail("expected {} dimensions, found {}", made.sizes.size(), order.size());
  if (order.empty()) return valueOf(std::move(made));
  call.dimensions(order, made.sizes.size());
  std::vector<size_t> places;
  for (const int64_t dim : order) places.push_back(call.dimension(dim, made.sizes.size()));
  made.strides = orderedStrides(made.sizes, places);
  return valueOf(std::move(made));
}

// The count of start, start + step, ... below end.
ValueRef arangeShape(const ShapeCall& call) {
  const bool hasStart = call.overload() != "default";
  if (call.overload() == "out" || call.overload() == "start_out") throw ShapeUnknown();
  const Argument* const start = hasStart ? &call.at(0, "start") : nullptr;
  const Argument& end = call.at(hasStart ? 1 : 0, "end");
  const Argument* const step = hasStart ? call.find(2, "step") : nullptr;
  std::optional<Dtype> dtype = call.dtype(kKeywordOnly, "dtype");
  DtypePromotion promotion;
  for (const Argument* number : {start, &end, step}) {
    if (number != nullptr) promotion.add(*number);
  }
  const Dtype natural = promotion.result() == Dtype::Bool ? Dtype::Int64 : promotion.result();
  if (!dtype) dtype = natural;
  if (natural == Dtype::Int64) {
    const SymInt from = start == nullptr ? SymInt(0) : ShapeCall::sizeOf(*start);
    const SymInt by = step == nullptr ? SymInt(1) : ShapeCall::sizeOf(*step);
    if (!by.isSymbolic() && by.value() == 0) call.fail("expected a step other than 0");
    const SymInt span = symSub(ShapeCall::sizeOf(end), from);
    if (by.isSymbolic()) throw ShapeUnknown();
    if (!span.isSymbolic() && span.value() != 0 && (span.value() < 0) != (by.value() < 0)) {
      call.fail("expected an end that steps of {} lead to, found {} for a start at {}", by.value(),
                ShapeCall::sizeOf(end).text(), from.text());
    }
    const SymInt count = symMul(symFloorDiv(symMul(span, SymInt(-1)), by), SymInt(-1));
    return valueOf(makeTensor(call, *dtype, {count}));
  }
  const auto number = [](const Argument* argument, double otherwise) {
    if (argument == nullptr) return otherwise;
    if (argument->kind() == ArgumentKind::Float) return argument->asFloat();
    if (argument->isInt()) return static_cast<double>(argument->asInt());
    throw ShapeUnknown();
  };
  const double from = number(start, 0), by = number(step, 1), to = number(&end, 0);
  const double count = std::ceil((to - from) / by);
  if (!(count >= 0 && count < 9e18)) call.fail("expected an end that the steps lead to, found {}", to);
  return valueOf(makeTensor(call, *dtype, {SymInt(static_cast<int64_t>(count))}));
}

ValueRef linspaceShape(const ShapeCall& call) {
  if (call.overload() != "default") throw ShapeUnknown();
  const Dtype dtype = call.dtype(kKeywordOnly, "dtype").value_or(Dtype::Float32);
  return valueOf(makeTensor(call, dtype, {call.size(2, "steps")}));
}

ValueRef eyeShape(const ShapeCall& call) {
  const Dtype dtype = call.dtype(kKeywordOnly, "dtype").value_or(Dtype::Float32);
  const SymInt rows = call.size(0, "n");
  return valueOf(makeTensor(call, dtype, {rows, call.overload() == "m" ? call.size(1, "m") : rows}));
}

// full_like and its kin.
ValueRef likeShape(const ShapeCall& call) {
  refuseLayouts(call);
  const TensorMeta& self = call.tensor(0, "self");
  const MemoryFormat format =
      call.memoryFormat(kKeywordOnly, "memory_format").value_or(MemoryFormat::Preserve);
  TensorMeta made = copied(call, self, call.dtype(kKeywordOnly, "dtype").value_or(self.dtype), format);
  if (const std::optional<DeviceSpec> device = call.device(kKeywordOnly, "device")) made.device = *device;
  return valueOf(std::move(made));
}

// new_zeros and its kin: type and device of a tensor, sizes of their own.
ValueRef newShape(const ShapeCall& call) {
  refuseLayouts(call);
  const TensorMeta& self = call.tensor(0, "self");
  const Dtype dtype = call.dtype(kKeywordOnly, "dtype").value_or(self.dtype);
  TensorMeta made = contiguousLike(self, dtype, call.sizes(1, "size"));
  if (call.op() == "new_empty_strided") made.strides = call.sizes(2, "stride");
  if (const std::optional<DeviceSpec> device = call.device(kKeywordOnly, "device")) made.device = *device;
  return valueOf(std::move(made));
}

ValueRef emptyDimOrderShape(const ShapeCall& call) {
  const Dtype dtype = call.dtype(kKeywordOnly, "dtype").value_or(Dtype::Float32);
  TensorMeta made = makeTensor(call, dtype, call.sizes(0, "size"));
  const std::vector<int64_t> order = call.integers(kKeywordOnly, "dim_order");
  if (order.empty()) return valueOf(std::move(made));
  if (order.size() != made.sizes.size())
    call.fail("expected {} dimensions, found {}", made.sizes.size(), order.size());
  call.dimensions(order, made.sizes.size());
  std::vector<size_t> places;
  for (const int64_t dim : order) places.push_back(call.dimension(dim, made.sizes.size()));
  made.strides = orderedStrides(made.sizes, places);
  return valueOf(std::move(made));
}

constexpr NamedShapeRule kFactoryRules[] = {
    {"aten.empty", sizedShape},
    {"aten.zeros", sizedShape},
    {"aten.ones", sizedShape},
    {"aten.rand", sizedShape},
    {"aten.randn", sizedShape},
    {"aten.full", fullShape},
    {"aten.scalar_tensor", scalarTensorShape},
    {"aten.empty_strided", emptyStridedShape},
    {"aten.empty_permuted", emptyPermutedShape},
    {"aten.arange", arangeShape},
    {"aten.linspace", linspaceShape},
    {"aten.eye", eyeShape},
    {"aten.empty_like", likeShape},
    {"aten.zeros_like", likeShape},
    {"aten.ones_like", likeShape},
    {"aten.full_like", likeShape},
    {"aten.rand_like", likeShape},
    {"aten.randn_like", likeShape},
    {"aten.new_empty", newShape},
    {"aten.new_empty_strided", newShape},
    {"aten.new_zeros", newShape},
    {"aten.new_ones", newShape},
    {"aten.new_full", newShape},
    {"dim_order_ops._empty_dim_order", emptyDimOrderShape},
};

}  // namespace

std::span<const NamedShapeRule> factoryShapeRules() {
  return kFactoryRules;
}

}  // namespace edgefx::detail
