#include <edgefx/ir/node_queries.h>
#include <edgefx/passes/standard.h>
#include <edgefx/program/tensor_table.h>

#include "passes/graph_facts.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace edgefx {
namespace {

using detail::argumentNode;
using detail::GraphFacts;

// Integers that a float32 can tell apart, so that quantizing gives back what was dequantized.
std::optional<std::pair<int64_t, int64_t>> exactRange(Dtype dtype) {
  switch (dtype) {
    case Dtype::Int8:
      return std::pair<int64_t, int64_t>(-128, 127);
    case Dtype::UInt8:
      return std::pair<int64_t, int64_t>(0, 255);
    case Dtype::Int16:
      return std::pair<int64_t, int64_t>(-32768, 32767);
    case Dtype::UInt16:
      return std::pair<int64_t, int64_t>(0, 65535);
    default:
      return std::nullopt;
  }
}

// Neither products nor quotients of a number of 16 bits with such a scale leave float32.
constexpr std::pair<double, double> kUsualScales(1e-30, 1e30);

class QuantizeFolder {
 public:
  QuantizeFolder(GraphModule& module, const ExportedProgram& program)
      : module_(module), program_(program), facts_(module, program) {}

  bool run() {
    bool isChanged = false;
    for (Node& node : module_.graph().nodes()) {
      if (!isCallOf(node, "quantize_")) continue;
      Node* const dequantized = argumentNode(node, 0);
      Node* const source = dequantized == nullptr ? nullptr : argumentNode(*dequantized, 0);
      if (source == nullptr || !foldsTo(node, *dequantized, *source)) continue;
      facts_.replace(node, *source);
      if (dequantized->numUsers() == 0) module_.graph().erase(*dequantized);
      isChanged = true;
    }
    return isChanged;
  }

 private:
  static bool isCallOf(const Node& node, std::string_view prefix) {
    return node.isCall() && node.target().ns() == "quantized_decomposed" &&
           node.target().op().starts_with(prefix);
  }

  bool foldsTo(const Node& quantize, const Node& dequantize, const Node& source) {
    if (!isCallOf(dequantize, "dequantize_")) return false;
    const std::string_view form = quantize.target().op().substr(std::string_view("quantize_").size());
    if (form != "per_tensor" && form != "per_channel") return false;
    if (dequantize.target().op().substr(std::string_view("dequantize_").size()) != form ||
        dequantize.target().overload() != quantize.target().overload()) {
      return false;
    }
    // x, scale, zero_point, quant_min, quant_max, dtype; per channel, the axis follows the zero points.
    const size_t count = form == "per_tensor" ? 6 : 7;
    if (quantize.args().size() != count || dequantize.args().size() != count) return false;
    if (!quantize.kwargs().empty() || !dequantizesToFloat(dequantize)) return false;
    for (size_t i = 1; i < count; ++i) {
      if (!(quantize.args()[i] == dequantize.args()[i])) return false;
    }
    const Argument &least = quantize.args()[count - 3], &most = quantize.args()[count - 2],
                   &type = quantize.args()[count - 1];
    if (!least.isInt() || !most.isInt() || type.kind() != ArgumentKind::Dtype) return false;
    const auto range = exactRange(type.asDtype());
    if (!range || !liesIn(quantize.args()[1], kUsualScales) || !liesIn(quantize.args()[2], *range))
      return false;
    // What lies beyond the bounds would be cut.
    const bool isWhole = least.asInt() <= range->first && most.asInt() >= range->second;
    if (!isWhole && !isQuantizedAlike(source, quantize, count)) return false;
    if (!detail::sameLayout(quantize, source)) return false;
    for (size_t i = 1; i < count; ++i) {
      const Node* operand = quantize.args()[i].findNode();
      if (operand != nullptr && facts_.memory.isWritten(*operand)) return false;
    }
    return facts_.mayShare(quantize, source);
  }

  static bool dequantizesToFloat(const Node& dequantize) {
    const TensorMeta* meta = tensorMetaOf(dequantize);
    if (meta == nullptr || meta->dtype != Dtype::Float32) return false;
    for (auto [key, value] : dequantize.kwargs()) {
      if (key != "out_dtype") return false;
      if (!value.isNone() && !(value.kind() == ArgumentKind::Dtype && value.asDtype() == Dtype::Float32))
        return false;
    }
    return true;
  }

  // A quantize with the same parameters cut it already.
  static bool isQuantizedAlike(const Node& source, const Node& quantize, size_t count) {
    if (!source.isCall() || !(source.target() == quantize.target()) || source.args().size() != count ||
        !source.kwargs().empty()) {
      return false;
    }
    return std::ranges::equal(source.args().subspan(1), quantize.args().subspan(1));
  }

  // Whether a number, or all numbers of a stored tensor that nothing writes, are known to lie in a range.
  bool liesIn(const Argument& argument, const std::pair<double, double>& range) {
    const auto isInside = [&](double least, double most) {
      return least >= range.first && most <= range.second;
    };
    if (argument.isInt()) {
      const auto number = static_cast<double>(argument.asInt());
      return isInside(number, number);
    }
    if (argument.kind() == ArgumentKind::Float) return isInside(argument.asFloat(), argument.asFloat());
    const Node* const node = argument.findNode();
    if (node == nullptr || !node->isPlaceholder() || &module_ != &program_.graphModule()) return false;
    const auto [known, isNew] = bounds_.try_emplace(node, std::nullopt);
    if (isNew) known->second = boundsOf(*node);
    return known->second && isInside(known->second->first, known->second->second);
  }

  std::optional<std::pair<double, double>> boundsOf(const Node& placeholder) {
    if (inputs_.empty()) {
      written_ = detail::writtenStorages(program_);
      for (const InputSpec& spec : program_.signature.inputs) inputs_.emplace(spec.arg.name, &spec);
    }
    const auto spec = inputs_.find(placeholder.name());
    if (spec == inputs_.end() || !isStoredTensor(spec->second->kind)) return std::nullopt;
    const StoredTensor* stored = program_.findStored(*spec->second);
    if (stored == nullptr || !stored->isTensor() || written_.contains(stored->storage().data())) {
      return std::nullopt;
    }
    const at::Tensor values = stored->tensor().to(at::kDouble).contiguous();
    const double* data = values.data_ptr<double>();
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    std::pair<double, double> bounds(kInfinity, -kInfinity);
    for (int64_t i = 0; i < values.numel(); ++i) {
      if (std::isnan(data[i])) return std::nullopt;
      bounds = {std::min(bounds.first, data[i]), std::max(bounds.second, data[i])};
    }
    return bounds;
  }

  GraphModule& module_;
  const ExportedProgram& program_;
  GraphFacts facts_;
  std::unordered_map<const Node*, std::optional<std::pair<double, double>>> bounds_;
  std::unordered_set<const void*> written_;
  std::unordered_map<std::string_view, const InputSpec*> inputs_;
};

}  // namespace

PassRef foldDequantizeQuantizePass() {
  return programPass("fold-dequantize-quantize", [](ExportedProgram& program) {
    bool isChanged = false;
    for (const NestedModule& nested : namedModules(program.graphModule())) {
      isChanged = QuantizeFolder(*nested.module, program).run() || isChanged;
    }
    if (isChanged) detail::nameResults(program);
    return isChanged;
  });
}

}  // namespace edgefx
