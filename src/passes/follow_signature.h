#pragma once

#include <edgefx/program/exported_program.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace edgefx::detail {

// Makes a signature follow the nodes that its specs name, while somebody changes the graph.
class SignatureFollower {
 public:
  // Remembers which node each spec stands for. O(specs).
  explicit SignatureFollower(const ExportedProgram& program);

  // Gives the specs of the same program the names and order of the nodes now, and drops those of stored
  // tensors whose placeholders are gone. Throws VerificationError, naming the node, for changes that have no
  // spec: new placeholders, user inputs that are gone or in another order, results that are fewer, more or
  // have changed places. The signature is as it was then. O(specs).
  void apply(ExportedProgram& program) const;

 private:
  // Ids stay when nodes are renamed; in a graph that was put in the place of the old one, names must do.
  uint32_t keyOf(const Node& node, bool isSameGraph) const;
  std::vector<InputSpec> followInputs(const ExportedProgram& program, bool isSameGraph,
                                      std::vector<const InputSpec*>& gone) const;
  std::vector<OutputSpec> followOutputs(const ExportedProgram& program, bool isSameGraph) const;

  static constexpr uint32_t kNoKey = ~uint32_t{0};

  bool isSound_ = false;
  const Graph* graph_ = nullptr;
  std::vector<uint32_t> inputs_;   // id of the node of each spec
  std::vector<uint32_t> results_;  // the same, kNoKey for constants
  std::unordered_map<std::string, uint32_t> ids_;
};

}  // namespace edgefx::detail
