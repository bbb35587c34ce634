#pragma once

#include <edgefx/program/lowered_module.h>

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace edgefx::test {

// What programs compute, told apart by structure alone: equal calls of equal values have one number, whatever
// the nodes are called and however they are ordered. Calls of delegates stand for what their programs
// compute, so that a lowered program has the numbers of its original.
class ValueNumbers {
 public:
  // Every result of the program and every write to its state, delegates' own state included, sorted:
  // "USER_OUTPUT 0 = 17", "BUFFER_MUTATION cache = 12"; and what it calls for the effect: "effect = 9".
  std::vector<std::string> resultsOf(const ExportedProgram& program);

 private:
  using Numbers = std::vector<size_t>;
  struct Scope {
    const GraphModule* module;
    std::map<const Node*, Numbers>
        values;  // several for a node with several results that were computed one by one
  };
  struct Effects {
    std::vector<std::string> writes;
  };

  size_t number(const std::string& key);
  size_t valueOf(const Scope& scope, const Node& node);
  std::string text(const Scope& scope, const Argument& argument);
  Numbers runGraph(const GraphModule& module, const Numbers& inputs, Effects& effects);
  Numbers runProgram(const ExportedProgram& program, const Numbers& userInputs, Effects& effects,
                     std::vector<std::string>* userResults);
  size_t branch(const GraphModule& module);
  void visit(Scope& scope, const Node& node, Effects& effects);

  std::map<std::string, size_t> numbers_;
};

}  // namespace edgefx::test
