#include "ir/infer_with_kernel.h"

#include <edgefx/ir/scalar_type.h>

#include "ir/convert_argument.h"
#include "ir/shape_call.h"

// The dispatcher's header needs the other one before it.
// clang-format off
#include <ATen/core/ivalue.h>
#include <ATen/core/dispatch/Dispatcher.h>
// clang-format on
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty_strided.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

namespace edgefx::detail {
namespace {

struct MetaKernel {
  std::optional<c10::OperatorHandle> op;  // none: LibTorch cannot tell
  bool isOwn = false;                     // one for tensors without data, not one made of other operators
  std::atomic<bool> refused = false;      // an operator that it is made of has none
};

std::optional<c10::OperatorHandle> findHandle(Target target) {
  std::string name(target.ns());
  name += "::";
  name += target.op();
  const std::string_view overload = target.overload();
  const auto found = c10::Dispatcher::singleton().findSchema(
      c10::OperatorName(std::move(name), overload == "default" ? std::string() : std::string(overload)));
  return found ? std::optional(*found) : std::nullopt;
}

// Kept for the life of the process, as operators are. Those that are not there are asked for anew.
MetaKernel* findMetaKernel(Target target) {
  static auto& known = *new std::unordered_map<const char*, std::unique_ptr<MetaKernel>>();
  static auto& mutex = *new std::mutex();
  const std::lock_guard lock(mutex);
  const char* const key = target.fxText().data();
  if (const auto found = known.find(key); found != known.end()) return found->second.get();
  const std::optional<c10::OperatorHandle> op = findHandle(target);
  if (!op) return nullptr;
  auto kernel = std::make_unique<MetaKernel>();
  kernel->isOwn = op->hasKernelForDispatchKey(c10::DispatchKey::Meta);
  if (kernel->isOwn || op->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) ||
      op->hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd) ||
      op->hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutogradNonFunctional)) {
    kernel->op = op;
  }
  return known.emplace(key, std::move(kernel)).first->second.get();
}

int64_t plainNumber(const SymInt& size) {
  if (size.isSymbolic()) throw ShapeUnknown();
  return size.value();
}

at::Tensor metaTensor(const TensorMeta& meta) {
  const std::optional<at::ScalarType> type = toScalarType(meta.dtype);
  if (!type || meta.layout != Layout::Strided || meta.strides.size() != meta.sizes.size())
    throw ShapeUnknown();
  std::vector<int64_t> sizes, strides;
  for (const SymInt& size : meta.sizes) sizes.push_back(plainNumber(size));
  for (const SymInt& stride : meta.strides) strides.push_back(plainNumber(stride));
  return at::empty_strided(sizes, strides, at::TensorOptions(*type).device(at::kMeta));
}

// Tensors without data for nodes; the first one tells on which device the result would be.
class MetaLeaves : public LeafValues {
 public:
  c10::IValue node(const Node& node) const override {
    if (node.value() == nullptr) throw ShapeUnknown();
    return valueFrom(*node.value());
  }
  c10::IValue symbolic(const SymExpr& /*expression*/) const override { throw ShapeUnknown(); }

  const TensorMeta* first() const { return first_; }
  SymInt offsetOf(const at::Tensor& result) const {
    for (const auto& [tensor, meta] : tensors_) {
      if (tensor.is_alias_of(result)) return meta->storageOffset;
    }
    return SymInt(0);
  }

 private:
  c10::IValue valueFrom(const ValueMeta& value) const {
    if (const TensorMeta* const meta = value.tensor()) {
      at::Tensor tensor = metaTensor(*meta);
      if (first_ == nullptr) first_ = meta;
      tensors_.emplace_back(tensor, meta);
      return tensor;
    }
    if (const ValueMeta::Sequence* const held = value.sequence()) {
      c10::impl::GenericList list(c10::AnyType::get());
      for (const ValueRef& element : held->elements) {
        if (!element) throw ShapeUnknown();
        list.push_back(valueFrom(*element));
      }
      return list;
    }
    if (const auto* number = std::get_if<ValueMeta::SymIntValue>(&value.data))
      return plainNumber(number->value);
    if (const auto* number = std::get_if<ValueMeta::SymFloatValue>(&value.data)) {
      if (const double* plain = std::get_if<double>(&number->value)) return *plain;
    }
    if (const auto* condition = std::get_if<ValueMeta::SymBoolValue>(&value.data)) {
      if (const bool* plain = std::get_if<bool>(&condition->value)) return *plain;
    }
    throw ShapeUnknown();
  }

  mutable const TensorMeta* first_ = nullptr;
  mutable std::vector<std::pair<at::Tensor, const TensorMeta*>> tensors_;
};

bool takesDevice(const c10::Argument& declared) {
  return declared.name() == "device";
}

// The arguments in the schema's order, on the meta device.
torch::jit::Stack stackFor(const Node& node, const c10::FunctionSchema& schema, const MetaLeaves& leaves) {
  if (node.args().size() > schema.arguments().size()) throw ShapeUnknown();
  torch::jit::Stack stack;
  size_t taken = node.args().size();
  bool isOnMeta = false;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::Argument& declared = schema.arguments()[i];
    const Argument* given = node.findArg(i);
    if (given == nullptr) {
      given = node.findKwarg(declared.name());
      if (given != nullptr) ++taken;
    }
    if (takesDevice(declared)) {
      stack.emplace_back(c10::Device(c10::kMeta));
      isOnMeta = true;
    } else if (declared.name() == "pin_memory" || given == nullptr) {
      stack.push_back(defaultArgument(declared));
    } else {
      stack.push_back(convertArgument(toIValue(*given, leaves), declared));
    }
  }
  // Without either the kernel would make a tensor with data.
  if (leaves.first() == nullptr && !isOnMeta) throw ShapeUnknown();
  if (taken != node.args().size() + node.kwargs().size()) throw ShapeUnknown();
  return stack;
}

ValueRef describeResult(const c10::IValue& result, const DeviceSpec& device, const MetaLeaves& leaves) {
  if (result.isTensor()) {
    const at::Tensor& tensor = result.toTensor();
    if (!tensor.defined()) return ValueMeta::of(ValueMeta::None());
    const std::optional<Dtype> dtype = fromScalarType(tensor.scalar_type());
    if (!dtype || !tensor.is_meta() || tensor.layout() != at::kStrided) throw ShapeUnknown();
    TensorMeta meta;
    meta.dtype = *dtype;
    meta.device = device;
    meta.sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
    meta.strides.assign(tensor.strides().begin(), tensor.strides().end());
    const SymInt base = leaves.offsetOf(tensor);
    if (!base.isSymbolic()) meta.storageOffset = SymInt(base.value() + tensor.storage_offset());
    return ValueMeta::of(std::move(meta));
  }
  if (!result.isTensorList()) throw ShapeUnknown();
  ValueMeta::Sequence list;
  list.isList = true;
  for (const at::Tensor& tensor : result.toTensorVector()) {
    list.elements.push_back(describeResult(tensor, device, leaves));
  }
  return ValueMeta::of(std::move(list));
}

// Operators that are made of others, and those with lists of results, may do something for each element of a
// dimension, or as often as a number says.
constexpr int64_t kMostRepetitions = int64_t{1} << 16;

bool isLarge(const c10::IValue& value) {
  if (value.isInt()) return value.toInt() > kMostRepetitions || value.toInt() < -kMostRepetitions;
  if (value.isTensor() && value.toTensor().defined()) {
    const at::IntArrayRef sizes = value.toTensor().sizes();
    return std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size > kMostRepetitions; });
  }
  if (!value.isList()) return false;
  const c10::ArrayRef<c10::IValue> items = value.toListRef();
  return std::any_of(items.begin(), items.end(), isLarge);
}

bool hasListResult(const c10::FunctionSchema& schema) {
  return std::any_of(schema.returns().begin(), schema.returns().end(), [](const c10::Argument& result) {
    return result.type()->kind() == c10::TypeKind::ListType;
  });
}

std::string firstLine(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace

ValueRef inferWithKernel(const Node& node) {
  MetaKernel* const kernel = findMetaKernel(node.target());
  if (kernel == nullptr || !kernel->op || kernel->refused) return {};
  const c10::FunctionSchema& schema = kernel->op->schema();
  if (schema.returns().empty()) return {};
  const at::AutoDispatchBelowAutograd guard;
  const MetaLeaves leaves;
  torch::jit::Stack stack;
  try {
    stack = stackFor(node, schema, leaves);
  } catch (const Error&) {
    return {};  // another version's schema, or a type that this LibTorch lacks
  } catch (const c10::Error&) {
    return {};
  }
  if ((!kernel->isOwn || hasListResult(schema)) && std::any_of(stack.begin(), stack.end(), isLarge))
    return {};
  try {
    kernel->op->callBoxed(stack);
  } catch (const c10::NotImplementedError&) {
    kernel->refused = true;
    return {};
  } catch (const c10::Error& error) {
    if (!kernel->isOwn) return {};
    ShapeCall(node).fail("LibTorch says: {}", firstLine(error.what_without_backtrace()));
  } catch (const std::exception&) {
    return {};
  }
  DeviceSpec device;
  if (leaves.first() != nullptr) device = leaves.first()->device;
  const Argument* const wanted = node.findKwarg("device");
  if (wanted != nullptr && wanted->kind() == ArgumentKind::Device) device = parseDevice(wanted->asDevice());
  if (stack.size() == 1) return describeResult(stack.front(), device, leaves);
  ValueMeta::Sequence results;
  for (const c10::IValue& result : stack) results.elements.push_back(describeResult(result, device, leaves));
  return ValueMeta::of(std::move(results));
}

}  // namespace edgefx::detail
