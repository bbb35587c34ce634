#pragma once

#include <edgefx/ir/graph.h>

#include "support/text_hash.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace edgefx::detail {

// The results of a graph's multi-output nodes: a file names them after the getitem nodes that read them,
// which are not nodes of the file. Of several that read one result the first in the graph counts; the others
// are written as it. Refers to the graph, which must not change.
class ResultNames {
 public:
  // Throws UnsupportedError, naming node and `path`, for a getitem that reads nothing known. O(nodes +
  // results).
  explicit ResultNames(const Graph& graph, std::string_view path = {});

  // Whether the node is a getitem, which only names a result.
  static bool isGetitem(const Node& node);

  // The getitem node that names result `i` of a node whose value is a sequence; null if none reads it. A
  // getitem node may itself be such a node.
  const Node* getitem(const Node& node, size_t i) const;

  // The name under which uses of the node are written.
  std::string_view nameOf(const Node& node) const {
    if (renamed_.empty()) return node.name();
    auto found = renamed_.find(node.name());
    return found == renamed_.end() ? node.name() : found->second;
  }
  std::string_view nameOf(std::string_view nodeName) const {
    if (renamed_.empty()) return nodeName;
    auto found = renamed_.find(nodeName);
    return found == renamed_.end() ? nodeName : found->second;
  }

 private:
  void addGetitem(const Node& node);

  NodeMap<uint32_t> firstSlot_;  // 0 for nodes without results
  std::vector<const Node*> slots_;
  std::unordered_map<std::string_view, std::string_view, TextHash, std::equal_to<>> renamed_;
};

}  // namespace edgefx::detail
