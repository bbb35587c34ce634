#include "ir/shape_layout.h"
#include "ir/shape_rules.h"

// Copies and conversions.
namespace edgefx::detail {
namespace {

ValueRef sameTensor(TensorMeta tensor) {
  tensor.requiresGrad = false;
  return valueOf(std::move(tensor));
}

ValueRef cloneShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  const MemoryFormat format =
      call.memoryFormat(kKeywordOnly, "memory_format").value_or(MemoryFormat::Preserve);
  return valueOf(copied(call, self, self.dtype, format));
}

ValueRef contiguousShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  const MemoryFormat format =
      call.memoryFormat(kKeywordOnly, "memory_format").value_or(MemoryFormat::Contiguous);
  if (format == MemoryFormat::Preserve || format == MemoryFormat::Unknown) throw ShapeUnknown();
  if (hasFormat(self, format)) return sameTensor(self);
  return valueOf(copied(call, self, self.dtype, format));
}

ValueRef toCopyShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  if (const Argument* const layout = call.find(kKeywordOnly, "layout")) {
    if (layout->kind() != ArgumentKind::Layout || layout->asLayout() != Layout::Strided) throw ShapeUnknown();
  }
  const MemoryFormat format =
      call.memoryFormat(kKeywordOnly, "memory_format").value_or(MemoryFormat::Preserve);
  TensorMeta made = copied(call, self, call.dtype(kKeywordOnly, "dtype").value_or(self.dtype), format);
  if (const std::optional<DeviceSpec> device = call.device(kKeywordOnly, "device")) made.device = *device;
  return valueOf(std::move(made));
}

// The tensor itself if it is as wanted.
ValueRef toShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  const std::string_view overload = call.overload();
  std::optional<Dtype> dtype;
  std::optional<DeviceSpec> device;
  size_t copyAt = 0;
  if (overload == "dtype") {
    dtype = call.dtype(1, "dtype");
    copyAt = 3;
  } else if (overload == "device") {
    device = call.device(1, "device");
    dtype = call.dtype(2, "dtype");
    copyAt = 4;
  } else if (overload == "dtype_layout") {
    dtype = call.dtype(kKeywordOnly, "dtype");
    device = call.device(kKeywordOnly, "device");
    copyAt = kKeywordOnly;
    if (const Argument* const layout = call.find(kKeywordOnly, "layout")) {
      if (layout->kind() != ArgumentKind::Layout || layout->asLayout() != Layout::Strided)
        throw ShapeUnknown();
    }
  } else if (overload == "other") {
    const TensorMeta& other = call.tensor(1, "other");
    dtype = other.dtype;
    device = other.device;
    copyAt = 3;
  } else {
    throw ShapeUnknown();
  }
  const bool mustCopy = call.boolean(copyAt, "copy", false);
  const size_t formatAt = copyAt == kKeywordOnly ? kKeywordOnly : copyAt + 1;
  const MemoryFormat format = call.memoryFormat(formatAt, "memory_format").value_or(MemoryFormat::Preserve);
  const bool isSame = (!dtype || *dtype == self.dtype) && (!device || *device == self.device) &&
                      (format == MemoryFormat::Preserve || suggestedFormat(self) == format);
  if (isSame && !mustCopy) return sameTensor(self);
  TensorMeta made = copied(call, self, dtype.value_or(self.dtype), format);
  if (device) made.device = *device;
  return valueOf(std::move(made));
}

// copy(self, src): the result is a copy of src in the place of self.
ValueRef copyShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  const TensorMeta* const inputs[] = {&self, &call.tensor(1, "src")};
  const Dims sizes = broadcast(call, inputs);
  if (sizes.size() != self.sizes.size()) {
    call.fail("expected a source that broadcasts to {}, found sizes {}", dimsText(self.sizes),
              dimsText(inputs[1]->sizes));
  }
  return valueOf(copied(call, self, self.dtype, MemoryFormat::Preserve));
}

ValueRef dimOrderShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  TensorMeta made = contiguousLike(self, call.dtype(kKeywordOnly, "dtype").value_or(self.dtype), self.sizes);
  if (const std::optional<DeviceSpec> device = call.device(kKeywordOnly, "device")) made.device = *device;
  const std::vector<int64_t> order = call.integers(kKeywordOnly, "dim_order");
  if (order.empty()) {
    if (!self.sizes.empty() && call.find(kKeywordOnly, "dim_order") == nullptr)
      made.strides = preservedStrides(self);
    return valueOf(std::move(made));
  }
  if (order.size() != self.sizes.size())
    call.fail("expected {} dimensions, found {}", self.sizes.size(), order.size());
  call.dimensions(order, self.sizes.size());
  std::vector<size_t> places;
  for (const int64_t dim : order) places.push_back(call.dimension(dim, self.sizes.size()));
  made.strides = orderedStrides(self.sizes, places);
  return valueOf(std::move(made));
}

constexpr NamedShapeRule kCopyRules[] = {
    {"aten.clone", cloneShape},
    {"aten.lift_fresh_copy", cloneShape},
    {"aten.contiguous", contiguousShape},
    {"aten._to_copy", toCopyShape},
    {"aten.to", toShape},
    {"aten.copy", copyShape},
    {"dim_order_ops._to_dim_order_copy", dimOrderShape},
    {"dim_order_ops._clone_dim_order", dimOrderShape},
};

}  // namespace

std::span<const NamedShapeRule> copyShapeRules() {
  return kCopyRules;
}

}  // namespace edgefx::detail
