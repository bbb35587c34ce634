#pragma once

#include "partition/fuse.h"

#include <unordered_map>
#include <vector>

namespace edgefx::detail {

// Splits the signature and the tables of a program between it and the delegates that were cut out of it.
class StateSplitter {
 public:
  // `program` has been fused. O(results + specs).
  explicit StateSplitter(ExportedProgram& program);

  // The program of a delegate, whose module it takes. Parameters, buffers and constants that came along keep
  // their kind and bring their tensors; everything else that it reads is an input of the kind that its value
  // has. What it writes back of its own state is a mutation of its own, and no longer one of the outer
  // program. Its call's getitems are numbered anew. O(nodes of the delegate).
  ExportedProgram makeProgram(FusedPartition& partition);

  // Takes what the delegates own out of the outer program. O(nodes + specs).
  void finish();

 private:
  void addInputs(const FusedPartition& partition, ExportedProgram& delegate);
  void addOutputs(FusedPartition& partition, ExportedProgram& delegate);

  ExportedProgram& program_;
  SignatureIndex index_;
  std::unordered_map<const Node*, std::vector<size_t>>
      results_;                        // positions among the outer results; for look-ups
  std::vector<bool> isAbsorbed_;       // of each outer result
  std::vector<Node*> unused_;          // getitems whose value only a delegate keeps
  std::vector<std::string> consumed_;  // names of placeholders
  // Scratch of addOutputs.
  std::vector<Node*> mutations_, values_;
  std::vector<OutputSpec> valueSpecs_;
};

// The outer program's results are other nodes now: takes their names into its signature. O(results).
void renameResults(ExportedProgram& program);

}  // namespace edgefx::detail
