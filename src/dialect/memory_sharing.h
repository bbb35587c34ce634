#pragma once

#include <edgefx/ir/node.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace edgefx::detail {

// How the result of a call holds memory of its first operand.
enum class Sharing : uint8_t {
  Nothing,
  Same,     // it is the operand
  View,     // it shows the operand's memory in another form
  Views,    // it is a list of views
  Unknown,  // it may hold memory of some operand
};

// What schemas and descriptions tell; calls of graphs and functions share nothing here.
Sharing sharingOf(const Node& call);

// The operands that an operator writes in place, declared or not.
std::vector<Node*> writtenOperands(const Node& call);

// Operators that change the form of the tensor they are called with, not its elements: the view that they
// put in its place, "aten.t.default" for "aten.t_.default"; nothing for all others.
std::optional<Target> viewInPlace(Target target);

}  // namespace edgefx::detail
