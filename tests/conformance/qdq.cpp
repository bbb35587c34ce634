#include "backends.h"

#include <cstdint>
#include <limits>
#include <optional>

namespace edgefx::conformance {
namespace {

// The argument at that place, whether it was passed by position or by name; null if it was left out.
const Argument* argument(const Node& node, size_t position, std::string_view name) {
  const Argument* found = node.findArg(position);
  return found != nullptr ? found : node.findKwarg(name);
}

template <typename Integer>
bool fits(int64_t low, int64_t high) {
  return low >= std::numeric_limits<Integer>::min() && high <= std::numeric_limits<Integer>::max();
}

bool hasKernel(const Node& node) {
  const Argument* low = argument(node, 3, "quant_min");
  const Argument* high = argument(node, 4, "quant_max");
  const Argument* dtype = argument(node, 5, "dtype");
  if (low == nullptr || high == nullptr || dtype == nullptr) return false;
  if (!low->isInt() || !high->isInt() || dtype->kind() != ArgumentKind::Dtype) return false;
  if (dtype->asDtype() == Dtype::Int8) return fits<int8_t>(low->asInt(), high->asInt());
  if (dtype->asDtype() == Dtype::Int16) return fits<int16_t>(low->asInt(), high->asInt());
  return false;
}

class Qdq final : public OpBackend {
 public:
  std::string_view name() const override { return "qdq"; }

  ExportedProgram lower(ExportedProgram program, std::string_view /*methodName*/) const override {
    for (const NestedModule& nested : namedModules(program.graphModule())) {
      for (Node& node : nested.module->graph().nodes()) {
        if (std::optional<Target> kernel = kernelOf(node)) node.setTarget(*kernel);
      }
    }
    return program;
  }

 private:
  static std::optional<Target> kernelOf(const Node& node) {
    static const Target kQuantize = Target::edge("quantized_decomposed.quantize_per_tensor.default");
    static const Target kDequantize = Target::edge("quantized_decomposed.dequantize_per_tensor.default");
    static const Target kQuantizeKernel = Target::edge("cortex_m.quantize_per_tensor.default");
    static const Target kDequantizeKernel = Target::edge("cortex_m.dequantize_per_tensor.default");
    if (node.isCall(kQuantize) && hasKernel(node)) return kQuantizeKernel;
    if (node.isCall(kDequantize) && hasKernel(node)) return kDequantizeKernel;
    return std::nullopt;
  }
};

}  // namespace

std::unique_ptr<OpBackend> makeQdq() {
  return std::make_unique<Qdq>();
}

}  // namespace edgefx::conformance
