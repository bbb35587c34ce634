#include "support/random_calls.h"

#include "ir/convert_argument.h"
#include "run/kernel.h"
#include "run/widened_call.h"
#include "support/tensor_forms.h"

#include <ATen/ops/tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <stdexcept>

namespace edgefx::test {

using forms::isBool;
using forms::isFloat;
using forms::sizesArg;

namespace {

constexpr int64_t kMostElements = 300;

class KnownLeaves final : public detail::LeafValues {
 public:
  explicit KnownLeaves(const std::unordered_map<const Node*, c10::IValue>& known) : known_(known) {}
  c10::IValue node(const Node& node) const override { return known_.at(&node); }
  c10::IValue symbolic(const SymExpr&) const override {
    throw std::logic_error("not written by these calls");
  }

 private:
  const std::unordered_map<const Node*, c10::IValue>& known_;
};

bool isLarge(const c10::IValue& value) {
  if (value.isTensor()) {
    return value.toTensor().dim() > 4 || value.toTensor().numel() > kMostElements ||
           value.toTensor().numel() == 0;
  }
  return false;
}

}  // namespace

ValueRef describeValue(const c10::IValue& value) {
  if (value.isTensor()) return ValueMeta::of(*StoredTensor(value.toTensor()).meta());
  ValueMeta::Sequence sequence;
  sequence.isList = value.isList();
  if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) sequence.elements.push_back(describeValue(item));
  } else {
    for (const c10::IValue& item : value.toTupleRef().elements())
      sequence.elements.push_back(describeValue(item));
  }
  return ValueMeta::of(std::move(sequence));
}

at::Tensor randomTensor(Dice& dice, const std::vector<int64_t>& sizes, Dtype dtype) {
  size_t count = 1;
  for (int64_t size : sizes) count *= static_cast<size_t>(size);
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i) {
    const size_t step = dice.below(65);
    values.push_back(dtype == Dtype::Int64 || dtype == Dtype::Bool ? static_cast<double>(step % 2)
                                                                   : static_cast<double>(step) / 32 - 1);
  }
  return at::tensor(values, at::kDouble).reshape(sizes).to(toScalarType(dtype).value());
}

RandomCalls::RandomCalls(Dice& dice, GraphModule& owner, int depth, bool writes)
    : dice_(dice), owner_(owner), graph_(owner.graph()), depth_(depth), writes_(writes) {}

void RandomCalls::addInput(Node& node, at::Tensor tensor, bool isWritable) {
  if (!isWritable) readOnly_.insert(tensor.storage().unsafeGetStorageImpl());
  keep(node, tensor);
}

RandomCalls::Value RandomCalls::recent() {
  return values_[values_.size() - 1 - dice_.below(std::min<size_t>(values_.size(), 4))];
}

RandomCalls::Value RandomCalls::valueOf(Node& node) const {
  return {&node, known_.at(&node).toTensor()};
}

bool RandomCalls::isWritable(const at::Tensor& tensor) const {
  return !readOnly_.contains(tensor.storage().unsafeGetStorageImpl());
}

void RandomCalls::keep(Node& node, const c10::IValue& value) {
  known_[&node] = value;
  if (value.isTensor()) values_.push_back({&node, value.toTensor()});
}

c10::IValue RandomCalls::evaluate(const Node& node) const {
  const std::optional<detail::BoundCall> bound = detail::bindCall(node.target(), node.args(), node.kwargs());
  if (!bound) throw std::logic_error("no kernel of " + std::string(node.target().name()));
  const std::vector<c10::Argument>& declared = bound->kernel.schema->arguments();
  std::vector<c10::IValue> stack;
  for (size_t i = 0; i < declared.size(); ++i) {
    const Argument* given = bound->arguments[i];
    stack.push_back(given == nullptr ? detail::defaultArgument(declared[i])
                                     : detail::convertArgument(detail::toIValue(*given, KnownLeaves(known_)),
                                                               declared[i]));
  }
  std::vector<c10::IValue> again = stack;
  const at::NoGradGuard noGradients;
  try {
    bound->kernel.call(stack);
  } catch (const c10::Error& error) {
    if (!detail::lacksNarrowType(error) || bound->kernel.schema->is_mutable()) throw;
    stack = std::move(again);
    detail::callWidened(bound->kernel, stack);
  }
  if (stack.size() == 1) return stack.front();
  return c10::ivalue::Tuple::create(std::move(stack));
}

Node* RandomCalls::callUnbounded(Target target, const Args& args, const Kwargs& kwargs) {
  Node& node = graph_.call(target, args, kwargs, target.op());
  c10::IValue value;
  try {
    value = evaluate(node);
  } catch (const c10::Error&) {
    graph_.erase(node);
    return nullptr;
  }
  node.setValue(describeValue(value));
  keep(node, value);
  ++numCalls_;
  return &node;
}

Node* RandomCalls::call(Target target, const Args& args, const Kwargs& kwargs) {
  Node* node = callUnbounded(target, args, kwargs);
  if (node == nullptr || !isLarge(known_.at(node))) return node;
  values_.pop_back();
  known_.erase(node);
  --numCalls_;
  graph_.erase(*node);
  return nullptr;
}

Node& RandomCalls::known(Target target, const Args& args, c10::IValue value, ValueRef description) {
  Node& node = graph_.call(target, args, {}, target.nameCandidate());
  node.setValue(std::move(description));
  known_[&node] = std::move(value);
  return node;
}

Node* RandomCalls::item(Node& sequence, int64_t index) {
  const c10::IValue& all = known_.at(&sequence);
  c10::IValue value = all.isList() ? all.toListRef()[static_cast<size_t>(index)]
                                   : all.toTupleRef().elements()[static_cast<size_t>(index)];
  ValueRef description = describeValue(value);
  Node& node = known("operator.getitem", {sequence, index}, value, std::move(description));
  keep(node, value);
  return &node;
}

// Most of the first `count` results.
void RandomCalls::items(Node* sequence, size_t count) {
  if (sequence == nullptr) return;
  for (size_t i = 0; i < count; ++i) {
    if (dice_.percent(75)) item(*sequence, static_cast<int64_t>(i));
  }
}

const char* RandomCalls::oneOf(std::initializer_list<const char*> names) {
  return names.begin()[dice_.below(names.size())];
}

Arg RandomCalls::scalar() {
  static constexpr double kFloats[] = {0.5, 2.0, -1.0, 0.25};
  static constexpr int64_t kInts[] = {1, 2, 3, -1};
  const size_t which = dice_.below(4);
  return dice_.percent(50) ? Arg(kFloats[which]) : Arg(kInts[which]);
}

int64_t RandomCalls::anyDim(const at::Tensor& tensor) {
  return static_cast<int64_t>(dice_.below(static_cast<size_t>(tensor.dim())));
}

Node* RandomCalls::cast(const Value& value, Dtype dtype) {
  Node* source = value.node;
  // What becomes of values out of range is up to the kernel.
  if (isFloat(value.tensor) && isIntegral(dtype)) {
    Node* clamped = callUnbounded("aten.clamp.default", {*source, -8, 8});
    source = clamped == nullptr ? nullptr : callUnbounded("aten.nan_to_num.default", {*clamped});
  }
  return source == nullptr ? nullptr : callUnbounded("aten._to_copy.default", {*source}, {{"dtype", dtype}});
}

RandomCalls::Value RandomCalls::contiguous(const Value& value) {
  if (value.tensor.is_contiguous() && !value.node->isPlaceholder()) return value;
  return valueOf(
      *callUnbounded("aten.clone.default", {*value.node}, {{"memory_format", MemoryFormat::Contiguous}}));
}

RandomCalls::Value RandomCalls::conform(const Value& value, const at::Tensor& like) {
  Value at = value;
  if (at.tensor.sizes() != like.sizes()) {
    at = valueOf(*callUnbounded(isBool(at.tensor) ? "aten.any.default" : "aten.sum.default", {*at.node}));
  }
  if (at.tensor.scalar_type() != like.scalar_type()) {
    at = valueOf(*cast(at, fromScalarType(like.scalar_type()).value()));
  }
  if (at.tensor.sizes() != like.sizes()) {
    at = valueOf(*callUnbounded("aten.expand.default", {*at.node, sizesArg(like.sizes())}));
  }
  return contiguous(at);
}

void RandomCalls::add(size_t count) {
  const size_t wanted = numCalls_ + count;
  for (size_t attempt = 0; numCalls_ < wanted && attempt < 4 * count + 20; ++attempt) addOne();
}

void RandomCalls::addOne() {
  if (values_.empty()) return addNew();
  const size_t kind = dice_.below(writes_ ? 116 : 104);
  if (kind < 12) return addUnary();
  if (kind < 24) return addBinary();
  if (kind < 32) return addScalarOperand();
  if (kind < 37) return addComparison();
  if (kind < 42) return addLogical();
  if (kind < 48) return addCast();
  if (kind < 60) return addView();
  if (kind < 64) return addParts();
  if (kind < 69) return addJoin();
  if (kind < 77) return addMatrix();
  if (kind < 83) return addNetwork();
  if (kind < 89) return addReduction();
  if (kind < 93) return addLookup();
  if (kind < 96) return addSorted();
  if (kind < 99) return addNew();
  if (kind < 104) return addControlFlow();
  addWrite();
}

}  // namespace edgefx::test
