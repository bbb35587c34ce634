#pragma once

#include <edgefx/ir/graph.h>

#include "ir/storage.h"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace edgefx {

namespace detail {

constexpr size_t kMostEdges = size_t{1} << 31;

// Blocks hold 1 to 8 edges, or a power of two.
inline uint8_t blockClassOf(uint32_t edges) {
  return static_cast<uint8_t>(edges <= 8 ? edges : 5 + std::bit_width(edges - 1));
}
inline uint32_t blockSize(uint8_t blockClass) {
  return blockClass <= 8 ? blockClass : uint32_t{1} << (blockClass - 5);
}

}  // namespace detail

// Makes the edge the last one to that node.
inline void Graph::linkEdge(uint32_t at, Node& used) {
  detail::Edge& edge = edges_[at];
  edge.prev = used.lastUser_;
  edge.next = Node::kNoEdge;
  (edge.prev == Node::kNoEdge ? used.firstUser_ : edges_[edge.prev].next) = at;
  used.lastUser_ = at;
  ++used.numUsers_;
}

inline void Graph::unlinkEdge(const detail::Edge& edge, Node& used) {
  (edge.prev == Node::kNoEdge ? used.firstUser_ : edges_[edge.prev].next) = edge.next;
  (edge.next == Node::kNoEdge ? used.lastUser_ : edges_[edge.next].prev) = edge.prev;
  --used.numUsers_;
}

}  // namespace edgefx
