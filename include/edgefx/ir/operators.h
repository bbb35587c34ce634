#pragma once

#include <edgefx/ir/graph_module.h>

#include <string>
#include <string_view>
#include <vector>

namespace edgefx {

// One argument of an operator, as its schema declares it.
struct OperatorArgument {
  std::string name;
  bool hasDefault = false;
  bool keywordOnly = false;
  bool isWritten = false;  // the operator writes into it: Tensor(a!)
  // Results may share its memory: Tensor(a), and where operators do so without declaring it, as aten.dropout.
  bool isAlias = false;
  bool isTensor = false;  // one tensor, which may be optional
};

// What is known of an operator by its name.
struct OperatorInfo {
  std::vector<OperatorArgument> arguments;
  size_t numReturns = 0;
  bool isMutable = false;  // writes into an argument
  bool isRandom = false;   // gives another result on each call

  const OperatorArgument* findArgument(std::string_view name) const;
};

// Schema facts of an operator of either dialect, from the bundled table of torch 2.14 schemas that older
// LibTorch lacks or has otherwise, or else from LibTorch's dispatcher; null if neither knows it. A packet
// stands for its default overload. Cached, and valid for the life of the process; O(1) after the first call
// for a known target.
const OperatorInfo* findOperator(Target target);

// Whether a call writes into its i-th argument although its schema does not say so: the running statistics of
// batch and instance norms that are given and trained. O(1).
bool writesUndeclared(const Node& call, size_t i);
// The same for any of its arguments that is a node. O(1).
bool writesUndeclared(const Node& call);

// Whether a node may be needed although nobody uses its value: placeholders, outputs, operators that write to
// an argument, are random, return nothing, or check or print something; control flow with such a node in a
// branch. Operators of which nothing is known count as pure, as in FX, unless the node's value says that they
// return nothing. `owner` is the module of the node's graph, to find branches in. O(1), for control flow
// O(nodes of its branches).
bool isImpure(const Node& node, const GraphModule& owner);

}  // namespace edgefx
