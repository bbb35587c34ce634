#include <edgefx/ir/lint.h>
#include <edgefx/ir/node_queries.h>
#include <edgefx/ir/operators.h>
#include <edgefx/program/check_program.h>
#include <edgefx/program/lowered_module.h>
#include <edgefx/program/tensor_table.h>

#include "program/delegate_programs.h"
#include "program/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

namespace edgefx {
namespace {

using detail::Findings;

Diagnostic at(const Node& node, const std::string& path, std::string message) {
  Diagnostic diagnostic(std::move(message));
  diagnostic.graph = path;
  diagnostic.node = node.name();
  return diagnostic;
}

// Looks the operator up: not for nodes with a value.
bool returnsNothing(const Node& node) {
  const OperatorInfo* info = node.target().isOperator() ? findOperator(node.target()) : nullptr;
  return info == nullptr || info->numReturns == 0;
}

void checkNode(const Node& node, const std::string& path, Findings& findings) {
  switch (node.op()) {
    case NodeOp::Placeholder:
      if (node.value() == nullptr && findings.wantsNext()) {
        findings.add(at(node, path, "expected a value recorded for the placeholder, found none"));
      }
      break;
    case NodeOp::CallFunction:
      if (node.value() != nullptr || (node.numUsers() == 0 && returnsNothing(node))) break;
      if (findings.wantsNext()) {
        findings.add(at(
            node, path,
            fmt::format("expected a value recorded for the call of '{}', found none", node.target().name())));
      }
      break;
    case NodeOp::CallModule:
      if (findings.wantsNext()) {
        findings.add(at(
            node, path,
            fmt::format("expected calls of functions only, found a call of module '{}'", node.targetText())));
      }
      break;
    case NodeOp::GetAttr:
    case NodeOp::Output:
      break;
  }
}

// Whether the calls of a module's delegates pass what these take, and take what they give.
void checkDelegateCalls(const GraphModule& module, const std::string& path, Findings& findings) {
  for (const Node& node : module.graph().nodes()) {
    if (!callsDelegate(node)) continue;
    const LoweredModule* const lowered = findLoweredModule(module, node);
    if (lowered == nullptr) {
      if (findings.wantsNext()) {
        findings.add(
            at(node, path, "expected a get_attr node of a delegate as the first argument, found none"));
      }
      continue;
    }
    const GraphSignature& signature = lowered->program.signature;
    const auto isInput = [](const InputSpec& spec) { return !spec.target; };
    const auto isResult = [](const OutputSpec& spec) { return !isMutation(spec.kind); };
    const auto inputs = static_cast<size_t>(std::ranges::count_if(signature.inputs, isInput));
    const auto results = std::ranges::count_if(signature.outputs, isResult);
    if (node.args().size() != inputs + 1 && findings.wantsNext()) {
      findings.add(at(node, path,
                      fmt::format("the delegate takes {} inputs, but the call passes {}", inputs,
                                  node.args().size() - 1)));
    }
    for (const Node& user : node.users()) {
      const std::optional<int64_t> index = getitemIndex(user);
      if (!index || (*index >= 0 && *index < results) || !findings.wantsNext()) continue;
      findings.add(at(user, path, fmt::format("takes result {} of a delegate that has {}", *index, results)));
    }
  }
}

void checkValues(const GraphModule& top, Findings& findings) {
  for (const ConstNestedModule& nested : namedModules(top)) {
    for (const Node& node : nested.module->graph().nodes()) {
      const bool isPlain = node.isCall() && node.value() != nullptr;
      if (!isPlain) checkNode(node, nested.path, findings);
    }
    if (!nested.module->delegates().empty()) checkDelegateCalls(*nested.module, nested.path, findings);
  }
}

// Whether a node with this value can be what the signature says. Tokens and objects come with values of any
// kind.
bool agrees(SpecArgKind kind, const ValueMeta& value) {
  switch (kind) {
    case SpecArgKind::Tensor:
      return value.tensor() != nullptr;
    case SpecArgKind::SymInt:
      return std::holds_alternative<ValueMeta::SymIntValue>(value.data);
    case SpecArgKind::SymFloat:
      return std::holds_alternative<ValueMeta::SymFloatValue>(value.data);
    case SpecArgKind::SymBool:
      return std::holds_alternative<ValueMeta::SymBoolValue>(value.data);
    case SpecArgKind::Constant:
      return value.tensor() == nullptr;
    case SpecArgKind::Token:
    case SpecArgKind::CustomObject:
      break;
  }
  return true;
}

void checkValueKind(const Node& node, std::string_view side, size_t index, const SpecArg& arg,
                    Findings& findings) {
  if (node.value() == nullptr || agrees(arg.kind, *node.value()) || !findings.wantsNext()) return;
  static constexpr std::string_view kKinds[] = {"a tensor",        "a symbolic int", "a symbolic float",
                                                "a symbolic bool", "a token",        "a custom object",
                                                "a constant"};
  findings.add(at(node, {},
                  fmt::format("{} spec {} says {}, but the node's value is {}", side, index,
                              kKinds[static_cast<size_t>(arg.kind)], node.value()->text())));
}

// Symbolic sizes may be any number.
bool sizesAgree(const std::vector<SymInt>& stored, const std::vector<SymInt>& declared) {
  return std::equal(stored.begin(), stored.end(), declared.begin(), declared.end(),
                    [](const SymInt& a, const SymInt& b) {
                      return a.isSymbolic() || b.isSymbolic() || a.value() == b.value();
                    });
}

void checkStoredTensor(const ExportedProgram& program, const Node& node, size_t index, const InputSpec& spec,
                       Findings& findings) {
  const TensorMeta* declared = tensorMetaOf(node);
  if (!spec.target || declared == nullptr || spec.kind == InputKind::CustomObject) return;
  const StoredTensor* const stored = program.findStored(spec);
  if (stored == nullptr) return;
  const TensorMeta* meta = stored->meta();
  if (meta != nullptr && meta->dtype == declared->dtype && sizesAgree(meta->sizes, declared->sizes)) return;
  if (!findings.wantsNext()) return;
  findings.add(at(node, {},
                  fmt::format("input spec {} stores {} as \"{}\", but the node's value is {}", index,
                              meta == nullptr ? "an object" : ValueMeta(*meta).text(), *spec.target,
                              node.value()->text())));
}

// Specs that do not match their nodes by name are skipped: checkSignature names them. Lint names placeholders
// that stand behind other nodes.
void checkInputValues(const ExportedProgram& program, Findings& findings) {
  const std::vector<InputSpec>& specs = program.signature.inputs;
  size_t index = 0;
  for (const Node& node : program.graph().nodes()) {
    if (!node.isPlaceholder() || index == specs.size()) break;
    const InputSpec& spec = specs[index];
    if (node.name() == spec.arg.name) {
      checkValueKind(node, "input", index, spec.arg, findings);
      checkStoredTensor(program, node, index, spec, findings);
    }
    ++index;
  }
}

void checkOutputValues(const ExportedProgram& program, Findings& findings) {
  const Node* output = program.graph().back();
  if (output == nullptr || !output->isOutput() || output->args().size() != 1) return;
  std::span<const Argument> results = output->args()[0].items();
  size_t count = std::min(results.size(), program.signature.outputs.size());
  for (size_t i = 0; i < count; ++i) {
    const OutputSpec& spec = program.signature.outputs[i];
    const Node* node = results[i].findNode();
    if (spec.arg.isConstant() || node == nullptr || node->name() != spec.arg.name) continue;
    checkValueKind(*node, "output", i, spec.arg, findings);
  }
}

}  // namespace

std::vector<Diagnostic> checkProgram(const ExportedProgram& program) {
  Findings findings;
  findings.add(lint(program.graphModule()));
  checkValues(program.graphModule(), findings);
  findings.add(checkSignature(program));
  checkInputValues(program, findings);
  checkOutputValues(program, findings);
  return std::move(findings).take();
}

std::vector<Diagnostic> checkDelegates(const ExportedProgram& program) {
  std::vector<Diagnostic> found;
  detail::forEachProgram(program, [&](const ExportedProgram& inner, const std::string& path) {
    if (&inner == &program) return;
    for (Diagnostic& violation : checkProgram(inner)) {
      violation.graph = childPath(path, violation.graph);
      found.push_back(std::move(violation));
    }
  });
  return found;
}

void verifyProgram(const ExportedProgram& program) {
  std::vector<Diagnostic> violations = checkProgram(program);
  if (!violations.empty()) throw VerificationError(std::move(violations));
}

}  // namespace edgefx
