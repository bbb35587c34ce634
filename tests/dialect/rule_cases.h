#pragma once

#include <edgefx/program/exported_program.h>

#include <ATen/core/ivalue.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

// Programs of one operator, written as text.
namespace edgefx::test {

// "op | inputs | arguments | options", for example
//
//   "linear.default | f32[2,s0=3/5,4] f32[6,4] | $0, $1, None"
//
// Inputs are dtype and sizes: f32, f64, f16, bf16, i64, i32, u8, b. A size s0=3/5 is symbolic, 3 at first and
// 5 in a second run. "~10" behind them says in which order the dimensions lie in memory, "<n" that whole
// numbers are from 0 to n - 1, "p" that values are positive, "n" that NaN and infinities are among them, "u"
// that they lie between 0 and 1. Arguments: $0 for inputs, numbers, None, True, False, 'text', [lists],
// dtypes and devices as Python writes them ("torch.float32", "cpu"), key=value.
//
// Options: "->3" for three results, "e-3" for a tolerance, "exact" for none, "random" for results that
// differ, "stays: reason" for a call that is not decomposed, "keeps op" for operators that may be left.
struct RuleCase {
  std::string op;
  std::string stays;
  std::vector<std::string> left;  // operators that are not of Core ATen and remain
  double tolerance = 1e-5;
  bool isRandom = false;
  ExportedProgram program;
  std::vector<std::vector<c10::IValue>> inputs;  // of each run
};

// The cases of rules for views, new tensors, products, convolutions and norms, and of those for functions of
// values.
std::vector<std::span<const char* const>> tensorRuleCases();
std::vector<std::span<const char* const>> valueRuleCases();

// Throws std::runtime_error for text that is not of that form.
RuleCase readRuleCase(std::string_view text);

}  // namespace edgefx::test
