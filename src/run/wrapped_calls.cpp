#include "run/session.h"
#include "support/fail.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <torch/version.h>

#include <string>
#include <unordered_map>
#include <utility>

// Operators that run a graph or an operator under another regime: wrap_with_autocast and auto_functionalized.
namespace edgefx::detail {
namespace {

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
bool autocastEnabled() {
  return at::autocast::is_autocast_enabled(at::kCPU);
}
void setAutocast(bool enabled) {
  at::autocast::set_autocast_enabled(at::kCPU, enabled);
}
at::ScalarType autocastDtype() {
  return at::autocast::get_autocast_dtype(at::kCPU);
}
void setAutocastDtype(at::ScalarType type) {
  at::autocast::set_autocast_dtype(at::kCPU, type);
}
#else
bool autocastEnabled() {
  return at::autocast::is_cpu_enabled();
}
void setAutocast(bool enabled) {
  at::autocast::set_cpu_enabled(enabled);
}
at::ScalarType autocastDtype() {
  return at::autocast::get_autocast_cpu_dtype();
}
void setAutocastDtype(at::ScalarType type) {
  at::autocast::set_autocast_cpu_dtype(type);
}
#endif

class AutocastGuard {
 public:
  AutocastGuard(bool enabled, std::optional<at::ScalarType> type)
      : wasEnabled_(autocastEnabled()),
        oldType_(autocastDtype()),
        wasCaching_(at::autocast::is_autocast_cache_enabled()) {
    setAutocast(enabled);
    if (type) setAutocastDtype(*type);
    // Casts kept from one region to the next would outlive changes of what was cast.
    at::autocast::set_autocast_cache_enabled(false);
  }
  ~AutocastGuard() {
    setAutocast(wasEnabled_);
    setAutocastDtype(oldType_);
    at::autocast::set_autocast_cache_enabled(wasCaching_);
  }
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  bool wasEnabled_;
  at::ScalarType oldType_;
  bool wasCaching_;
};

std::vector<int64_t> integers(const c10::IValue& list) {
  std::vector<int64_t> numbers;
  for (const c10::IValue& item : list.toListRef()) numbers.push_back(item.toInt());
  return numbers;
}

// Keyword arguments of auto_functionalized and their values.
class FunctionalizedArguments {
 public:
  FunctionalizedArguments(const Node& node, Values values) : values_(std::move(values)) {
    size_t i = 0;
    for (auto [key, value] : node.kwargs()) positions_.emplace(key, i++);
  }

  const c10::IValue* find(std::string_view key) const {
    const auto found = positions_.find(key);
    return found == positions_.end() ? nullptr : &values_[found->second];
  }
  const c10::IValue& get(const std::string& key) const {
    if (const c10::IValue* found = find(key)) return *found;
    fail<UsageError>("expected a keyword argument '{}', found none", key);
  }

  // The tensor that stands for the written argument `name`: a base, or the view of it that the other
  // arguments describe.
  c10::IValue written(const std::string& name, const std::vector<c10::IValue>& bases) const {
    const c10::IValue& index = get(name + "_base_index");
    if (index.isNone()) return {};
    const int64_t at = index.toInt();
    if (at < 0 || at >= static_cast<int64_t>(bases.size())) {
      fail<UsageError>("there is no base {} among {}", at, bases.size());
    }
    const c10::IValue& base = bases[static_cast<size_t>(at)];
    if (find(name + "_alias") != nullptr) return base;
    if (const c10::IValue* size = find(name + "_size")) {
      return base.toTensor().as_strided(integers(*size), integers(get(name + "_stride")),
                                        get(name + "_storage_offset").toInt());
    }
    if (const c10::IValue* dimension = find(name + "_slice_dim")) {
      const c10::IValue& end = get(name + "_slice_end");
      return base.toTensor().slice(dimension->toInt(), get(name + "_slice_start").toInt(),
                                   end.isNone() ? c10::optional<int64_t>() : end.toInt());
    }
    return base;
  }

 private:
  Values values_;
  std::unordered_map<std::string_view, size_t> positions_;
};

c10::IValue copied(const c10::IValue& value) {
  if (value.isTensor()) return value.toTensor().clone();
  if (!value.isList()) return value;
  c10::impl::GenericList list(c10::AnyType::get());
  for (const c10::IValue& item : value.toListRef()) list.push_back(copied(item));
  return list;
}

}  // namespace

c10::IValue Session::runAutocast(const Step& step, const Frame& frame) {
  Values given = values(frame.plan.operandsOf(step), frame);
  // device, dtype, whether it is on, whether casts are cached
  if (!given[0].isString() || given[0].toStringRef() != "cpu") {
    fail<UsageError>("expected autocast for 'cpu', got {}", describe(given[0]));
  }
  const std::optional<at::ScalarType> type =
      given[1].isNone() ? std::nullopt : std::optional(static_cast<at::ScalarType>(given[1].toInt()));
  const AutocastGuard guard(isTrue(given[2]), type);
  given.erase(given.begin(), given.begin() + step.numFirst);
  return callGraph(*step.graphs.front(), std::move(given));
}

// auto_functionalized(op, arguments by name) and its second form, which names the arguments that the operator
// writes by the tensors that they are views of: _all_bases, and for each argument x _x_base_index with
// _x_alias, or _x_size, _x_stride and _x_storage_offset, or _x_slice_dim, _x_slice_start and _x_slice_end.
// Gives what the operator returns (None if nothing), then the written tensors, which are copies.
c10::IValue Session::runAutoFunctionalized(const Step& step, const Frame& frame) {
  const FunctionalizedArguments arguments(*step.node, values(frame.plan.operandsOf(step), frame));
  const c10::IValue* allBases = arguments.find("_all_bases");
  Values copies;
  if (allBases != nullptr) {
    for (const c10::IValue& base : allBases->toListRef()) copies.push_back(copied(base));
  }
  Values stack;
  for (const c10::Argument& declared : step.kernel->schema->arguments()) {
    const bool isWritten = declared.alias_info() != nullptr && declared.alias_info()->isWrite();
    const c10::IValue* given = arguments.find(declared.name());
    c10::IValue value;
    if (isWritten && allBases != nullptr) {
      const std::string prefix = "_" + declared.name();
      if (const c10::IValue* length = arguments.find(prefix + "_length")) {
        c10::impl::GenericList list(c10::AnyType::get());
        for (int64_t i = 0; i < length->toInt(); ++i) {
          list.push_back(arguments.written(prefix + "_" + std::to_string(i), copies));
        }
        value = list;
      } else {
        value = arguments.written(prefix, copies);
      }
    } else if (given == nullptr) {
      stack.push_back(defaultArgument(declared));
      continue;
    } else if (isWritten) {
      value = copied(*given);
      copies.push_back(value);
    } else {
      value = *given;
    }
    stack.push_back(convertArgument(std::move(value), declared));
  }
  step.kernel->call(stack);
  if (step.kernel->schema->returns().empty()) stack.emplace_back();
  for (c10::IValue& copy : copies) stack.push_back(std::move(copy));
  return c10::ivalue::Tuple::create(std::move(stack));
}

}  // namespace edgefx::detail
