#include "run/equivalent_table.h"
#include "run/on_stack.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <array>
#include <cstdio>
#include <sstream>
#include <stdexcept>

namespace edgefx::detail {
namespace {

bool isTrue(const at::Scalar& value) {
  if (value.isBoolean()) return value.toBool();
  if (value.isIntegral(false)) return value.toLong() != 0;
  return value.isComplex() ? value.toComplexDouble() != 0.0 : value.toDouble() != 0;
}

void assertScalar(const at::Scalar& self, const std::string& message) {
  if (!isTrue(self)) throw std::runtime_error(message);
}

void assertAsync(const at::Tensor& self, const std::string& message) {
  if (self.numel() == 0) throw std::runtime_error("Boolean value of Tensor with no values is ambiguous");
  if (self.numel() > 1)
    throw std::runtime_error("Boolean value of Tensor with more than one value is ambiguous");
  assertScalar(self.item(), message);
}

template <typename Found, typename Expected>
void assertSame(const Found& found, const c10::optional<Expected>& expected, std::string_view what) {
  if (!expected || found == *expected) return;
  std::ostringstream text;
  text << "Tensor " << what << " mismatch! Expected: " << *expected << ", Got: " << found;
  throw std::runtime_error(text.str());
}

void assertTensorMetadata(const at::Tensor& tensor, const c10::optional<Ints>& sizes,
                          const c10::optional<Ints>& strides, const c10::optional<at::ScalarType>& dtype,
                          const c10::optional<c10::Device>& device, const c10::optional<at::Layout>& layout) {
  assertSame(tensor.sizes().vec(), sizes, "sizes");
  assertSame(tensor.strides().vec(), strides, "strides");
  assertSame(tensor.scalar_type(), dtype, "dtype");
  if (!tensor.is_meta()) assertSame(tensor.device(), device, "device");
  assertSame(tensor.layout(), layout, "layout");
}

int64_t constrainedSize(const at::Scalar& size) {
  if (!size.isIntegral(false)) throw std::runtime_error("Constraining SymFloat or Symbool is nyi");
  return size.toLong();
}

void constrainRange(const at::Scalar& size, const c10::optional<int64_t>& min,
                    const c10::optional<int64_t>& max) {
  const int64_t value = constrainedSize(size);
  const int64_t low = min.value_or(INT64_MIN), high = max.value_or(INT64_MAX);
  if (high < low) {
    throw std::runtime_error(
        fmt::format("Max must be greater than or equal to min. Got min={} max={}", low, high));
  }
  if (value < low || value > high)
    throw std::runtime_error(fmt::format("Invalid value range for {} between [{}, {}].", value, low, high));
}

void constrainRangeForSize(const at::Scalar& size, const c10::optional<int64_t>& min,
                           const c10::optional<int64_t>& max) {
  if (max && *max <= 2) {
    throw std::runtime_error(
        fmt::format("Max value to constrain_range_for_size must be greater than 2. got: {}", *max));
  }
  constrainRange(size, min.value_or(0), max);
}

// The functional forms give a copy of a token that later ones depend on.

at::Tensor functionalAssertScalar(const at::Scalar& self, const std::string& message,
                                  const at::Tensor& token) {
  assertScalar(self, message);
  return token.clone();
}

at::Tensor functionalAssertAsync(const at::Tensor& self, const std::string& message,
                                 const at::Tensor& token) {
  assertAsync(self, message);
  return token.clone();
}

at::Tensor functionalConstrainRange(const at::Scalar& size, const c10::optional<int64_t>& min,
                                    const c10::optional<int64_t>& max, const at::Tensor& token) {
  constrainRange(size, min, max);
  return token.clone();
}

at::Tensor functionalConstrainRangeForSize(const at::Scalar& size, const c10::optional<int64_t>& min,
                                           const c10::optional<int64_t>& max, const at::Tensor& token) {
  constrainRangeForSize(size, min, max);
  return token.clone();
}

at::Tensor makeDepToken(const c10::optional<at::ScalarType>& dtype, const c10::optional<at::Layout>& layout,
                        const c10::optional<c10::Device>& device, const c10::optional<bool>& pinMemory,
                        const c10::optional<at::MemoryFormat>& format) {
  return at::empty({}, dtype, layout, device, pinMemory, format);
}

void printText(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fputc('\n', stdout);
}

}  // namespace

std::span<const EquivalentEntry> assertionEquivalents() {
  static constexpr std::array kEntries = {
      EquivalentEntry{"aten._assert_async.msg", onStack<&assertAsync>},
      EquivalentEntry{"aten._assert_scalar.default", onStack<&assertScalar>},
      EquivalentEntry{"aten._assert_tensor_metadata.default", onStack<&assertTensorMetadata>, true},
      EquivalentEntry{"aten._functional_assert_async.msg", onStack<&functionalAssertAsync>},
      EquivalentEntry{"aten._functional_assert_scalar.default", onStack<&functionalAssertScalar>},
      EquivalentEntry{"aten._functional_sym_constrain_range.default", onStack<&functionalConstrainRange>},
      EquivalentEntry{"aten._functional_sym_constrain_range_for_size.default",
                      onStack<&functionalConstrainRangeForSize>},
      EquivalentEntry{"aten._make_dep_token.default", onStack<&makeDepToken>},
      EquivalentEntry{"aten._print.default", onStack<&printText>},
      EquivalentEntry{"aten.sym_constrain_range.default", onStack<&constrainRange>},
      EquivalentEntry{"aten.sym_constrain_range_for_size.default", onStack<&constrainRangeForSize>},
  };
  return kEntries;
}

}  // namespace edgefx::detail
