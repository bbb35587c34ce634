#include "run/python_number.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <unordered_map>

namespace edgefx::detail {
namespace {

using MathArgs = std::span<const c10::IValue>;
using MathFunction = c10::IValue (*)(MathArgs);

// Raises as math does: a nan from a number is a domain error, an infinity from finite numbers a range error,
// or a domain error at a pole.
double checkedResult(double result, double argument, bool isPole) {
  if (std::isnan(result) && !std::isnan(argument)) raise("math domain error");
  if (std::isinf(result) && std::isfinite(argument)) raise("math {} error", isPole ? "domain" : "range");
  return result;
}

template <double (*function)(double), bool isPole = false>
c10::IValue real1(MathArgs args) {
  needArguments(args, 1, 1);
  const double argument = PythonNumber::of(args[0]).real();
  return checkedResult(function(argument), argument, isPole);
}

// Of functions that raise nothing.
template <double (*function)(double)>
c10::IValue plain1(MathArgs args) {
  needArguments(args, 1, 1);
  return function(PythonNumber::of(args[0]).real());
}

template <double (*function)(double, double)>
c10::IValue real2(MathArgs args) {
  needArguments(args, 2, 2);
  const double a = PythonNumber::of(args[0]).real(), b = PythonNumber::of(args[1]).real();
  const double result = function(a, b);
  if (std::isnan(result) && !std::isnan(a) && !std::isnan(b)) raise("math domain error");
  if (std::isinf(result) && std::isfinite(a) && std::isfinite(b)) raise("math range error");
  return result;
}

template <double (*function)(double)>
c10::IValue toWhole(MathArgs args) {
  needArguments(args, 1, 1);
  const PythonNumber number = PythonNumber::of(args[0]);
  return (number.isFloat() ? wholeNumber(function(number.real())) : PythonNumber::ofInt(number.integer()))
      .value();
}

template <bool (*predicate)(double)>
c10::IValue classify(MathArgs args) {
  needArguments(args, 1, 1);
  return predicate(PythonNumber::of(args[0]).real());
}

template <double (*function)(double)>
double logarithm(const c10::IValue& value) {
  const double number = PythonNumber::of(value).real();
  if (number <= 0) raise("math domain error");
  return function(number);
}

c10::IValue logOfBase(MathArgs args) {
  needArguments(args, 1, 2);
  const double natural = logarithm<std::log>(args[0]);
  if (args.size() == 1) return natural;
  const double base = logarithm<std::log>(args[1]);
  if (base == 0) raise("division by zero");
  return natural / base;
}

template <double (*function)(double)>
c10::IValue logOf(MathArgs args) {
  needArguments(args, 1, 1);
  return logarithm<function>(args[0]);
}

double powOf(double a, double b) {
  if (a == 0 && b < 0 && std::isfinite(b)) raise("math domain error");
  return std::pow(a, b);
}

double degreesOf(double radians) {
  return radians * (180.0 / std::numbers::pi);
}
double radiansOf(double degrees) {
  return degrees * (std::numbers::pi / 180.0);
}

bool isNan(double value) {
  return std::isnan(value);
}
bool isInfinite(double value) {
  return std::isinf(value);
}
bool isFinite(double value) {
  return std::isfinite(value);
}

c10::IValue gcdOf(MathArgs args) {
  uint64_t result = 0;
  for (const c10::IValue& arg : args) {
    const int64_t number = PythonNumber::of(arg).integer();
    result = std::gcd(
        result, number < 0 ? uint64_t{0} - static_cast<uint64_t>(number) : static_cast<uint64_t>(number));
  }
  if (result > static_cast<uint64_t>(INT64_MAX)) raise("{} does not fit 64 bits", result);
  return static_cast<int64_t>(result);
}

}  // namespace

c10::IValue (*findMathFunction(std::string_view name))(std::span<const c10::IValue> args) {
  static const auto& table = *new std::unordered_map<std::string_view, MathFunction>{
      {"acos", real1<std::acos>},
      {"acosh", real1<std::acosh>},
      {"asin", real1<std::asin>},
      {"asinh", real1<std::asinh>},
      {"atan", real1<std::atan>},
      {"atan2", real2<std::atan2>},
      {"atanh", real1<std::atanh, true>},
      {"cbrt", real1<std::cbrt>},
      {"ceil", toWhole<std::ceil>},
      {"copysign", real2<std::copysign>},
      {"cos", real1<std::cos>},
      {"cosh", real1<std::cosh>},
      {"degrees", plain1<degreesOf>},
      {"erf", real1<std::erf>},
      {"erfc", real1<std::erfc>},
      {"exp", real1<std::exp>},
      {"exp2", real1<std::exp2>},
      {"expm1", real1<std::expm1>},
      {"fabs", real1<std::fabs>},
      {"floor", toWhole<std::floor>},
      {"fmod", real2<std::fmod>},
      {"gcd", gcdOf},
      {"hypot", real2<std::hypot>},
      {"isfinite", classify<isFinite>},
      {"isinf", classify<isInfinite>},
      {"isnan", classify<isNan>},
      {"log", logOfBase},
      {"log10", logOf<std::log10>},
      {"log1p", real1<std::log1p, true>},
      {"log2", logOf<std::log2>},
      {"pow", real2<powOf>},
      {"radians", plain1<radiansOf>},
      {"sin", real1<std::sin>},
      {"sinh", real1<std::sinh>},
      {"sqrt", real1<std::sqrt>},
      {"tan", real1<std::tan>},
      {"tanh", real1<std::tanh>},
      {"trunc", toWhole<std::trunc>},
  };
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace edgefx::detail
