#pragma once

#include "support/fail.h"

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

// Makes stack functions of plain C++ functions: onStack<&squeezeDims> for
// `at::Tensor squeezeDims(const at::Tensor& self, const std::vector<int64_t>& dims)`.
namespace edgefx::detail {

using OptionalTensor = c10::optional<at::Tensor>;
using OptionalTensors = c10::List<c10::optional<at::Tensor>>;
using Ints = std::vector<int64_t>;

template <typename T>
struct FromValue;

template <>
struct FromValue<at::Tensor> {
  static at::Tensor get(const c10::IValue& value) { return value.toTensor(); }
};
template <>
struct FromValue<int64_t> {
  static int64_t get(const c10::IValue& value) { return value.toInt(); }
};
template <>
struct FromValue<double> {
  static double get(const c10::IValue& value) { return value.toScalar().toDouble(); }
};
template <>
struct FromValue<bool> {
  static bool get(const c10::IValue& value) { return value.toBool(); }
};
template <>
struct FromValue<at::Scalar> {
  static at::Scalar get(const c10::IValue& value) { return value.toScalar(); }
};
template <>
struct FromValue<std::string> {
  static std::string get(const c10::IValue& value) { return value.toStringRef(); }
};
template <>
struct FromValue<c10::Device> {
  static c10::Device get(const c10::IValue& value) { return value.toDevice(); }
};
template <>
struct FromValue<at::ScalarType> {
  static at::ScalarType get(const c10::IValue& value) {
    const int64_t code = value.toInt();
    if (code < 0 || code >= static_cast<int64_t>(at::ScalarType::NumOptions) ||
        code == static_cast<int64_t>(at::ScalarType::Undefined))
      fail<UnsupportedError>("expected a dtype that this LibTorch has, found number {}", code);
    return static_cast<at::ScalarType>(code);
  }
};
template <>
struct FromValue<at::Layout> {
  static at::Layout get(const c10::IValue& value) { return static_cast<at::Layout>(value.toInt()); }
};
template <>
struct FromValue<at::MemoryFormat> {
  static at::MemoryFormat get(const c10::IValue& value) { return value.toMemoryFormat(); }
};
template <>
struct FromValue<Ints> {
  static Ints get(const c10::IValue& value) {
    Ints numbers;
    for (const c10::IValue& item : value.toListRef()) numbers.push_back(item.toInt());
    return numbers;
  }
};
template <typename T>
struct FromValue<c10::optional<T>> {
  static c10::optional<T> get(const c10::IValue& value) {
    if (value.isNone()) return c10::nullopt;
    if constexpr (std::is_same_v<T, at::Tensor>) {
      if (!value.toTensor().defined()) return c10::nullopt;
    }
    return FromValue<T>::get(value);
  }
};
template <>
struct FromValue<OptionalTensors> {
  static OptionalTensors get(const c10::IValue& value) {
    OptionalTensors tensors;
    for (const c10::IValue& item : value.toListRef()) tensors.push_back(FromValue<OptionalTensor>::get(item));
    return tensors;
  }
};

template <typename Result>
void pushResult(std::vector<c10::IValue>& stack, Result result) {
  stack.emplace_back(std::move(result));
}
template <typename... Results>
void pushResult(std::vector<c10::IValue>& stack, std::tuple<Results...> results) {
  std::apply([&](auto&... each) { (stack.emplace_back(std::move(each)), ...); }, results);
}

template <typename Result, typename... Args, size_t... I>
void callOnStack(Result (*function)(Args...), std::vector<c10::IValue>& stack, std::index_sequence<I...>) {
  if (stack.size() != sizeof...(Args))
    fail<InternalError>("expected {} arguments on the stack, found {}", sizeof...(Args), stack.size());
  std::tuple<std::decay_t<Args>...> args{FromValue<std::decay_t<Args>>::get(stack[I])...};
  stack.clear();
  if constexpr (std::is_void_v<Result>) {
    std::apply(function, args);
  } else {
    pushResult(stack, std::apply(function, args));
  }
}

template <auto function>
void onStack(std::vector<c10::IValue>& stack) {
  [&]<typename Result, typename... Args>(Result (*called)(Args...)) {
    callOnStack(called, stack, std::index_sequence_for<Args...>());
  }(function);
}

}  // namespace edgefx::detail
