#pragma once

#include <edgefx/ir/graph.h>
#include <edgefx/ir/shape_inference.h>
#include <edgefx/support/error.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace edgefx::test {

// "float32[2, 3]{3, 1}", with the strides in braces; "(a, b)" and "[a, b]" for results and lists; "null".
inline std::string describeForTest(const ValueMeta* value) {
  if (value == nullptr) return "null";
  std::string out;
  if (const ValueMeta::Sequence* held = value->sequence()) {
    for (const ValueRef& element : held->elements)
      out += (out.empty() ? "" : ", ") + describeForTest(element.get());
    return held->isList ? "[" + out + "]" : "(" + out + ")";
  }
  out = value->text();
  const TensorMeta* const tensor = value->tensor();
  if (tensor == nullptr) return out;
  std::string strides;
  for (const SymInt& stride : tensor->strides) strides += (strides.empty() ? "" : ", ") + stride.text();
  return out + "{" + strides + "}";
}

// A graph of inputs, and calls whose values are inferred.
class ShapeBench {
 public:
  Graph graph;

  Node& input(ValueRef value) {
    Node& node = graph.placeholder("x");
    node.setValue(std::move(value));
    return node;
  }
  Node& tensor(std::vector<SymInt> sizes, Dtype dtype = Dtype::Float32) {
    return input(ValueMeta::of(contiguousTensor(dtype, std::move(sizes))));
  }
  Node& strided(std::vector<SymInt> sizes, std::vector<SymInt> strides, Dtype dtype = Dtype::Float32) {
    TensorMeta meta;
    meta.dtype = dtype;
    meta.sizes = std::move(sizes);
    meta.strides = std::move(strides);
    return input(ValueMeta::of(std::move(meta)));
  }
  Node& number(SymInt value) { return input(ValueMeta::of(ValueMeta::SymIntValue{std::move(value)})); }

  std::string infer(Target target, const Args& args, const Kwargs& kwargs = {}) {
    return describeForTest(inferValue(graph.call(target, args, kwargs)).get());
  }
  // The message of the UsageError.
  std::string fault(Target target, const Args& args, const Kwargs& kwargs = {}) {
    Node& node = graph.call(target, args, kwargs);
    try {
      return "no fault: " + describeForTest(inferValue(node).get());
    } catch (const UsageError& error) {
      EXPECT_EQ(error.diagnostics().front().node, node.name());
      return error.diagnostics().front().message;
    }
  }
};

inline SymInt symbolForTest(std::string_view text) {
  return SymInt(Symbolic{SymExpr::parse(text), {}});
}

}  // namespace edgefx::test
