#pragma once

#include "support/fail.h"

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace edgefx::detail {

template <typename... Args>
[[noreturn]] void raise(fmt::format_string<Args...> format, Args&&... args) {
  throw std::runtime_error(fmt::format(format, std::forward<Args>(args)...));
}

// A bool, int or float of Python, with Python's arithmetic. All functions raise what Python raises.
class PythonNumber {
 public:
  enum class Kind : uint8_t { Bool, Int, Float };

  static PythonNumber ofBool(bool value) { return {Kind::Bool, value ? 1 : 0, 0}; }
  static PythonNumber ofInt(int64_t value) { return {Kind::Int, value, 0}; }
  static PythonNumber ofFloat(double value) { return {Kind::Float, 0, value}; }
  static bool isNumber(const c10::IValue& value) {
    return value.isInt() || value.isDouble() || value.isBool();
  }
  // Raises for other kinds of values.
  static PythonNumber of(const c10::IValue& value);

  Kind kind() const { return kind_; }
  bool isFloat() const { return kind_ == Kind::Float; }
  bool isBool() const { return kind_ == Kind::Bool; }
  bool isTrue() const { return isFloat() ? real_ != 0 : integer_ != 0; }
  // The int, or the bool as one. Raises for a float.
  int64_t integer() const;
  double real() const { return isFloat() ? real_ : static_cast<double>(integer_); }

  c10::IValue value() const;
  // As Python prints it.
  std::string text() const;

 private:
  PythonNumber(Kind kind, int64_t integer, double real) : kind_(kind), integer_(integer), real_(real) {}

  Kind kind_;
  int64_t integer_;  // of a bool 0 or 1
  double real_;
};

PythonNumber add(PythonNumber a, PythonNumber b);
PythonNumber subtract(PythonNumber a, PythonNumber b);
PythonNumber multiply(PythonNumber a, PythonNumber b);
PythonNumber divide(PythonNumber a, PythonNumber b);
PythonNumber floorDivide(PythonNumber a, PythonNumber b);
PythonNumber modulo(PythonNumber a, PythonNumber b);
PythonNumber power(PythonNumber a, PythonNumber b);
PythonNumber negative(PythonNumber a);
PythonNumber absolute(PythonNumber a);

// Exact for an int and a float too; false where one is nan.
bool isLess(PythonNumber a, PythonNumber b);
bool isEqual(PythonNumber a, PythonNumber b);

// The whole number as an int.
PythonNumber wholeNumber(double value);
PythonNumber roundToInt(PythonNumber a);
PythonNumber roundToDigits(PythonNumber a, int64_t digits);

// Raises unless there are `least` to `most` arguments.
void needArguments(std::span<const c10::IValue> args, size_t least, size_t most);

// The functions of the module math; null if there is none of that name ("sqrt").
c10::IValue (*findMathFunction(std::string_view name))(std::span<const c10::IValue> args);

}  // namespace edgefx::detail
