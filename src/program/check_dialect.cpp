#include <edgefx/ir/operators.h>
#include <edgefx/program/check_dialect.h>

#include "program/core_aten_ops.h"
#include "program/edge_dialect.h"
#include "program/findings.h"
#include "program/operator_names.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_map>

namespace edgefx {
namespace {

// Of Python's operator module and of torch, as torch._export.verifier lists them.
constexpr std::string_view kKnownFunctions[] = {
    "builtins.round",  "builtins.bool",    "math.ceil",     "math.floor",      "math.trunc",
    "operator.abs",    "operator.add",     "operator.and_", "operator.eq",     "operator.floordiv",
    "operator.ge",     "operator.getitem", "operator.gt",   "operator.le",     "operator.lshift",
    "operator.lt",     "operator.mod",     "operator.mul",  "operator.ne",     "operator.neg",
    "operator.not_",   "operator.or_",     "operator.pow",  "operator.rshift", "operator.sub",
    "operator.truediv"};

bool isKnownFunction(std::string_view name) {
  static constexpr std::string_view kPrefixes[] = {"torch.sym_",
                                                   "torch._sym_",
                                                   "torch._functorch.predispatch.",
                                                   "torch._C._functorch.",
                                                   "torch.autograd.grad_mode.",
                                                   "torch._C._set_grad_enabled",
                                                   "torch.amp.autocast_mode."};
  const auto begins = [name](std::string_view prefix) { return name.starts_with(prefix); };
  return std::ranges::any_of(kPrefixes, begins) ||
         std::ranges::find(kKnownFunctions, name) != std::end(kKnownFunctions);
}

// What is wrong with calls of an operator, whatever their arguments; no rule if nothing is.
struct Fault {
  std::string_view rule;
  std::string message;
};

class DialectChecker {
 public:
  DialectChecker(OperatorSet operators, const EdgeCompileConfig& config)
      : operators_(operators),
        skipDimOrder_(config.skipDimOrder),
        excepted_(config.coreAtenOpsExceptionList),
        preserved_(config.preserveOps) {}

  void check(const GraphModule& module, const std::string& path) {
    for (const Node& node : module.graph().nodes()) {
      if (node.op() == NodeOp::CallModule) {
        add(node, path,
            {"functions only",
             fmt::format("module '{}' is called; expected calls of functions only", node.targetText())});
      }
      if (!node.isCall()) continue;
      const Fault& fault = faultOf(node.target());
      if (!fault.rule.empty()) {
        add(node, path, fault);
      } else if (operators_ != OperatorSet::Training && writesStatistics(node)) {
        add(node, path,
            {"functional", fmt::format("operator '{}' writes its running statistics", node.target().name())});
      }
    }
  }

  std::vector<Diagnostic> take() && { return std::move(findings_).take(); }

 private:
  void add(const Node& node, const std::string& path, const Fault& fault) {
    if (!findings_.wantsNext()) return;
    Diagnostic diagnostic(fault.message);
    diagnostic.rule = fault.rule;
    diagnostic.graph = path;
    diagnostic.node = node.name();
    diagnostic.nodeText = node.text();
    findings_.add(std::move(diagnostic));
  }

  bool writesStatistics(const Node& call) const {
    return !excepted_.lists(call.target()) && writesUndeclared(call);
  }

  // Programs have few distinct targets.
  const Fault& faultOf(Target target) {
    const auto [found, isNew] = faults_.try_emplace(target.fxText().data());
    if (isNew) found->second = judge(target);
    return found->second;
  }

  Fault judge(Target target) const {
    switch (target.kind()) {
      case TargetKind::HigherOrder:
        return {};
      case TargetKind::Function:
        if (operators_ == OperatorSet::Edge || isKnownFunction(target.name())) return {};
        return {"known functions", fmt::format("'{}' is no function that programs may call", target.name())};
      case TargetKind::Packet:
        return {"known functions",
                fmt::format("operator '{}' is called without naming an overload", target.name())};
      case TargetKind::Operator:
      case TargetKind::EdgeOperator:
        return judgeOperator(target);
    }
    return {};
  }

  Fault judgeOperator(Target target) const {
    const std::string_view name = target.name();
    const bool isEdge = target.kind() == TargetKind::EdgeOperator;
    if (excepted_.lists(target)) return {};
    if (operators_ != OperatorSet::Training) {
      const OperatorInfo* const info = findOperator(target);
      if (info != nullptr && info->isMutable)
        return {"functional",
                fmt::format("operator '{}' is not functional: it writes into an argument", name)};
    }
    if (operators_ != OperatorSet::Edge) {
      if (isEdge)
        return {"edge operator",
                fmt::format("edge operator '{}' in a program that is not of edge dialect", name)};
      return operators_ == OperatorSet::CoreAten ? judgeCore(target) : Fault{};
    }
    if (!isEdge) {
      if (detail::staysAten(target)) return {};
      return {"edge operator", fmt::format("operator '{}' is not an edge operator", name)};
    }
    if (Fault fault = judgeDimOrder(target); !fault.rule.empty()) return fault;
    if (detail::isCoreAtenView(name) && preserved_.lists(target)) {
      return {"preserved", fmt::format("operator '{}' cannot be preserved: it is a view", name)};
    }
    if (detail::isCoreAtenView(name)) {
      return {"core ATen",
              fmt::format("operator '{}' is a view, of which edge programs call the copy", name)};
    }
    return judgeCore(target);
  }

  Fault judgeCore(Target target) const {
    const std::string_view name = target.name();
    if (target.ns() != "aten" || preserved_.lists(target) || detail::staysAten(target)) return {};
    if (detail::isCoreAten(name) || (operators_ == OperatorSet::Edge && detail::isViewCopy(name))) return {};
    return {"core ATen", fmt::format("operator '{}' is not in the Core ATen opset", name)};
  }

  Fault judgeDimOrder(Target target) const {
    const std::string_view name = target.name();
    if (skipDimOrder_) {
      if (target.ns() != "dim_order_ops") return {};
      return {"dim order", fmt::format("operator '{}' should not be used without dim order", name)};
    }
    if (name != "aten._to_copy.default" && name != "aten.empty.memory_format" && name != "aten.clone.default")
      return {};
    return {"dim order",
            fmt::format("operator '{}' should not be used with dim order: expected its form of dim_order_ops",
                        name)};
  }

  const OperatorSet operators_;
  const bool skipDimOrder_;
  const detail::OperatorNames excepted_, preserved_;
  std::unordered_map<const void*, Fault> faults_;  // by interned text; never iterated over
  detail::Findings findings_;
};

}  // namespace

std::vector<Diagnostic> checkDialect(const ExportedProgram& program, OperatorSet operators,
                                     const EdgeCompileConfig& config) {
  DialectChecker checker(operators, config);
  for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
    checker.check(*nested.module, nested.path);
  }
  return std::move(checker).take();
}

void verifyDialect(const ExportedProgram& program, OperatorSet operators, const EdgeCompileConfig& config) {
  std::vector<Diagnostic> violations = checkDialect(program, operators, config);
  if (!violations.empty()) throw VerificationError(std::move(violations));
}

}  // namespace edgefx
