#pragma once

#include <edgefx/ir/node.h>

namespace edgefx::detail {

// The node that a call of getitem takes its element from; null for every other node.
inline const Node* producerOf(const Node& node) {
  static const Target getitem("operator.getitem");
  if (!node.isCall(getitem)) return nullptr;
  const Argument* sequence = node.findArg(0);
  return sequence == nullptr ? nullptr : sequence->findNode();
}

}  // namespace edgefx::detail
