#pragma once

#include "partition/tagged_graph.h"

#include <memory>
#include <string>
#include <vector>

namespace edgefx::detail {

// A partition that was cut out of its graph: a call_module node, which no child module answers to, stands in
// its place, with a getitem for each output.
struct FusedPartition {
  size_t spec = 0;               // position in PartitionResult::specs()
  GraphModule* owner = nullptr;  // of the call
  std::string ownerPath;         // dotted, empty for the top
  Node* call = nullptr;
  // The nodes cut out, behind placeholders for what they read: parameters and buffers that came along, then
  // inputs in the order of the call's arguments, then lifted constants that came along. Its output node lists
  // nothing yet.
  std::unique_ptr<GraphModule> module;
  std::vector<Node*> consumed;  // placeholders of the module that were placeholders of the program
  struct Output {
    Node* value;    // in the module
    Node* getitem;  // of the call
  };
  std::vector<Output> outputs;
  bool isImpure = false;  // a node cut out has an effect
};

// Cuts the tagged partitions out of the graph of `owner`, in the order given. Branches that a
// partition's get_attr nodes name move along, or are copied if other nodes name them too. `path` is that of
// `owner`; `program` is the one it belongs to, for the kinds of its placeholders. Throws LoweringError naming
// tag, backend and node, before anything has changed, if the tags are not right. O(nodes), but for small
// graphs: see kExactWork in fuse.cpp.
std::vector<FusedPartition> fusePartitions(GraphModule& owner, const std::string& path,
                                           const ExportedProgram& program, const PartitionResult& result,
                                           const FusingOrder& order);

}  // namespace edgefx::detail
