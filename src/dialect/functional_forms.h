#pragma once

#include "dialect/call_maker.h"

#include <functional>
#include <utility>
#include <vector>

namespace edgefx::detail {

// What a call that writes comes to without writing.
struct FunctionalForm {
  // What each written operand holds then, by the node of the old call.
  std::vector<std::pair<Node*, Node*>> written;
  // What stands for the old call's value; null if that is the operand written first, or nothing.
  Node* result = nullptr;
};

// What stands for the operands of a call.
struct CurrentValues {
  std::function<Arg(const Argument&)> argument;
  std::function<Node&(Node&)> node;
  std::function<bool(const Node&)> isWritten;  // whether a placeholder is written by the program
};

// Makes the functional form in front of the call: the operator without the underscore, or what there is else;
// for operators of other libraries a call of auto_functionalized_v2.
// UnsupportedError if there is none.
FunctionalForm functionalForm(Node& call, const CurrentValues& current, const CallMaker& maker);

}  // namespace edgefx::detail
