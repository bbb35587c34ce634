#pragma once

#include <edgefx/ir/node.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace edgefx {

// Rules for operators that edgefx does not know, or should not decide about: those of a backend, say.
class ShapeRules {
 public:
  // Describes the value of a call of the operator, null if it cannot tell. Throws UsageError for arguments
  // that the operator does not take.
  using Rule = std::function<ValueRef(const Node&)>;

  // For the operator of that name in both dialects: "mylib.mul.default", or "mylib.mul" for every overload
  // that has no rule of its own. Replaces an earlier rule. Throws UsageError if the name is empty or the rule
  // is.
  void add(std::string_view name, Rule rule);

  // Null if there is none. O(log rules).
  const Rule* find(Target target) const;

 private:
  std::map<std::string, Rule, std::less<>> rules_;
};

// The description of what a call_function node returns, made from its arguments and the descriptions of its
// inputs: dtype, sizes, strides, layout, device and storage offset of tensors, with requiresGrad false;
// expressions of symbolic numbers; a Sequence for several results or a list. Sizes may be symbolic: what is
// not decided by the expressions is not guessed. Null for what is not known: inputs without description,
// operators without rule (control flow among them), values that depend on data.
//
// Asks `own` first, then the rules of edgefx for operators of both dialects, then, if no number is symbolic,
// LibTorch's kernels for tensors without data.
//
// Throws UsageError, naming node and operator, if the arguments do not fit: shapes that do not broadcast, a
// dimension out of range. Throws UsageError if the node is no call_function. O(arguments and dimensions), if
// an own rule does not take longer.
ValueRef inferValue(const Node& node, const ShapeRules* own = nullptr);

// Whether two descriptions say the same: dtype, layout, device, sizes and strides of tensors, expressions of
// symbolic numbers, and the elements of sequences. Expressions agree if they have one form, or the same value
// under several assignments of numbers to symbols; what cannot be evaluated agrees with everything, as does
// null. Strides of dimensions of size 1 and of empty tensors, storage offsets and requiresGrad are not
// compared. Linear.
bool describeSame(const ValueMeta* a, const ValueMeta* b);

}  // namespace edgefx
