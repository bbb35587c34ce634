#include "ir/graph_edges.h"

#include <edgefx/ir/graph.h>

#include "ir/argument_writer.h"
#include "ir/storage.h"
#include "support/fail.h"

#include <algorithm>

namespace edgefx {

using detail::blockClassOf;
using detail::blockSize;
using detail::Edge;
using detail::fail;
using detail::kMostEdges;

// Links the node to the nodes in `arguments`, which are to become its own, instead of its old inputs. Changes
// nothing if it throws.
void Graph::linkInputs(Node& node, Argument* arguments, size_t count) {
  uint32_t stamp = ++markCounter_;
  if (stamp == 0) {  // wrapped around: old marks could collide
    for (uint32_t id = 0; id < nextId_; ++id) nodeById(id).mark_ = 0;
    stamp = markCounter_ = 1;
  }
  const auto collected = static_cast<uint32_t>(edges_.size());
  uint32_t at = collected, numInputs = 0;
  try {
    ArgumentWriter::eachNode(arguments, count, [&](Node* used) {
      if (used->mark_ == stamp) return;
      used->mark_ = stamp;
      edges_.push_back({used->id_, node.id_, Node::kNoEdge, Node::kNoEdge});
    });
    if (edges_.size() > kMostEdges) fail<UnsupportedError>("a graph holds at most {} uses", kMostEdges);
    numInputs = static_cast<uint32_t>(edges_.size()) - collected;
    at = takeBlock(node, numInputs, collected);
  } catch (...) {
    edges_.resize(collected);
    throw;
  }
  for (uint32_t i = at; i < at + numInputs; ++i) linkEdge(i, nodeById(edges_[i].used));
  node.firstInput_ = at;
  node.numInputs_ = numInputs;
  liveEdges_ += numInputs;
}

// Moves the `count` edges at the end of the list, from `collected` on, into the node's block, a free one or a
// new one, and unlinks the old inputs. Returns where they lie.
uint32_t Graph::takeBlock(Node& node, uint32_t count, uint32_t collected) {
  uint8_t blockClass = node.inputBlock_;
  uint32_t at = node.firstInput_;
  const bool fits = count <= blockSize(blockClass);
  if (!fits) {
    blockClass = blockClassOf(count);
    at = freeBlocks_[blockClass];
    const uint32_t room = blockSize(blockClass);
    if (at == Node::kNoEdge && room != count) edges_.resize(size_t{collected} + room);
  }
  unlinkInputs(node);
  if (!fits) {
    if (at != Node::kNoEdge) freeBlocks_[blockClass] = edges_[at].prev;
    freeBlock(node);
    node.inputBlock_ = blockClass;
    if (at == Node::kNoEdge) return collected;
  }
  std::copy_n(edges_.begin() + collected, count, edges_.begin() + at);
  edges_.resize(collected);
  return at;
}

// Leaves the order of users in the unlinked edges, for those who iterate over it.
void Graph::unlinkInputs(Node& node) {
  for (uint32_t i = node.firstInput_; i < node.firstInput_ + node.numInputs_; ++i) {
    Edge& edge = edges_[i];
    unlinkEdge(edge, nodeById(edge.used));
    edge.used = Edge::kNone;
  }
  liveEdges_ -= node.numInputs_;
  node.numInputs_ = 0;
}

// Puts another node, which is no input yet, in the place of an input. The node becomes the last user of all
// its inputs, as if all were linked anew.
void Graph::replaceEdge(Node& node, const Node& old, Node& replacement) {
  for (uint32_t i = node.firstInput_; i < node.firstInput_ + node.numInputs_; ++i) {
    Edge& edge = edges_[i];
    Node* used = &nodeById(edge.used);
    if (used != &old && edge.next == Node::kNoEdge) continue;
    unlinkEdge(edge, *used);
    if (used == &old) used = &replacement;
    edge.used = used->id_;
    linkEdge(i, *used);
  }
}

void Graph::freeBlock(Node& node) {
  if (node.inputBlock_ == 0) return;
  edges_[node.firstInput_].prev = freeBlocks_[node.inputBlock_];
  freeBlocks_[node.inputBlock_] = node.firstInput_;
  node.inputBlock_ = 0;
  node.firstInput_ = 0;
}

void Graph::compactEdges() {
  std::vector<Edge> compact;
  compact.reserve(liveEdges_);
  std::vector<uint32_t> moved(edges_.size(), Node::kNoEdge);
  for (Node& node : nodes()) {
    const auto first = static_cast<uint32_t>(compact.size());
    for (uint32_t i = 0; i < node.numInputs_; ++i) {
      moved[node.firstInput_ + i] = first + i;
      compact.push_back(edges_[node.firstInput_ + i]);
    }
    node.firstInput_ = first;
    node.inputBlock_ = blockClassOf(node.numInputs_);
    compact.resize(size_t{first} + blockSize(node.inputBlock_));
  }
  auto follow = [&moved](uint32_t& edge) {
    if (edge != Node::kNoEdge) edge = moved[edge];
  };
  for (Node& node : nodes()) {
    follow(node.firstUser_);
    follow(node.lastUser_);
    for (uint32_t i = 0; i < node.numInputs_; ++i) {
      follow(compact[node.firstInput_ + i].prev);
      follow(compact[node.firstInput_ + i].next);
    }
  }
  edges_ = std::move(compact);
  freeBlocks_.fill(Node::kNoEdge);
}

}  // namespace edgefx
