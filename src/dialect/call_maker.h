#pragma once

#include <edgefx/ir/graph.h>
#include <edgefx/ir/node_queries.h>

namespace edgefx::detail {

// Makes calls in front of a node, with its metadata, named after their operators and described by their shape
// rules.
class CallMaker {
 public:
  CallMaker(Node& before, const Node& madeFor) : before_(before), madeFor_(madeFor) {}

  const Node& madeFor() const { return madeFor_; }
  // `like` describes the value where there is no rule. Throws what inferValue throws.
  Node& call(Target target, const Args& args, const Kwargs& kwargs = {}, ValueRef like = {}) const;
  // Null, and no node, if the arguments do not fit.
  Node* tryCall(Target target, const Args& args, const Kwargs& kwargs = {}, ValueRef like = {}) const;
  // Result i of a call, described as it says or else by `like`.
  Node& item(Node& call, int64_t i, ValueRef like = {}) const;

  // The tensor itself if its elements lie in order, else a copy in which they do.
  Node& contiguous(Node& tensor) const;
  // Numbers of a shape as arguments: those that are symbolic are asked of the tensor.
  Arg sizesOf(Node& tensor) const;
  // Its elements with these sizes.
  Node& withSizes(Node& tensor, const Arg& sizes, ValueRef like) const;

 private:
  Node& before_;
  const Node& madeFor_;
};

// Whether a tensor is known, and its elements are known to lie in order.
bool isContiguousTensor(const TensorMeta* meta);

}  // namespace edgefx::detail
