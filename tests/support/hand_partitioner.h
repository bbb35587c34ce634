#pragma once

#include <edgefx/partition/partitioner.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace edgefx::test {

// Tags the nodes that it is told to.
class HandPartitioner final : public Partitioner {
 public:
  struct Options {
    bool constants = true;                                        // tagConstantData
    bool writtenBuffers = false;                                  // tagMutatedBuffers
    bool getitems = false;                                        // closeOverGetitems
    bool branches = false;                                        // tagBranches
    std::vector<std::pair<std::string, std::string>> backends{};  // of tags; "BackendA" if not given
  };
  // Tag and names of its nodes; "true_graph_0.true_graph_0/mul" for the node %mul of a nested graph. Tags
  // keep their order. "*" stands for every call of the top level.
  using Wanted = std::vector<std::pair<std::string, std::vector<std::string>>>;

  explicit HandPartitioner(Wanted wanted) : HandPartitioner(std::move(wanted), Options()) {}
  HandPartitioner(Wanted wanted, Options options)
      : wanted_(std::move(wanted)), options_(std::move(options)) {}

  std::string_view name() const override { return "hand"; }
  PartitionResult partition(const ExportedProgram& program) const override;

 private:
  Wanted wanted_;
  Options options_;
};

}  // namespace edgefx::test
