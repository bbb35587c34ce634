#pragma once

#include <ATen/core/ivalue.h>

#include <span>
#include <string_view>

namespace edgefx::detail {

// A Python function of numbers with the meaning that it has in Python: bool, int and float are mixed, divided
// and rounded as Python does it. The functions of the module `operator` take tensors too, and call the ATen
// operator then. Throws std::runtime_error where Python raises an exception (ZeroDivisionError, a domain
// error, a wrong number or kind of arguments) and where an int does not fit 64 bits.
using PythonFunction = c10::IValue (*)(std::span<const c10::IValue> args);

// The function by Target::name(): "operator.add", "math.floor", "builtins.round", "torch.sym_max". Null if
// there is none; getitem, which takes containers, is not among them. O(1).
PythonFunction findPythonFunction(std::string_view name);

}  // namespace edgefx::detail
