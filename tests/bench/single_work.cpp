#include "bench/single_work.h"

#include <edgefx/backend/to_backend.h>
#include <edgefx/ir/fx_text.h>
#include <edgefx/ir/lint.h>
#include <edgefx/manager/edge_program_manager.h>
#include <edgefx/partition/capability_partitioner.h>
#include <edgefx/program/check_program.h>
#include <edgefx/serialization/pt2.h>

#include "bench/bench_graphs.h"
#include "serialization/write_program.h"
#include "support/test_data.h"

#include <simdjson.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

// The name that callgrind's --toggle-collect and --dump-after are given.
extern "C" [[gnu::noinline]] void edgefxBenchWork(const std::function<void()>& work) {
  work();
}

namespace edgefx::bench {
namespace {

constexpr int kMostTurns = 8;

std::string jsonOf(const ExportedProgram& program) {
  detail::JsonWriter writer;
  detail::writeProgram(writer, program);
  return writer.take();
}

// Prepares work, and holds what it makes until the process ends, so that the work alone is counted.
class Bench {
 public:
  explicit Bench(const SingleWork& options)
      : nodes_(options.nodes),
        program_(makeProgram(options.nodes, options.weights)),
        peer_(makePeer(options.nodes)) {}

  std::function<void()> prepare(const std::string& work) {
    bytes_ = 0;
    programs_.reserve(programs_.size() + kMostTurns);
    managers_.reserve(managers_.size() + kMostTurns);
    texts_.reserve(texts_.size() + kMostTurns);
    partitions_.reserve(partitions_.size() + kMostTurns);
    if (work == "clone") return [this] { programs_.push_back(program_.clone()); };
    if (work == "lint") return [this] { findings_ += lint(program_.graphModule()).size(); };
    if (work == "signature") return [this] { findings_ += checkSignature(program_).size(); };
    if (work == "check") return [this] { findings_ += checkProgram(program_).size(); };
    if (work == "print") {
      bytes_ = fxText(program_.graph()).size();
      return [this] { texts_.push_back(fxText(program_.graph())); };
    }
    if (work == "save") {
      bytes_ = jsonOf(program_).size();
      return [this] { texts_.push_back(jsonOf(program_)); };
    }
    if (work == "load") {
      static const test::TempDir folder;  // removed when the process ends
      const std::filesystem::path file = folder / "program.pt2";
      saveProgram(program_, file);
      bytes_ = modelJson(file).size();
      return [this, file] { programs_.push_back(loadProgram(file)); };
    }
    if (work == "dom") {
      json_ = simdjson::padded_string(jsonOf(program_));
      bytes_ = json_.size();
      return [this] { findings_ += parser_.parse(json_).error() != simdjson::SUCCESS; };
    }
    if (work == "peercopy") return [this] { peers_.push_back(peer_->copy()); };
    if (work == "peerlint") return [this] { peer_->lint(); };
    if (work == "peerprint") {
      bytes_ = peer_->toString(false).size();
      return [this] { texts_.push_back(peer_->toString(false)); };
    }
    if (work == "regions" || work == "chain") {
      constexpr size_t kRegion = 20;
      const size_t regions = std::max<size_t>(nodes_ / kRegion, 1);
      graphs_.push_back(work == "chain" ? makeChain(nodes_) : makeRegions(regions * kRegion, regions));
      return [this, graph = graphs_.back().get(), support = regionSupport()] {
        partitions_.push_back(proposePartitions(*graph, support));
      };
    }
    if (work == "destroy") {
      for (int i = 0; i < kMostTurns; ++i) doomed_.push_back(program_.clone());
      return [this] { doomed_.pop_back(); };
    }
    manager_.emplace(program_.clone());
    if (work == "identity") return [this] { managers_.push_back(manager_->toOpBackend(IdentityBackend())); };
    if (work == "retarget") return [this] { managers_.push_back(manager_->toOpBackend(RetargetBackend())); };
    if (work == "rewrite") return [this] { managers_.push_back(manager_->toOpBackend(RewriteBackend())); };
    if (work == "manydelegates" || work == "onedelegate") {
      registry_.emplace().add(std::make_unique<TrivialBackend>());
      if (!regional_) regional_ = makeProgram(program_.graph().size(), kFewWeights, 4);
      const RunPartitioner partitioner(work == "onedelegate" ? program_.graph().size() : 20);
      return [this, partitioner] { programs_.push_back(toBackend(*regional_, partitioner, *registry_)); };
    }
    throw std::invalid_argument("there is no work '" + work + "'");
  }

  // Of the text that the prepared work reads or writes; 0 if there is none.
  size_t bytes() const { return bytes_; }
  bool isSound() const { return findings_ == 0; }

 private:
  size_t nodes_;
  ExportedProgram program_;
  std::shared_ptr<torch::jit::Graph> peer_;
  std::vector<std::shared_ptr<torch::jit::Graph>> peers_;
  simdjson::padded_string json_;
  simdjson::dom::parser parser_;
  std::optional<EdgeProgramManager> manager_;
  std::optional<BackendRegistry> registry_;
  std::optional<ExportedProgram> regional_;
  std::vector<ExportedProgram> programs_, doomed_;
  std::vector<EdgeProgramManager> managers_;
  std::vector<std::string> texts_;
  std::vector<std::unique_ptr<Graph>> graphs_;
  std::vector<std::vector<ProposedPartition>> partitions_;
  size_t bytes_ = 0, findings_ = 0;
};

}  // namespace

void runSingleWorks(const SingleWork& options) {
  if (options.repeat < 0 || options.repeat > kMostTurns) throw std::invalid_argument("repeat must be 0 to 8");
  Bench bench(options);
  for (const std::string& work : options.works) {
    const std::function<void()> run = bench.prepare(work);
    for (int turn = 0; turn < options.repeat; ++turn) edgefxBenchWork(run);
    std::printf("work=%s nodes=%zu weights=%zu repeat=%d bytes=%zu\n", work.c_str(), options.nodes,
                options.weights, options.repeat, bench.bytes());
  }
  std::fflush(stdout);
  std::exit(bench.isSound() ? 0 : 1);
}

}  // namespace edgefx::bench
