#pragma once

#include <edgefx/program/exported_program.h>

#include "run/session.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace edgefx::detail {

// What a program asks of its user inputs: kinds, dtypes, shapes, ranges of symbols.
class InputBinding {
 public:
  explicit InputBinding(const ExportedProgram& program);

  size_t size() const { return inputs_.size(); }

  // The inputs as the graph takes them (ints for floats are converted), and the values of the symbols in
  // their shapes. Throws UsageError naming the input, what was expected and what was found. O(inputs x
  // dimensions + ranges).
  Values bind(std::span<const c10::IValue> inputs, SymbolValues& symbols) const;

 private:
  struct Input {
    const InputSpec* spec;
    const Node* node;  // its placeholder
  };
  struct Range {
    SymExpr expression;
    const RangeConstraint* constraint;
  };
  // A size that is an expression of symbols, to be compared when all of them are known.
  struct Expected {
    const SymExpr* expression;
    int64_t found;
    size_t input;
  };

  c10::IValue bindOne(size_t i, const c10::IValue& value, SymbolValues& symbols,
                      std::vector<Expected>& later) const;
  void bindSize(size_t i, const SymInt& size, int64_t found, SymbolValues& symbols,
                std::vector<Expected>& later, const std::function<std::string()>& what) const;
  void checkRanges(const SymbolValues& symbols) const;
  std::string place(size_t i) const;

  std::vector<Input> inputs_;
  std::vector<Range> ranges_;
};

}  // namespace edgefx::detail
