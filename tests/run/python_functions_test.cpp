#include "run/python_functions.h"

#include "serialization/expect_error.h"
#include "support/program_builder.h"

#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace edgefx::detail {
namespace {

using test::errorOf;
using test::sampleTensor;
using PythonValues = std::vector<c10::IValue>;

constexpr double kPythonInf = std::numeric_limits<double>::infinity();
const double kPythonNan = std::numeric_limits<double>::quiet_NaN();

c10::IValue callPython(std::string_view name, const PythonValues& args) {
  const PythonFunction function = findPythonFunction(name);
  if (function == nullptr) throw std::logic_error("no such function");
  return function(args);
}

std::string pythonFault(std::string_view name, const PythonValues& args) {
  return errorOf<std::runtime_error>([&] { callPython(name, args); });
}

void expectInt(std::string_view name, const PythonValues& args, int64_t expected) {
  const c10::IValue result = callPython(name, args);
  ASSERT_TRUE(result.isInt()) << name << " gives " << result.tagKind();
  EXPECT_EQ(result.toInt(), expected) << name;
}
void expectBool(std::string_view name, const PythonValues& args, bool expected) {
  const c10::IValue result = callPython(name, args);
  ASSERT_TRUE(result.isBool()) << name << " gives " << result.tagKind();
  EXPECT_EQ(result.toBool(), expected) << name;
}
// The same bits, but for nans.
void expectFloat(std::string_view name, const PythonValues& args, double expected) {
  const c10::IValue result = callPython(name, args);
  ASSERT_TRUE(result.isDouble()) << name << " gives " << result.tagKind();
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(result.toDouble())) << name;
  } else {
    EXPECT_EQ(result.toDouble(), expected) << name;
    EXPECT_EQ(std::signbit(result.toDouble()), std::signbit(expected)) << name;
  }
}

TEST(PythonFunctions, NumbersOfAllKindsMix) {
  expectInt("operator.add", {2, 3}, 5);
  expectInt("operator.add", {true, true}, 2);
  expectFloat("operator.add", {2, 0.5}, 2.5);
  expectInt("operator.sub", {2, 3}, -1);
  expectInt("operator.mul", {true, 3}, 3);
  expectFloat("operator.mul", {true, 0.5}, 0.5);
  expectInt("operator.neg", {true}, -1);
  expectFloat("operator.neg", {0.0}, -0.0);
  expectInt("operator.pos", {true}, 1);
  expectInt("operator.abs", {-3}, 3);
  expectFloat("operator.abs", {-0.0}, 0.0);
  expectInt("operator.index", {true}, 1);
}

TEST(PythonFunctions, DivisionIsPythons) {
  expectFloat("operator.truediv", {7, 2}, 3.5);
  expectFloat("operator.truediv", {6, 2}, 3.0);
  expectFloat("operator.truediv", {0, -2}, -0.0);
  expectFloat("operator.truediv", {0, INT64_MIN}, -0.0);
  expectInt("operator.floordiv", {7, 2}, 3);
  expectInt("operator.floordiv", {-7, 2}, -4);
  expectInt("operator.floordiv", {7, -2}, -4);
  expectInt("operator.floordiv", {-7, -2}, 3);
  expectInt("operator.floordiv", {true, 2}, 0);
  expectFloat("operator.floordiv", {7.5, 2}, 3.0);
  expectFloat("operator.floordiv", {-7.5, 2}, -4.0);
  expectFloat("operator.floordiv", {-0.0, 2}, -0.0);
  expectFloat("operator.floordiv", {1, kPythonInf}, 0.0);
  expectFloat("operator.floordiv", {-1, kPythonInf}, -1.0);
  expectInt("operator.mod", {7, 3}, 1);
  expectInt("operator.mod", {-7, 3}, 2);
  expectInt("operator.mod", {7, -3}, -2);
  expectInt("operator.mod", {-7, -3}, -1);
  expectInt("operator.mod", {INT64_MIN, -1}, 0);
  expectFloat("operator.mod", {5.5, -2}, -0.5);
  expectFloat("operator.mod", {-4.0, 2}, 0.0);
  expectFloat("operator.mod", {-1, kPythonInf}, kPythonInf);
  for (std::string_view name : {"operator.truediv", "operator.floordiv", "operator.mod"}) {
    EXPECT_MENTIONS(pythonFault(name, {1, 0}), "zero");
    EXPECT_MENTIONS(pythonFault(name, {1, false}), "zero");
    EXPECT_MENTIONS(pythonFault(name, {1.0, 0.0}), "zero");
  }
}

TEST(PythonFunctions, QuotientsOfLargeIntsAreRoundedOnce) {
  // PythonValues of Python. Dividing after rounding both to double gives others.
  expectFloat("operator.truediv", {9007199254740993, 1}, 9007199254740992.0);
  expectFloat("operator.truediv", {9007199254740993, 3}, 3002399751580331.0);
  expectFloat("operator.truediv", {9223372036854775807, 3}, 3.0744573456182584e+18);
  expectFloat("operator.truediv", {9223372036854775807, 9223372036854775806}, 1.0);
  expectFloat("operator.truediv", {9007199254740995, 9007199254740993}, 1.0000000000000002);
  expectFloat("operator.truediv", {1, INT64_MIN}, -1.0842021724855044e-19);
  expectFloat("operator.truediv", {3, 9223372036854775807}, 3.2526065174565133e-19);
}

TEST(PythonFunctions, IntsThatDoNotFitAreNamed) {
  EXPECT_MENTIONS(pythonFault("operator.add", {INT64_MAX, 1}),
                  "9223372036854775807 + 1 does not fit 64 bits");
  EXPECT_MENTIONS(pythonFault("operator.sub", {INT64_MIN, 1}), "does not fit 64 bits");
  EXPECT_MENTIONS(pythonFault("operator.mul", {INT64_MAX, 2}), "does not fit 64 bits");
  EXPECT_MENTIONS(pythonFault("operator.neg", {INT64_MIN}), "does not fit 64 bits");
  EXPECT_MENTIONS(pythonFault("operator.abs", {INT64_MIN}), "does not fit 64 bits");
  EXPECT_MENTIONS(pythonFault("operator.floordiv", {INT64_MIN, -1}), "does not fit 64 bits");
  EXPECT_MENTIONS(pythonFault("operator.pow", {2, 63}), "2 ** 63 does not fit 64 bits");
  EXPECT_MENTIONS(pythonFault("operator.lshift", {1, 63}), "does not fit 64 bits");
  EXPECT_MENTIONS(pythonFault("math.floor", {1e19}), "1e+19 does not fit 64 bits");
  expectInt("operator.add", {INT64_MAX, -1}, INT64_MAX - 1);
  expectInt("operator.mul", {INT64_MIN, 1}, INT64_MIN);
}

TEST(PythonFunctions, Powers) {
  expectInt("operator.pow", {3, 4}, 81);
  expectInt("operator.pow", {-2, 63}, INT64_MIN);
  expectInt("operator.pow", {0, 0}, 1);
  expectInt("operator.pow", {-1, INT64_MAX}, -1);
  expectFloat("operator.pow", {2, -1}, 0.5);
  expectFloat("operator.pow", {4, 0.5}, 2.0);
  expectFloat("operator.pow", {2.0, 3}, 8.0);
  expectFloat("operator.pow", {kPythonNan, 0}, 1.0);
  expectFloat("operator.pow", {0, -kPythonInf}, kPythonInf);
  EXPECT_MENTIONS(pythonFault("operator.pow", {0, -1}), "negative power");
  EXPECT_MENTIONS(pythonFault("operator.pow", {-8, 0.5}), "complex");
  EXPECT_MENTIONS(pythonFault("operator.pow", {10.0, 400}), "too large");
}

TEST(PythonFunctions, ComparisonsAreExact) {
  expectBool("operator.lt", {1, 1.5}, true);
  expectBool("operator.eq", {9007199254740993, 9007199254740992.0}, false);
  expectBool("operator.gt", {9007199254740993, 9007199254740992.0}, true);
  expectBool("operator.le", {INT64_MAX, 9223372036854775808.0}, true);
  expectBool("operator.ge", {INT64_MAX, 9223372036854775808.0}, false);
  expectBool("operator.eq", {true, 1.0}, true);
  expectBool("operator.ne", {2, 2}, false);
  for (std::string_view name : {"operator.lt", "operator.le", "operator.gt", "operator.ge", "operator.eq"})
    expectBool(name, {kPythonNan, 1}, false);
  expectBool("operator.ne", {kPythonNan, kPythonNan}, true);
  expectBool("operator.eq", {c10::IValue(), c10::IValue()}, true);
  expectBool("operator.eq", {c10::IValue(), 0}, false);
  expectBool("operator.ne", {"a", "b"}, true);
  EXPECT_MENTIONS(pythonFault("operator.lt", {"a", "b"}), "expected a number, found String");
}

TEST(PythonFunctions, BitsAndTruth) {
  expectBool("operator.and_", {true, false}, false);
  expectInt("operator.and_", {6, true}, 0);
  expectInt("operator.or_", {4, 3}, 7);
  expectBool("operator.xor", {true, false}, true);
  expectInt("operator.invert", {5}, -6);
  expectInt("operator.lshift", {3, 4}, 48);
  expectInt("operator.lshift", {-1, 62}, -4611686018427387904);
  expectInt("operator.lshift", {-1, 63}, INT64_MIN);
  expectInt("operator.lshift", {0, 100}, 0);
  expectInt("operator.rshift", {-5, 1}, -3);
  expectInt("operator.rshift", {-5, 100}, -1);
  expectBool("operator.not_", {0.0}, true);
  expectBool("operator.truth", {kPythonNan}, true);
  expectBool("torch.sym_not", {false}, true);
  EXPECT_MENTIONS(pythonFault("operator.and_", {1.5, 1}), "expected an int, found the float 1.5");
  EXPECT_MENTIONS(pythonFault("operator.rshift", {1, -1}), "negative shift count");
}

TEST(PythonFunctions, Rounding) {
  expectInt("builtins.round", {2.5}, 2);
  expectInt("builtins.round", {3.5}, 4);
  expectInt("builtins.round", {-2.5}, -2);
  expectInt("builtins.round", {0.49999999999999994}, 0);
  expectInt("builtins.round", {true}, 1);
  // 2.675 lies below the decimal number.
  expectFloat("builtins.round", {2.675, 2}, 2.67);
  expectFloat("builtins.round", {0.5, 0}, 0.0);
  expectFloat("builtins.round", {-0.4, 0}, -0.0);
  expectFloat("builtins.round", {1234.5678, -2}, 1200.0);
  expectFloat("builtins.round", {50.0, -2}, 0.0);
  expectFloat("builtins.round", {50.000001, -2}, 100.0);
  expectFloat("builtins.round", {4.0, -2}, 0.0);
  expectFloat("builtins.round", {1e300, 500}, 1e300);
  expectInt("builtins.round", {1250, -2}, 1200);
  expectInt("builtins.round", {1350, -2}, 1400);
  expectInt("builtins.round", {-1250, -2}, -1200);
  expectInt("builtins.round", {17, 3}, 17);
  expectInt("builtins.round", {4999999999999999999, -19}, 0);
  expectInt("builtins.round", {INT64_MAX, -20}, 0);
  EXPECT_MENTIONS(pythonFault("builtins.round", {6934168815379271372, -19}), "does not fit 64 bits");
  EXPECT_MENTIONS(pythonFault("builtins.round", {kPythonNan}), "NaN");
  EXPECT_MENTIONS(pythonFault("builtins.round", {1.7e308, -308}), "too large");
  expectInt("math.floor", {-1.5}, -2);
  expectInt("math.ceil", {-1.5}, -1);
  expectInt("math.trunc", {-1.5}, -1);
  expectInt("math.floor", {7}, 7);
  EXPECT_MENTIONS(pythonFault("math.ceil", {kPythonInf}), "infinity");
}

TEST(PythonFunctions, MathRaisesWherePythonDoes) {
  expectFloat("math.sqrt", {9}, 3.0);
  expectFloat("torch._sym_sqrt", {16}, 4.0);
  expectFloat("torch.sym_sqrt", {2.25}, 1.5);
  expectFloat("math.log", {8, 2}, 3.0);
  expectFloat("math.log2", {8}, 3.0);
  expectFloat("math.pow", {2, 3}, 8.0);
  expectFloat("torch._sym_cos", {0}, 1.0);
  expectFloat("math.sqrt", {kPythonNan}, kPythonNan);
  expectFloat("math.exp", {-kPythonInf}, 0.0);
  expectFloat("math.degrees", {1e308}, kPythonInf);
  expectBool("math.isnan", {kPythonNan}, true);
  expectInt("math.gcd", {12, -18}, 6);
  EXPECT_MENTIONS(pythonFault("math.sqrt", {-1}), "math domain error");
  EXPECT_MENTIONS(pythonFault("math.log", {0}), "math domain error");
  EXPECT_MENTIONS(pythonFault("math.exp", {1000}), "math range error");
  EXPECT_MENTIONS(pythonFault("math.atanh", {1}), "math domain error");
  EXPECT_MENTIONS(pythonFault("math.sin", {kPythonInf}), "math domain error");
  EXPECT_MENTIONS(pythonFault("math.pow", {0, -1}), "math domain error");
}

TEST(PythonFunctions, ChoicesAndSums) {
  expectInt("torch.sym_max", {2, 3}, 3);
  expectFloat("torch.sym_max", {2.5, 3}, 3.0);
  expectFloat("torch.sym_min", {2, 3.5}, 2.0);
  expectFloat("builtins.max", {2, 3.0, true, 3}, 3.0);  // the first of equals
  expectInt("builtins.min", {c10::IValue(std::vector<int64_t>{4, 2, 3})}, 2);
  expectInt("torch.sym_int", {-2.7}, -2);
  expectFloat("torch.sym_float", {3}, 3.0);
  expectInt("torch.sym_ite", {true, 1, 2}, 1);
  expectInt("torch.sym_sum", {c10::IValue(std::vector<int64_t>{1, 2, 3})}, 6);
  EXPECT_MENTIONS(pythonFault("torch.sym_ite", {true, 1, 2.0}), "one kind");
  EXPECT_MENTIONS(pythonFault("torch.sym_int", {kPythonInf}), "infinity");
}

TEST(PythonFunctions, TensorsGoToAten) {
  const at::Tensor x = sampleTensor({4});  // -1, -0.75, -0.5, -0.25
  EXPECT_TRUE(callPython("operator.add", {x, 2}).toTensor().equal(x.add(2)));
  EXPECT_TRUE(callPython("operator.sub", {2, x}).toTensor().equal(x.neg().add(2)));
  EXPECT_TRUE(callPython("operator.floordiv", {x, 0.5}).toTensor().equal(x.div(0.5).floor()));
  EXPECT_TRUE(callPython("operator.mod", {x, 0.75}).toTensor().equal(x.remainder(0.75)));
  EXPECT_TRUE(callPython("operator.lt", {x, x}).toTensor().equal(x.lt(x)));
  EXPECT_TRUE(callPython("operator.neg", {x}).toTensor().equal(x.neg()));
  // A number does not widen the tensor.
  EXPECT_EQ(callPython("operator.mul", {x, 2.5}).toTensor().scalar_type(), at::ScalarType::Float);
  const at::Tensor ints = sampleTensor({4}, Dtype::Int32);
  EXPECT_EQ(callPython("operator.add", {3, ints}).toTensor().scalar_type(), at::ScalarType::Int);
  EXPECT_EQ(callPython("operator.truediv", {ints, 2}).toTensor().scalar_type(), at::ScalarType::Float);
  expectBool("operator.not_", {sampleTensor({1})}, false);
  EXPECT_MENTIONS(pythonFault("operator.not_", {x}), "ambiguous");
}

TEST(PythonFunctions, OnlyKnownNamesAndCounts) {
  for (std::string_view name : {"operator.getitem", "add", "torch.relu", "math.nothing", "builtins.open",
                                "executorch.exir.memory.alloc", "torch.sym_fresh_size"})
    EXPECT_EQ(findPythonFunction(name), nullptr) << name;
  EXPECT_MENTIONS(pythonFault("operator.add", {1}), "expected 2 arguments, found 1");
  EXPECT_MENTIONS(pythonFault("builtins.max", {}), "at least one value");
  EXPECT_MENTIONS(pythonFault("builtins.round", {1, 2, 3}), "expected 1 to 2 arguments, found 3");
}

}  // namespace
}  // namespace edgefx::detail
