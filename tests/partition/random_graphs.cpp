#include "partition/random_graphs.h"

#include <algorithm>
#include <random>
#include <vector>

namespace edgefx::test {
namespace {

constexpr const char* kSupported[] = {"aten.add.Tensor", "aten.mul.Tensor", "aten.relu.default"};
constexpr const char* kUnsupported[] = {"aten.sin.default", "aten.cos.default"};
constexpr const char* kSupportedTuple = "aten.topk.default";
constexpr const char* kUnsupportedTuple = "aten.sort.default";

class GraphMaker {
 public:
  GraphMaker(uint64_t seed, const RandomShape& shape) : generator_(seed), shape_(shape) {}

  std::unique_ptr<Graph> make() {
    for (uint32_t i = 0, count = 1 + below(3); i < count; ++i) values_.push_back(&graph_->placeholder("x"));
    for (uint32_t i = 0; i < shape_.calls; ++i) {
      if (!sequences_.empty() && below(3) == 0) {
        readSequence();
      } else {
        addCall();
      }
    }
    while (!sequences_.empty()) readSequence();
    Args results;
    for (Node* value : values_) {
      if (value->numUsers() == 0 && below(4) != 0) results.emplace_back(*value);
    }
    graph_->output(Arg::tuple(results));
    return std::move(graph_);
  }

 private:
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(generator_() % bound); }

  void addCall() {
    const bool supported = below(100) < shape_.supportedPercent;
    Args inputs;
    for (uint32_t i = 0, count = 1 + below(shape_.mostInputs); i < count; ++i) {
      const uint32_t reach = std::min<uint32_t>(static_cast<uint32_t>(values_.size()), shape_.reach);
      inputs.emplace_back(*values_[values_.size() - 1 - below(reach)]);
    }
    if (below(100) < shape_.tuplePercent) {
      Node& node = graph_->call(supported ? kSupportedTuple : kUnsupportedTuple, inputs);
      sequences_.insert(sequences_.end(), 1 + below(3), &node);
      return;
    }
    values_.push_back(&graph_->call(supported ? kSupported[below(3)] : kUnsupported[below(2)], inputs));
  }

  // An element of a sequence of a call above, now and then itself a sequence.
  void readSequence() {
    const uint32_t at = below(static_cast<uint32_t>(sequences_.size()));
    Node& producer = *sequences_[at];
    sequences_.erase(sequences_.begin() + at);
    Node& element = graph_->call("operator.getitem", {producer, static_cast<int64_t>(producer.numUsers())});
    if (below(4) == 0) {
      sequences_.push_back(&element);
    } else {
      values_.push_back(&element);
    }
  }

  std::mt19937_64 generator_;
  const RandomShape& shape_;
  std::unique_ptr<Graph> graph_ = std::make_unique<Graph>();
  std::vector<Node*> values_;
  std::vector<Node*> sequences_;  // an entry for every getitem that is still to come
};

}  // namespace

OperatorSupport randomSupport() {
  return support::operators({kSupported[0], kSupported[1], kSupported[2], kSupportedTuple});
}

std::unique_ptr<Graph> randomGraph(uint64_t seed, const RandomShape& shape) {
  return GraphMaker(seed, shape).make();
}

}  // namespace edgefx::test
