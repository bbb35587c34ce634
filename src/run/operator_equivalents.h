#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <string_view>
#include <vector>

namespace edgefx::detail {

// Takes the arguments in the schema's order, all of them, and leaves the results in their place.
using EquivalentFunction = void (*)(std::vector<c10::IValue>& stack);

// An operator that LibTorch lacks, or that is written in Python, made of ATen operators that LibTorch has.
struct OperatorEquivalent {
  c10::FunctionSchema schema;
  EquivalentFunction run;
  // Older releases of LibTorch have the operator, but without some of these arguments, or with an argument of
  // a narrower type. There, this one is to be called.
  bool replacesOlder = false;
};

// Null if there is none. `name` as Target::name(): "aten.squeeze.dims". Valid for the life of the process.
// O(1).
//
// Functions of equivalents throw std::runtime_error, with PyTorch's text, where the operator asserts
// something that does not hold, UnsupportedError where they are asked for a dtype that this LibTorch lacks,
// and what the ATen operators inside throw.
const OperatorEquivalent* findEquivalent(std::string_view name);

// The names of all, in no particular but always the same order.
std::vector<std::string_view> equivalentNames();

}  // namespace edgefx::detail
