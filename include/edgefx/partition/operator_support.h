#pragma once

#include <edgefx/ir/dtype.h>
#include <edgefx/ir/node.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace edgefx {

// What a backend can take, as a question to a node. A value: cheap to copy, immutable, to be asked from
// several threads at once. Combines with &&, || and !:
//
//   support::operators({"aten.add.Tensor", "aten.mm.default"}) && support::dtypes({Dtype::Float32}) &&
//       support::notDelegated()
class OperatorSupport {
 public:
  // One question and its wordings. For kinds of support that the factories below do not have.
  class Rule {
   public:
    virtual ~Rule() = default;
    virtual bool accepts(const Node& node) const = 0;
    // Why it does not accept the node, as a clause without the node's name; asked only if that is so.
    virtual std::string refusal(const Node& node) const = 0;
    // What holds for the nodes it accepts: "it calls aten.add.Tensor".
    virtual std::string condition() const = 0;
  };

  explicit OperatorSupport(std::shared_ptr<const Rule> rule) : rule_(std::move(rule)) {}

  bool supports(const Node& node) const { return rule_->accepts(node); }
  // Why the node is not supported; empty if it is.
  std::string whyNot(const Node& node) const {
    return rule_->accepts(node) ? std::string() : rule_->refusal(node);
  }
  // The condition in words.
  std::string condition() const { return rule_->condition(); }

  // The right side is asked only if the left one has not decided.
  friend OperatorSupport operator&&(const OperatorSupport& left, const OperatorSupport& right);
  friend OperatorSupport operator||(const OperatorSupport& left, const OperatorSupport& right);
  friend OperatorSupport operator!(const OperatorSupport& negated);

 private:
  std::shared_ptr<const Rule> rule_;
};

namespace support {

// Every call_function node.
OperatorSupport anyCall();

// Calls of these operators in either dialect: "aten.add.Tensor" accepts the edge operator, too.
OperatorSupport operators(const std::vector<Target>& operators);
// Calls of these very targets.
OperatorSupport targets(const std::vector<Target>& targets);

// Every tensor among the inputs (outputs) has one of these element types, those inside sequences included.
// Values that are no tensors do not matter. A node of which no value is known is refused, but for get_attr
// nodes, which may name a graph.
OperatorSupport inputDtypes(std::vector<Dtype> dtypes);
OperatorSupport outputDtypes(std::vector<Dtype> dtypes);
// Both.
OperatorSupport dtypes(const std::vector<Dtype>& dtypes);

// What `accepts` returns. `refusal` is the reason given where that is false, such as "the last dimension is
// no multiple of 4".
OperatorSupport predicate(std::function<bool(const Node&)> accepts, std::string refusal);

// Whatever does not belong to a delegate: no calls of executorch_call_delegate, no getitem of theirs, no
// get_attr of their modules. O(users) for get_attr nodes.
OperatorSupport notDelegated();

}  // namespace support

}  // namespace edgefx
