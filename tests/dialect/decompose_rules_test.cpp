#include <edgefx/dialect/decompose.h>
#include <edgefx/ir/fx_text.h>
#include <edgefx/ir/scalar_type.h>
#include <edgefx/program/check_program.h>
#include <edgefx/program/check_shapes.h>
#include <edgefx/run/verify_lowering.h>
#include <edgefx/support/error.h>

#include "dialect/decomposition.h"
#include "dialect/rule_cases.h"

#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <vector>

// Each rule: the operator's own kernel and its decomposition give the same.
namespace edgefx::test {
namespace {

// The run's tensors are as the nodes describe them, where they do so without symbols.
void expectDescribedValues(const ExportedProgram& program, const std::vector<c10::IValue>& inputs) {
  RunOptions options;
  options.tap = [](const TapEvent& event) {
    if (!event.value.isTensor()) return;
    const at::Tensor& tensor = event.value.toTensor();
    const TensorMeta* const meta = event.node.value() == nullptr ? nullptr : event.node.value()->tensor();
    ASSERT_NE(meta, nullptr) << event.node.text();
    EXPECT_EQ(toScalarType(meta->dtype), tensor.scalar_type()) << event.node.text();
    ASSERT_EQ(meta->sizes.size(), static_cast<size_t>(tensor.dim())) << event.node.text();
    for (size_t i = 0; i < meta->sizes.size(); ++i) {
      const auto dim = static_cast<int64_t>(i);
      if (meta->sizes[i].isSymbolic()) continue;
      EXPECT_EQ(meta->sizes[i].value(), tensor.size(dim)) << event.node.text() << " dimension " << i;
      if (meta->strides[i].isSymbolic() || tensor.size(dim) == 1 || tensor.numel() == 0) continue;
      EXPECT_EQ(meta->strides[i].value(), tensor.stride(dim)) << event.node.text() << " dimension " << i;
    }
  };
  Interpreter(program, options).run(inputs);
}

// Every case of every table.
std::vector<std::string_view> allRuleCases() {
  std::vector<std::string_view> all;
  for (const auto& tables : {tensorRuleCases(), valueRuleCases()}) {
    for (const std::span<const char* const> cases : tables) all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

size_t countCallsTo(const ExportedProgram& program, std::string_view op) {
  return static_cast<size_t>(std::ranges::count_if(program.graph().nodes(),
                                                   [&](const Node& node) { return node.callsOperator(op); }));
}

std::string renderAll(const std::vector<Diagnostic>& diagnostics) {
  std::string out;
  for (const Diagnostic& diagnostic : diagnostics) out += diagnostic.render() + '\n';
  return out;
}

void checkRuleCase(const RuleCase& rule) {
  ExportedProgram program = rule.program.clone();
  const std::vector<UndecomposedOperator> left = decompose(program);
  const std::string textAfter = fxText(program.graphModule());
  SCOPED_TRACE(fxText(rule.program.graphModule()) + "decomposed\n" + textAfter);
  if (!rule.stays.empty()) {
    EXPECT_EQ(textAfter, fxText(rule.program.graphModule()));
    ASSERT_EQ(left.size(), 1u);
    EXPECT_EQ(left[0].reason, rule.stays);
    return;
  }
  std::vector<std::string> names;
  for (const UndecomposedOperator& op : left)
    names.push_back(op.name + (op.reason.empty() ? "" : ": " + op.reason));
  std::vector<std::string> allowed;
  for (const std::string& op : rule.left) allowed.push_back(op + ": there is no rule for it");
  EXPECT_EQ(names, allowed);
  EXPECT_EQ(countCallsTo(program, rule.op), 0u);
  EXPECT_EQ(renderAll(checkProgram(program)), "");
  EXPECT_EQ(renderAll(checkShapes(program)), "");

  ExportedProgram again = rule.program.clone();
  decompose(again);
  EXPECT_EQ(fxText(again.graphModule()), textAfter);
  decompose(again);
  EXPECT_EQ(fxText(again.graphModule()), textAfter);

  for (const std::vector<c10::IValue>& inputs : rule.inputs) {
    if (&inputs == &rule.inputs.front()) expectDescribedValues(program, inputs);
    if (rule.isRandom) continue;
    VerifyOptions options;
    options.tolerance = {rule.tolerance, rule.tolerance};
    const VerifyReport report = verifyLowering(rule.program, program, inputs, options);
    EXPECT_TRUE(report.agrees()) << report.text();
  }
}

TEST(DecomposeRules, GiveWhatTheOperatorGives) {
  for (const std::string_view text : allRuleCases()) {
    SCOPED_TRACE(text);
    try {
      checkRuleCase(readRuleCase(text));
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

TEST(DecomposeRules, EachHasACase) {
  std::set<std::string> tested;
  for (const std::string_view text : allRuleCases()) {
    tested.insert("aten." + std::string(text.substr(0, text.find(' '))));
  }
  for (const auto& [name, rule] : detail::allDecompositions()) {
    // Checked by the programs of the corpus: their results are no tensors.
    if (name == "aten.item.default" || name == "aten._assert_tensor_metadata.default") continue;
    EXPECT_TRUE(tested.contains(name)) << name;
  }
}

}  // namespace
}  // namespace edgefx::test
