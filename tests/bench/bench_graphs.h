#pragma once

#include <edgefx/backend/backend_details.h>
#include <edgefx/backend/op_backend.h>
#include <edgefx/partition/operator_support.h>
#include <edgefx/partition/partitioner.h>
#include <edgefx/program/exported_program.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace torch::jit {
struct Graph;
}

// The programs that the benchmarks work on, and their peers.
namespace edgefx::bench {

inline constexpr size_t kFewWeights = 16;

// A program of exactly `nodes` nodes in the shape of exported ones, which checkProgram accepts: calls with
// five leaves of which two are nodes, a list in every second call, one input used by an eighth of the calls,
// names of 22 characters or so, values from a pool of eight, six metadata entries drawn from 16 texts each.
// `weights` of the nodes are parameters, each with a spec and an entry in the state dict; all share one small
// tensor. Throws std::invalid_argument if there are fewer than weights + 8 nodes.
// Calls take values of the `reach` calls before them.
ExportedProgram makeProgram(size_t nodes, size_t weights = kFewWeights, size_t reach = 32);

// A program of few nodes with `mib` MiB of weights in 16 tensors. They read as zeros and take no memory until
// written.
ExportedProgram makeHeavyProgram(size_t mib);

// A graph of `nodes` calls, which regionSupport divides into exactly `partitions` partitions: as many regions
// of equal length, each of supported calls of the value before and of one a little way up, after one call
// that is not supported. `partitions` must divide `nodes`.
std::unique_ptr<Graph> makeRegions(size_t nodes, size_t partitions);

// `nodes` supported calls, each of the one before.
std::unique_ptr<Graph> makeChain(size_t nodes);

OperatorSupport regionSupport();

// A chain of `nodes` aten::add, each of the two values before it.
std::shared_ptr<torch::jit::Graph> makePeer(size_t nodes);

// The model record of a .pt2 file with one model.
std::string modelJson(const std::filesystem::path& file);

// Programs of the test corpus (see support/test_data.h) with the most JSON, largest first.
std::vector<std::filesystem::path> largestFixtures(size_t count);

// Returns what it is given.
class IdentityBackend final : public OpBackend {
 public:
  std::string_view name() const override { return "identity"; }
  ExportedProgram lower(ExportedProgram program, std::string_view) const override { return program; }
};

// Lets every fourth call call another operator: rewriting in place.
class RetargetBackend final : public OpBackend {
 public:
  std::string_view name() const override { return "retarget"; }
  ExportedProgram lower(ExportedProgram program, std::string_view methodName) const override;
};

// Replaces every fourth call by a new node that calls another operator, and erases the old one.
class RewriteBackend final : public OpBackend {
 public:
  std::string_view name() const override { return "rewrite"; }
  ExportedProgram lower(ExportedProgram program, std::string_view methodName) const override;
};

// Does nothing with what it is given.
class TrivialBackend final : public BackendDetails {
 public:
  std::string_view name() const override { return "trivial"; }
  PreprocessResult preprocess(const ExportedProgram&, std::span<const CompileSpec>) const override {
    return {};
  }
};

// Tags runs of that many calls for the trivial backend, in the order of the graph.
class RunPartitioner final : public Partitioner {
 public:
  explicit RunPartitioner(size_t calls) : calls_(calls) {}

  std::string_view name() const override { return "runs"; }
  PartitionResult partition(const ExportedProgram& program) const override;

 private:
  size_t calls_;
};

}  // namespace edgefx::bench
