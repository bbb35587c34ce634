#include <edgefx/partition/operator_support.h>
#include <edgefx/program/lowered_module.h>

#include "partition/getitem.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace edgefx {
namespace {

using Rule = OperatorSupport::Rule;

class BothRules final : public Rule {
 public:
  BothRules(OperatorSupport left, OperatorSupport right) : left_(std::move(left)), right_(std::move(right)) {}
  bool accepts(const Node& node) const override { return left_.supports(node) && right_.supports(node); }
  std::string refusal(const Node& node) const override {
    std::string reason = left_.whyNot(node);
    return reason.empty() ? right_.whyNot(node) : reason;
  }
  std::string condition() const override {
    return fmt::format("{} and {}", left_.condition(), right_.condition());
  }

 private:
  OperatorSupport left_, right_;
};

class EitherRule final : public Rule {
 public:
  EitherRule(OperatorSupport left, OperatorSupport right)
      : left_(std::move(left)), right_(std::move(right)) {}
  bool accepts(const Node& node) const override { return left_.supports(node) || right_.supports(node); }
  std::string refusal(const Node& node) const override {
    std::string left = left_.whyNot(node), right = right_.whyNot(node);
    return left == right ? left : fmt::format("{}, and {}", left, right);
  }
  std::string condition() const override {
    return fmt::format("({} or {})", left_.condition(), right_.condition());
  }

 private:
  OperatorSupport left_, right_;
};

class NegatedRule final : public Rule {
 public:
  explicit NegatedRule(OperatorSupport negated) : negated_(std::move(negated)) {}
  bool accepts(const Node& node) const override { return !negated_.supports(node); }
  std::string refusal(const Node&) const override { return negated_.condition(); }
  std::string condition() const override { return fmt::format("not ({})", negated_.condition()); }

 private:
  OperatorSupport negated_;
};

std::string whatItIs(const Node& node) {
  if (node.isCall()) return fmt::format("it calls {}", node.target().name());
  return fmt::format("it is a {} node", name(node.op()));
}

class AnyCallRule final : public Rule {
 public:
  bool accepts(const Node& node) const override { return node.isCall(); }
  std::string refusal(const Node& node) const override { return whatItIs(node); }
  std::string condition() const override { return "it calls a function"; }
};

class TargetRule final : public Rule {
 public:
  TargetRule(const std::vector<Target>& targets, bool bothDialects) : bothDialects_(bothDialects) {
    for (Target target : targets) {
      texts_.emplace_back(bothDialects ? target.name() : target.fxText());
      keys_.push_back(keyOf(bothDialects ? target.toAten() : target));
      if (bothDialects) keys_.push_back(keyOf(target.toEdge()));
    }
    std::sort(keys_.begin(), keys_.end(), std::less<>());
  }
  bool accepts(const Node& node) const override {
    return node.isCall() &&
           std::binary_search(keys_.begin(), keys_.end(), keyOf(node.target()), std::less<>());
  }
  std::string refusal(const Node& node) const override {
    if (!bothDialects_ && node.isCall()) return fmt::format("it calls {}", node.target().fxText());
    return whatItIs(node);
  }
  std::string condition() const override {
    return fmt::format("it calls {}{}", texts_.size() > 1 ? "one of " : "", fmt::join(texts_, ", "));
  }

 private:
  // Targets are interned, and so is their text.
  static const char* keyOf(Target target) { return target.fxText().data(); }

  std::vector<std::string> texts_;
  std::vector<const char*> keys_;
  bool bothDialects_;
};

class DtypeRule final : public Rule {
 public:
  DtypeRule(std::vector<Dtype> dtypes, bool inputs) : dtypes_(std::move(dtypes)), inputs_(inputs) {}

  bool accepts(const Node& node) const override {
    if (!inputs_) return !faultOf(node);
    for (const Node& input : node.inputs()) {
      if (faultOf(input)) return false;
    }
    return true;
  }
  std::string refusal(const Node& node) const override {
    if (!inputs_) return fmt::format("its result has {}, not {}", describe(node), expected());
    for (const Node& input : node.inputs()) {
      if (faultOf(input))
        return fmt::format("its input '%{}' has {}, not {}", input.name(), describe(input), expected());
    }
    return {};
  }
  std::string condition() const override {
    return fmt::format("its {} of {}", inputs_ ? "inputs are" : "results are", expected());
  }

 private:
  struct Fault {
    std::optional<Dtype> dtype;  // none if the value is not known
  };

  std::optional<Fault> faultOf(const Node& node) const {
    if (node.value() != nullptr) return faultOf(*node.value());
    if (node.isGetAttr() || node.isOutput()) return std::nullopt;
    return Fault{};
  }
  std::optional<Fault> faultOf(const ValueMeta& value) const {
    if (const TensorMeta* tensor = value.tensor()) {
      if (std::find(dtypes_.begin(), dtypes_.end(), tensor->dtype) != dtypes_.end()) return std::nullopt;
      return Fault{tensor->dtype};
    }
    if (const ValueMeta::Sequence* sequence = value.sequence()) {
      for (const ValueRef& element : sequence->elements) {
        if (!element) continue;
        if (auto fault = faultOf(*element)) return fault;
      }
    }
    return std::nullopt;
  }
  std::string describe(const Node& node) const {
    const std::optional<Fault> fault = faultOf(node);
    return fault && fault->dtype ? fmt::format("dtype {}", fxText(*fault->dtype))
                                 : std::string("no known value");
  }
  std::string expected() const {
    std::vector<std::string_view> texts;
    for (Dtype dtype : dtypes_) texts.push_back(fxText(dtype));
    return fmt::format("{}", fmt::join(texts, " or "));
  }

  std::vector<Dtype> dtypes_;
  bool inputs_;
};

class PredicateRule final : public Rule {
 public:
  PredicateRule(std::function<bool(const Node&)> accepts, std::string refusal)
      : accepts_(std::move(accepts)), refusal_(std::move(refusal)) {}
  bool accepts(const Node& node) const override { return accepts_(node); }
  std::string refusal(const Node&) const override { return refusal_; }
  std::string condition() const override { return fmt::format("it does not hold that {}", refusal_); }

 private:
  std::function<bool(const Node&)> accepts_;
  std::string refusal_;
};

class NotDelegatedRule final : public Rule {
 public:
  bool accepts(const Node& node) const override {
    if (node.isGetAttr()) return !namesDelegate(node);
    const Node* at = &node;
    while (const Node* producer = detail::producerOf(*at)) at = producer;
    return !callsDelegate(*at);
  }
  std::string refusal(const Node&) const override { return "it belongs to a delegate"; }
  std::string condition() const override { return "it belongs to no delegate"; }

 private:
  static bool namesDelegate(const Node& node) {
    for (const Node& user : node.users()) {
      const Argument* first = user.findArg(0);
      if (callsDelegate(user) && first != nullptr && first->findNode() == &node) return true;
    }
    return false;
  }
};

template <typename R, typename... Args>
OperatorSupport makeSupport(Args&&... args) {
  return OperatorSupport(std::make_shared<const R>(std::forward<Args>(args)...));
}

}  // namespace

OperatorSupport operator&&(const OperatorSupport& left, const OperatorSupport& right) {
  return makeSupport<BothRules>(left, right);
}

OperatorSupport operator||(const OperatorSupport& left, const OperatorSupport& right) {
  return makeSupport<EitherRule>(left, right);
}

OperatorSupport operator!(const OperatorSupport& negated) {
  return makeSupport<NegatedRule>(negated);
}

OperatorSupport support::anyCall() {
  return makeSupport<AnyCallRule>();
}

OperatorSupport support::operators(const std::vector<Target>& operators) {
  return makeSupport<TargetRule>(operators, true);
}

OperatorSupport support::targets(const std::vector<Target>& targets) {
  return makeSupport<TargetRule>(targets, false);
}

OperatorSupport support::inputDtypes(std::vector<Dtype> dtypes) {
  return makeSupport<DtypeRule>(std::move(dtypes), true);
}

OperatorSupport support::outputDtypes(std::vector<Dtype> dtypes) {
  return makeSupport<DtypeRule>(std::move(dtypes), false);
}

OperatorSupport support::dtypes(const std::vector<Dtype>& dtypes) {
  return inputDtypes(dtypes) && outputDtypes(dtypes);
}

OperatorSupport support::predicate(std::function<bool(const Node&)> accepts, std::string refusal) {
  return makeSupport<PredicateRule>(std::move(accepts), std::move(refusal));
}

OperatorSupport support::notDelegated() {
  return makeSupport<NotDelegatedRule>();
}

}  // namespace edgefx
