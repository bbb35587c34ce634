#include <edgefx/ir/scalar_type.h>
#include <edgefx/ir/sym_value.h>
#include <edgefx/run/verify_lowering.h>
#include <edgefx/support/error.h>

#include "run/input_binding.h"
#include "support/fail.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>

namespace edgefx {
namespace {

using detail::fail;
using detail::SymbolValues;

// Sizes of the symbols that the inputs name.
class SymbolChooser {
 public:
  explicit SymbolChooser(const ExportedProgram& program) {
    for (const RangeConstraint& range : program.rangeConstraints) ranges_.emplace(range.symbol, &range);
  }

  void see(const SymInt& size) {
    if (!size.isSymbolic()) return;
    const Symbolic& symbolic = *size.symbolic();
    for (const std::string& name : symbolic.expression.symbols()) {
      const auto [known, isNew] = hints_.try_emplace(name, std::nullopt);
      if (symbolic.expression.kind() == SymKind::Symbol && !known->second) {
        if (const int64_t* hint = std::get_if<int64_t>(&symbolic.hint)) known->second = *hint;
      }
    }
  }

  SymbolValues choose(std::mt19937_64& generator, bool isVaried) const {
    SymbolValues values;
    for (const auto& [name, hint] : hints_) {
      constexpr int64_t kUsual = 3;
      const auto found = ranges_.find(name);
      const int64_t least = found == ranges_.end() ? 0 : found->second->min.value_or(0);
      const int64_t most = found == ranges_.end() ? INT64_MAX : found->second->max.value_or(INT64_MAX);
      int64_t value = std::clamp(hint.value_or(kUsual), least, std::max(least, most));
      if (isVaried) {
        // Near what it was: far larger sizes only cost time.
        const int64_t low = std::max(least, value / 2);
        const int64_t high = std::max(low, std::min(most, value < INT64_MAX - 8 ? value + 8 : value));
        value = low + static_cast<int64_t>(generator() % (static_cast<uint64_t>(high - low) + 1));
      }
      values.emplace(name, value);
    }
    return values;
  }

 private:
  std::map<std::string, const RangeConstraint*, std::less<>> ranges_;
  std::map<std::string, std::optional<int64_t>> hints_;
};

double uniform(std::mt19937_64& generator) {
  constexpr double kScale = 1.0 / (uint64_t{1} << 52);
  return static_cast<double>(generator() >> 11) * kScale - 1.0;
}

class InputGenerator {
 public:
  InputGenerator(std::mt19937_64& generator, const SymbolValues& symbols)
      : generator_(generator), symbols_(symbols) {}

  c10::IValue generate(const Node& placeholder, const InputSpec& spec) {
    if (spec.arg.isConstant()) {
      return std::visit(
          [](const auto& value) -> c10::IValue {
            if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) {
              return {};
            } else {
              return value;
            }
          },
          spec.arg.value);
    }
    const ValueMeta* meta = placeholder.value();
    if (meta == nullptr) refuse(placeholder, "it has no description");
    if (const TensorMeta* tensor = meta->tensor()) return generateTensor(placeholder, *tensor);
    if (const auto* number = std::get_if<ValueMeta::SymIntValue>(&meta->data)) {
      return sizeOf(placeholder, number->value);
    }
    if (std::holds_alternative<ValueMeta::SymFloatValue>(meta->data)) return uniform(generator_);
    if (std::holds_alternative<ValueMeta::SymBoolValue>(meta->data)) return (generator_() & 1) != 0;
    refuse(placeholder, "it is " + meta->text());
  }

 private:
  [[noreturn]] static void refuse(const Node& placeholder, const std::string& why) {
    fail<UnsupportedError>("no value can be generated for input '{}': {}", placeholder.name(), why);
  }

  int64_t sizeOf(const Node& placeholder, const SymInt& size) const {
    const std::optional<int64_t> value = evaluate(size, [&](std::string_view symbol) {
      const auto found = symbols_.find(symbol);
      return found == symbols_.end() ? std::nullopt : std::optional<int64_t>(found->second);
    });
    if (!value) refuse(placeholder, "the value of '" + size.text() + "' is not known");
    return *value;
  }

  at::Tensor generateTensor(const Node& placeholder, const TensorMeta& meta) {
    const std::optional<at::ScalarType> type = toScalarType(meta.dtype);
    if (!type) refuse(placeholder, "this LibTorch has no dtype '" + std::string(fxText(meta.dtype)) + "'");
    constexpr int64_t kMostElements = int64_t{1} << 31;
    std::vector<int64_t> sizes;
    int64_t count = 1;
    for (const SymInt& size : meta.sizes) {
      sizes.push_back(sizeOf(placeholder, size));
      if (sizes.back() < 0 || __builtin_mul_overflow(count, sizes.back(), &count) || count > kMostElements) {
        refuse(placeholder, "it is too large");
      }
    }
    at::Tensor values = at::empty({count}, at::device(at::kCPU).dtype(at::kDouble));
    double* data = values.data_ptr<double>();
    const bool isWhole = isIntegral(meta.dtype) || meta.dtype == Dtype::Bool;
    for (int64_t i = 0; i < count; ++i) {
      data[i] = isWhole ? static_cast<double>(generator_() & 1) : uniform(generator_);
    }
    return withStrides(values.reshape(sizes).to(*type), placeholder, meta);
  }

  // Kernels may take another way with other strides.
  at::Tensor withStrides(at::Tensor tensor, const Node& placeholder, const TensorMeta& meta) const {
    if (meta.strides.size() != meta.sizes.size()) return tensor;
    std::vector<int64_t> strides;
    int64_t extent = 1;
    for (size_t i = 0; i < meta.strides.size(); ++i) {
      strides.push_back(sizeOf(placeholder, meta.strides[i]));
      extent += (tensor.size(static_cast<int64_t>(i)) - 1) * strides.back();
    }
    const bool isDense = tensor.numel() == 0 || extent == tensor.numel();
    if (!isDense || tensor.strides() == at::IntArrayRef(strides)) return tensor;
    return at::empty_strided(tensor.sizes(), strides, tensor.options()).copy_(tensor);
  }

  std::mt19937_64& generator_;
  const SymbolValues& symbols_;
};

}  // namespace

std::vector<c10::IValue> generateInputs(const ExportedProgram& program, uint64_t seed) {
  const std::vector<const Node*> placeholders = program.graph().placeholders();
  const std::vector<InputSpec>& specs = program.signature.inputs;
  if (placeholders.size() != specs.size()) {
    fail<VerificationError>("the signature has {} inputs, the graph {} placeholders", specs.size(),
                            placeholders.size());
  }
  SymbolChooser chooser(program);
  for (size_t i = 0; i < specs.size(); ++i) {
    const ValueMeta* meta = placeholders[i]->value();
    if (specs[i].kind != InputKind::UserInput || meta == nullptr) continue;
    if (const TensorMeta* tensor = meta->tensor()) {
      for (const SymInt& size : tensor->sizes) chooser.see(size);
      for (const SymInt& stride : tensor->strides) chooser.see(stride);
    }
    if (const auto* number = std::get_if<ValueMeta::SymIntValue>(&meta->data)) chooser.see(number->value);
  }

  const detail::InputBinding binding(program);
  std::mt19937_64 generator(seed);
  const auto generate = [&](bool isVaried) {
    const SymbolValues symbols = chooser.choose(generator, isVaried);
    InputGenerator inputs(generator, symbols);
    std::vector<c10::IValue> values;
    for (size_t i = 0; i < specs.size(); ++i) {
      if (specs[i].kind == InputKind::UserInput)
        values.push_back(inputs.generate(*placeholders[i], specs[i]));
    }
    SymbolValues bound;
    binding.bind(values, bound);
    return values;
  };
  // Shapes may ask for more than the ranges say, such as a multiple of something.
  constexpr int kAttempts = 16;
  for (int attempt = 0; seed != 0 && attempt < kAttempts; ++attempt) {
    try {
      return generate(true);
    } catch (const UsageError&) {
      continue;
    }
  }
  return generate(false);
}

}  // namespace edgefx
