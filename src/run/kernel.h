#pragma once

#include <edgefx/ir/node.h>

#include "run/operator_equivalents.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <optional>
#include <vector>

namespace edgefx::detail {

// What runs an operator: LibTorch's dispatcher, or an equivalent of ours.
struct Kernel {
  const c10::FunctionSchema* schema;
  std::optional<c10::OperatorHandle> handle;
  EquivalentFunction equivalent = nullptr;
  bool replacesOlder = false;  // see OperatorEquivalent

  void call(std::vector<c10::IValue>& stack) const {
    if (handle) {
      handle->callBoxed(stack);
    } else {
      equivalent(stack);
    }
  }
};

// Null if this process has none. O(log) of the operators known.
std::optional<Kernel> findKernel(Target target);

// A kernel, and the argument for each position of its schema, null
// where the call leaves it out.
struct BoundCall {
  Kernel kernel;
  std::vector<const Argument*> arguments;
};
// The kernel that takes the arguments of this call. Arguments are matched by their names, since schemas grow
// from release to release. Nothing if there is no such kernel. Throws VerificationError if a call gives an
// argument that no schema has, or one twice.
std::optional<BoundCall> bindCall(Target target, std::span<const Argument> args, KeyedArguments kwargs);

}  // namespace edgefx::detail
