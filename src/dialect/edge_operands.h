#pragma once

#include "dialect/lifted_scalars.h"

#include <functional>

namespace edgefx::detail {

// Makes the operands of calls what edge operators take. Nodes that it makes stand before the call and have
// its metadata; `made` is told of each once its value is described.
class EdgeOperands {
 public:
  using Told = std::function<void(Node& made)>;

  EdgeOperands(LiftedScalars& lifted, Told made) : lifted_(lifted), made_(std::move(made)) {}

  // Numbers, plain or symbolic, where the operator takes a tensor become tensors. Returns whether there was
  // one. `isTop`: whether the call is of the program's own graph.
  bool numbersToTensors(Node& call, bool isTop);
  // Operands of arithmetic that have another dtype than the operator computes in are cast. Returns whether
  // there was one.
  bool castToOneDtype(Node& call);
  // Drops operands of cat without elements, unless that changes what it gives. Returns whether there was one.
  bool dropEmptyOperands(Node& call);

 private:
  Node& make(Node& call, Target target, const Args& args, const Kwargs& kwargs);
  Node& tensorOf(Node& call, const Argument& number, Dtype dtype, bool isTop);

  LiftedScalars& lifted_;
  Told made_;
};

}  // namespace edgefx::detail
