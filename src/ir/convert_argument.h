#pragma once

#include <edgefx/ir/node.h>

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <string>

namespace edgefx::detail {

// Where the values of an argument's leaves come from that are not written out.
class LeafValues {
 public:
  virtual ~LeafValues() = default;
  virtual c10::IValue node(const Node& node) const = 0;
  virtual c10::IValue symbolic(const SymExpr& expression) const = 0;
};

// An argument as LibTorch's value. Lists and tuples become lists of no particular type, dtypes, layouts and
// memory formats the numbers that kernels take. Throws UnsupportedError for what LibTorch has no value for: a
// dtype that it lacks, slices, operators.
c10::IValue toIValue(const Argument& argument, const LeafValues& leaves);

// `value` as a kernel whose schema declares `declared` takes it, as Python's operators convert: numbers where
// tensors are asked for, tensors of one element where numbers are, ints for floats, one number for a list of
// known length, lists of the declared type. Throws UsageError naming the argument, its type and what was
// found.
c10::IValue convertArgument(c10::IValue value, const c10::Argument& declared);

// What the schema gives an argument that a call leaves out: the default, or None if it may be None. Throws
// UsageError for an argument that must be given.
c10::IValue defaultArgument(const c10::Argument& declared);

// "float32[2, 3]", "[1, 2]", "None", "1.5": for messages. Long lists are cut.
std::string describe(const c10::IValue& value);

// The number in Python's form as IValue.
c10::IValue scalarValue(const at::Scalar& scalar);

}  // namespace edgefx::detail
