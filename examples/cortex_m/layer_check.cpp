#include "layer_check.h"

#include <edgefx/program/tensor_table.h>
#include <edgefx/run/interpreter.h>
#include <edgefx/support/error.h>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <map>
#include <utility>

namespace cortex_m {
namespace {

using edgefx::Argument;
using edgefx::ArgumentKind;
using edgefx::Diagnostic;
using edgefx::Error;
using edgefx::ExportedProgram;
using edgefx::Node;

class LayerRuns {
 public:
  LayerRuns(const ExportedProgram& before, const ExportedProgram& after, const Report& report,
            const std::vector<c10::IValue>& inputs)
      : after_(after), signature_(after.signature) {
    for (const Report::Layer& layer : report.layers) replaced_[layer.node] = layer.replaced;
    edgefx::RunOptions options;
    options.tap = [this](const edgefx::TapEvent& event) {
      if (!event.graph.empty() || !event.value.isTensor()) return;
      if (event.value.toTensor().scalar_type() != at::kChar) return;
      values_[std::string(event.node.name())] = event.value.toTensor().clone();
    };
    edgefx::Interpreter(before, std::move(options)).run(inputs);
  }

  LayerCheck check(const Report::Layer& layer) const {
    const at::Tensor found = run(*after_.graph().find(layer.node)).to(at::kLong);
    const at::Tensor expected = original(layer.replaced).to(at::kLong);
    if (found.sizes() != expected.sizes()) throw Error(Diagnostic("'%" + layer.node + "' has another shape"));
    const int64_t steps = found.numel() == 0 ? 0 : found.sub(expected).abs().max().item().toLong();
    return {layer.node, layer.op, steps};
  }

 private:
  const at::Tensor& original(const std::string& node) const {
    const auto found = values_.find(node);
    if (found == values_.end()) throw Error(Diagnostic("the original has no int8 value '%" + node + "'"));
    return found->second;
  }

  at::Tensor operand(const Node& node) const {
    const edgefx::InputSpec* spec = signature_.findInput(node.name());
    const edgefx::StoredTensor* stored = spec == nullptr ? nullptr : after_.findStored(*spec);
    if (stored != nullptr) return stored->tensor();
    // Copies that only change the layout.
    if (node.callsOperator("aten.clone.default")) return operand(node.arg(0).asNode());
    const auto layer = replaced_.find(std::string(node.name()));
    return original(layer == replaced_.end() ? std::string(node.name()) : layer->second);
  }

  c10::IValue value(const Argument& argument) const {
    if (argument.isNode()) return operand(argument.asNode());
    if (argument.isInt()) return argument.asInt();
    if (argument.kind() == ArgumentKind::Bool) return argument.asBool();
    if (argument.isSequence()) {
      c10::List<int64_t> numbers;
      for (const Argument& item : argument.items()) numbers.push_back(item.asInt());
      return numbers;
    }
    throw Error(Diagnostic("arguments of layers are tensors and integers"));
  }

  at::Tensor run(const Node& node) const {
    const edgefx::Target target = node.target();
    const std::string overload(target.overload() == "default" ? "" : target.overload());
    const c10::OperatorHandle handle = c10::Dispatcher::singleton().findSchemaOrThrow(
        (std::string(target.ns()) + "::" + std::string(target.op())).c_str(), overload.c_str());
    const std::vector<c10::Argument>& declared = handle.schema().arguments();
    torch::jit::Stack stack;
    for (const Argument& argument : node.args()) stack.push_back(value(argument));
    for (size_t i = stack.size(); i < declared.size(); ++i) stack.push_back(*declared[i].default_value());
    handle.callBoxed(&stack);
    return stack.front().toTensor();
  }

  const ExportedProgram& after_;
  edgefx::SignatureIndex signature_;
  std::map<std::string, std::string> replaced_;
  std::map<std::string, at::Tensor> values_;  // of the original's int8 nodes
};

}  // namespace

std::vector<LayerCheck> checkLayers(const ExportedProgram& before, const ExportedProgram& after,
                                    const Report& report, const std::vector<c10::IValue>& inputs) {
  const LayerRuns runs(before, after, report, inputs);
  std::vector<LayerCheck> checks;
  for (const Report::Layer& layer : report.layers) {
    if (after.graph().find(layer.node) != nullptr) checks.push_back(runs.check(layer));
  }
  return checks;
}

}  // namespace cortex_m
