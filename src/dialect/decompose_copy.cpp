#include "dialect/decomposition.h"
#include "ir/shape_layout.h"

// Conversions and copies: nothing where nothing changes.
namespace edgefx::detail {
namespace {

// What a tensor is to be converted to; what is not given stays.
struct Conversion {
  std::optional<Dtype> dtype{};
  std::optional<Layout> layout{};
  std::optional<DeviceSpec> device{};
  std::optional<MemoryFormat> format{};
  bool nonBlocking = false;
  bool copies = false;
};

bool changesTensor(const TensorMeta& tensor, const Conversion& to) {
  if (to.copies || (to.dtype && *to.dtype != tensor.dtype)) return true;
  if (to.device && (to.device->type != tensor.device.type ||
                    (to.device->index && to.device->index != tensor.device.index))) {
    return true;
  }
  if (!to.format || *to.format == MemoryFormat::Preserve) return false;
  try {
    return !hasFormat(tensor, *to.format);
  } catch (const ShapeUnknown&) {
    return true;
  }
}

Node& converted(Decomposition& c, Node& x, const Conversion& to) {
  c.need(!to.layout || *to.layout == Layout::Strided, "its layout is not strided");
  if (!changesTensor(c.meta(x), to)) return x;
  Kwargs kwargs;
  if (to.dtype) kwargs.emplace_back("dtype", *to.dtype);
  if (to.layout) kwargs.emplace_back("layout", *to.layout);
  if (to.device) kwargs.emplace_back("device", Arg::device(text(*to.device)));
  if (to.nonBlocking) kwargs.emplace_back("non_blocking", true);
  if (to.format) kwargs.emplace_back("memory_format", *to.format);
  return c.emit("_to_copy.default", {x}, kwargs);
}

// non_blocking, copy and memory_format from place `i` on.
void readTail(const Decomposition& c, size_t i, Conversion& to) {
  const bool isKeyed = i == kKeywordOnly;
  to.nonBlocking = c.boolean(i, "non_blocking", false);
  to.copies = c.boolean(isKeyed ? i : i + 1, "copy", false);
  to.format = c.memoryFormat(isKeyed ? i : i + 2, "memory_format");
}

Replacement toDtypeRule(Decomposition& c) {
  Conversion to{.dtype = c.dtype(1, "dtype")};
  readTail(c, 2, to);
  return converted(c, c.in(0, "self"), to);
}

Replacement toDeviceRule(Decomposition& c) {
  Conversion to{.dtype = c.dtype(2, "dtype"), .device = c.device(1, "device")};
  readTail(c, 3, to);
  return converted(c, c.in(0, "self"), to);
}

Replacement toLayoutRule(Decomposition& c) {
  Conversion to{.dtype = c.dtype(kKeywordOnly, "dtype"), .device = c.device(kKeywordOnly, "device")};
  if (const Argument* layout = c.find(kKeywordOnly, "layout")) to.layout = layout->asLayout();
  readTail(c, kKeywordOnly, to);
  return converted(c, c.in(0, "self"), to);
}

Replacement toOtherRule(Decomposition& c) {
  const TensorMeta& other = c.tensor(1, "other");
  Conversion to{.dtype = other.dtype, .device = other.device};
  if (c.op() == "to") readTail(c, 2, to);
  return converted(c, c.in(0, "self"), to);
}

Replacement contiguousRule(Decomposition& c) {
  const MemoryFormat format =
      c.memoryFormat(kKeywordOnly, "memory_format").value_or(MemoryFormat::Contiguous);
  return c.contiguous(c.in(0, "self"), format);
}

Replacement cloneRule(Decomposition& c) {
  return c.emit("clone.default", {c.in(0, "self")});
}

// Arguments as Python passes them on: by position where the schema has a position for them.
Replacement assertMetadataRule(Decomposition& c) {
  Node& x = c.in(0, "a");
  const Argument* const dtype = c.find(kKeywordOnly, "dtype");
  c.need(dtype != nullptr && c.node().args().size() == 1, "it has the form of Core ATen");
  Kwargs kwargs = c.passed({"device", "layout"});
  return c.emit("_assert_tensor_metadata.default",
                {x, c.argOr(kKeywordOnly, "size", nullptr), c.argOr(kKeywordOnly, "stride", nullptr), *dtype},
                kwargs);
}

Replacement itemRule(Decomposition& c) {
  return c.emit("_local_scalar_dense.default", {c.in(0, "self")});
}

constexpr NamedDecomposition kCopyDecompositions[] = {
    {"to.dtype", toDtypeRule},
    {"to.device", toDeviceRule},
    {"to.dtype_layout", toLayoutRule},
    {"to.other", toOtherRule},
    {"type_as.default", toOtherRule},
    {"contiguous.default", contiguousRule},
    {"lift_fresh_copy.default", cloneRule},
    {"_assert_tensor_metadata.default", assertMetadataRule},
    {"item.default", itemRule},
};

}  // namespace

std::span<const NamedDecomposition> copyDecompositions() {
  return kCopyDecompositions;
}

}  // namespace edgefx::detail
