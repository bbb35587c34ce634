#include <edgefx/ir/node_queries.h>
#include <edgefx/ir/scalar_type.h>
#include <edgefx/ir/shape_inference.h>
#include <edgefx/passes/standard.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/rewrite/program_rewriter.h>

#include "passes/graph_facts.h"
#include "run/evaluate_call.h"
#include "run/session.h"
#include "support/fail.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_strided.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace edgefx {
namespace {

using detail::fail;

// Bytes of a described value, nothing if they are not known. Numbers count nothing.
std::optional<size_t> bytesOf(const ValueMeta* value) {
  if (value == nullptr) return std::nullopt;
  if (const ValueMeta::Sequence* sequence = value->sequence()) {
    size_t sum = 0;
    for (const ValueRef& element : sequence->elements) {
      const std::optional<size_t> bytes = bytesOf(element.get());
      if (!bytes || __builtin_add_overflow(sum, *bytes, &sum)) return std::nullopt;
    }
    return sum;
  }
  const TensorMeta* tensor = value->tensor();
  if (tensor == nullptr) return value->isSymbolicNumber() ? std::optional<size_t>(0) : std::nullopt;
  size_t bytes = elementSize(tensor->dtype);
  for (const SymInt& size : tensor->sizes) {
    if (size.isSymbolic() || size.value() < 0) return std::nullopt;
    if (__builtin_mul_overflow(bytes, static_cast<size_t>(size.value()), &bytes)) return std::nullopt;
  }
  return bytes;
}

// The value as it is described, in other strides if need be. Nothing if it is another, or no file holds it.
std::optional<c10::IValue> asDescribed(const c10::IValue& value, const ValueMeta& described) {
  if (const ValueMeta::Sequence* sequence = described.sequence()) {
    std::vector<c10::IValue> items;
    if (value.isTuple()) {
      const auto& elements = value.toTupleRef().elements();
      items.assign(elements.begin(), elements.end());
    } else if (value.isList()) {
      for (const c10::IValue& item : value.toListRef()) items.push_back(item);
    }
    if (items.size() != sequence->elements.size()) return std::nullopt;
    for (size_t i = 0; i < items.size(); ++i) {
      std::optional<c10::IValue> item = asDescribed(items[i], *sequence->elements[i]);
      if (!item) return std::nullopt;
      items[i] = std::move(*item);
    }
    return c10::ivalue::Tuple::create(std::move(items));
  }
  const TensorMeta* meta = described.tensor();
  if (meta == nullptr) return value.isTensor() ? std::nullopt : std::optional(value);
  if (!value.isTensor() || meta->layout != Layout::Strided || meta->device.type != "cpu") return std::nullopt;
  const at::Tensor& tensor = value.toTensor();
  if (!tensor.defined() || tensor.layout() != at::kStrided || !tensor.device().is_cpu() ||
      fromScalarType(tensor.scalar_type()) != meta->dtype ||
      static_cast<size_t>(tensor.dim()) != meta->sizes.size() || meta->strides.size() != meta->sizes.size()) {
    return std::nullopt;
  }
  std::vector<int64_t> strides;
  bool isSame = true, repeats = false;
  for (size_t i = 0; i < meta->sizes.size(); ++i) {
    const auto dim = static_cast<int64_t>(i);
    if (meta->strides[i].isSymbolic() || tensor.size(dim) != meta->sizes[i].value()) return std::nullopt;
    strides.push_back(meta->strides[i].value());
    if (tensor.size(dim) > 1) {
      isSame = isSame && tensor.stride(dim) == strides.back();
      repeats = repeats || strides.back() <= 0;
    }
  }
  if (isSame || tensor.numel() == 0) return value;
  if (repeats) return std::nullopt;
  return c10::IValue(at::empty_strided(tensor.sizes(), strides, tensor.options()).copy_(tensor));
}

class ConstantFolder : public detail::LeafValues {
 public:
  ConstantFolder(ExportedProgram& program, const ConstantPropagation& options)
      : program_(program),
        options_(options),
        facts_(program.graphModule(), program),
        position_(program.graph(), kUnknown) {}

  bool run() {
    collectInputs();
    for (Node& node : program_.graph().nodes()) {
      if (node.isCall()) evaluate(node);
    }
    return replaceFolded();
  }

  c10::IValue node(const Node& node) const override { return values_.at(position_[node]); }
  c10::IValue symbolic(const SymExpr& expression) const override {
    fail<UnsupportedError>("'{}' has no value yet", expression.text());
  }

 private:
  static constexpr uint32_t kUnknown = ~uint32_t{0};

  bool isKnown(const Node& node) const { return position_[node] != kUnknown; }
  void learn(const Node& node, c10::IValue value) {
    position_[node] = static_cast<uint32_t>(values_.size());
    values_.push_back(std::move(value));
  }

  void collectInputs() {
    const std::vector<InputSpec>& specs = program_.signature.inputs;
    const std::unordered_set<const void*> written = detail::writtenStorages(program_);
    const std::vector<Node*> placeholders = program_.graph().placeholders();
    if (placeholders.size() != specs.size()) return;
    for (size_t i = 0; i < specs.size(); ++i) {
      const InputSpec& spec = specs[i];
      if (!isStoredTensor(spec.kind) || !spec.target) continue;
      if (spec.kind == InputKind::Parameter && !options_.foldsParameters) continue;
      const StoredTensor* stored = program_.findStored(spec);
      if (stored == nullptr || !stored->isTensor() || written.contains(stored->storage().data())) continue;
      if (facts_.memory.isWritten(*placeholders[i])) continue;
      learn(*placeholders[i], stored->tensor());
      storages_.insert(stored->storage().data());
    }
  }

  bool isKept(Target target) const {
    const std::string_view name = target.name();
    return std::ranges::any_of(options_.keep, [&](const std::string& kept) {
      return name.starts_with(kept) && (name.size() == kept.size() || name[kept.size()] == '.');
    });
  }

  bool mayEvaluate(const Node& node) const {
    if (!getitemIndex(node)) {
      if (!node.target().isOperator() || !detail::isPure(node, program_.graphModule())) return false;
      if (isKept(node.target())) return false;
    }
    if (facts_.memory.isWritten(node)) return false;
    return std::ranges::all_of(node.inputs(), [&](const Node& input) { return isKnown(input); });
  }

  void evaluate(const Node& node) {
    if (!mayEvaluate(node)) return;
    const std::optional<size_t> bytes = bytesOf(node.value());
    if (!bytes || *bytes > options_.mostBytes || *bytes > options_.mostBytesInAll - held_) return;
    try {
      const std::optional<int64_t> index = getitemIndex(node);
      // What is recorded may be wrong: nothing is computed before its size is known.
      if (!index && bytesOf(inferValue(node).get()) != bytes) return;
      const std::optional<c10::IValue> value =
          index ? std::optional(detail::itemAt(this->node(node.arg(0).asNode()), *index))
                : detail::evaluateCall(node, *this);
      std::optional<c10::IValue> made = value ? asDescribed(*value, *node.value()) : std::nullopt;
      if (!made) return;
      if (!made->isTensor() || storages_.insert(made->toTensor().storage().data()).second) held_ += *bytes;
      learn(node, std::move(*made));
    } catch (const std::exception&) {
      // What fails here is to fail where the program runs.
    }
  }

  bool replaceFolded() {
    // A known value that nobody needs goes; one that is needed becomes a constant, or stays a call with all
    // that it needs if it is no tensor or results are to have memory of their own.
    Graph& graph = program_.graph();
    NodeMap<uint8_t> stays(graph, 1);
    std::vector<Node*> folded, gone;
    for (Node* node = graph.back(); node != nullptr; node = node->prev()) {
      if (!node->isCall() || !isKnown(*node) || facts_.memory.holdsResult(*node)) continue;
      const bool isNeeded =
          std::ranges::any_of(node->users(), [&](const Node& user) { return stays[user] != 0; });
      if (isNeeded && !values_[position_[*node]].isTensor()) continue;
      stays[*node] = 0;
      gone.push_back(node);
      if (isNeeded) folded.push_back(node);
    }
    if (gone.empty()) return false;
    std::ranges::reverse(folded);
    std::vector<std::pair<std::string, at::Tensor>> named;
    for (const Node* node : folded) {
      named.emplace_back("_prop_tensor_constant" + std::to_string(named.size()),
                         values_[position_[*node]].toTensor());
    }
    const std::vector<Node*> constants = ProgramRewriter(program_).addConstants(std::move(named));
    for (size_t i = 0; i < folded.size(); ++i) folded[i]->replaceAllUsesWith(*constants[i]);
    for (Node* node : gone) graph.erase(*node);  // users first
    return true;
  }

  ExportedProgram& program_;
  const ConstantPropagation& options_;
  detail::GraphFacts facts_;
  NodeMap<uint32_t> position_;  // of the value of a known node
  std::vector<c10::IValue> values_;
  std::unordered_set<const void*> storages_;
  size_t held_ = 0;
};

}  // namespace

std::vector<std::string> ConstantPropagation::defaultKeep() {
  return {"aten.full",       "aten.full_like",     "aten.new_full",       "aten.zeros",
          "aten.zeros_like", "aten.new_zeros",     "aten.ones",           "aten.ones_like",
          "aten.new_ones",   "aten.scalar_tensor", "quantized_decomposed"};
}

PassRef constantPropagationPass(ConstantPropagation options) {
  return programPass("constant-propagation", [options = std::move(options)](ExportedProgram& program) {
    return ConstantFolder(program, options).run();
  });
}

}  // namespace edgefx
