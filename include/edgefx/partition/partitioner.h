#pragma once

#include <edgefx/partition/tags.h>
#include <edgefx/program/lowered_module.h>

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace edgefx {

// Who compiles what carries a tag, and how.
struct DelegationSpec {
  std::string backendId;
  std::vector<CompileSpec> compileSpecs{};

  bool operator==(const DelegationSpec&) const = default;
};

// What a partitioner says of a program. Tagged nodes whose tag has no spec stay where they are, and specs
// whose tag no node carries are passed over.
class PartitionResult {
 public:
  Tags tags;

  // Adds the spec of a tag. Throws UsageError if the tag has one already or is empty. The order of the
  // calls shows nowhere: partitions are fused by the number at the end of their tags, then by the tags' text.
  void addSpec(std::string_view tag, DelegationSpec spec);
  const std::vector<std::pair<std::string, DelegationSpec>>& specs() const { return specs_; }

 private:
  std::vector<std::pair<std::string, DelegationSpec>> specs_;
  std::set<std::string, std::less<>> specTags_;
};

// Chooses the parts of a program that backends are to compile. It may only say so: the program it is shown
// cannot be changed through it, and toBackend compares it all the same.
class Partitioner {
 public:
  virtual ~Partitioner() = default;

  // Names the partitioner in messages, registries and on the command line. Must not change.
  virtual std::string_view name() const = 0;

  // Tags nodes of the program's graph and of its nested graphs: calls, the get_attr nodes of control flow,
  // and placeholders of parameters, buffers and constants that are to move into the delegate (see
  // tagConstantData and tagMutatedBuffers). What it throws reaches the caller, with partitioner and method
  // attached.
  virtual PartitionResult partition(const ExportedProgram& program) const = 0;

  // Whether toEdgeTransformAndLower is to leave this call as it is, though it is not of Core ATen, so that
  // `partition` sees it whole. The call is of a functional program in torch.export's operators, or of one of
  // its nested graphs. Exir's ops_to_not_decompose. No call, by default.
  virtual bool keepsWhole(const Node& call) const;
};

}  // namespace edgefx
