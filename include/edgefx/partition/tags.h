#pragma once

#include <edgefx/ir/graph.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace edgefx {

// Which delegate is to take which node, and why the others stay. Nodes of any graph of a program, nested ones
// included. Look-ups are O(log graphs).
class Tags {
 public:
  // Throws UsageError for the empty tag. A node has one tag: the last one given.
  void tag(const Node& node, std::string_view tag);
  void untag(const Node& node);
  // Empty if the node has none.
  std::string_view tagOf(const Node& node) const;
  bool isTagged(const Node& node) const { return indexOf(node).has_value(); }
  // Whether both have the same tag, or both have none.
  bool sameTag(const Node& a, const Node& b) const { return indexOf(a) == indexOf(b); }

  // Dense number of the node's tag, in order of first use; none if it has no tag.
  std::optional<uint32_t> indexOf(const Node& node) const;
  // The tags ever given, by that number.
  const std::vector<std::string>& all() const { return tags_; }

  // Refuses, rather than copies, the placeholder of a constant whose users go to several delegates.
  void setNoCopy(const Node& placeholder);
  bool isNoCopy(const Node& placeholder) const;

  // Why a node was left out: the first reason given stays. It is kept for nodes that end up without a tag,
  // and goes into their metadata, so that reports can answer.
  void reject(const Node& node, std::string reason);
  // Empty if none was given.
  std::string_view reasonOf(const Node& node) const;

 private:
  struct Entry {
    uint32_t tag = 0;     // index + 1, 0 for none
    uint32_t reason = 0;  // index + 1, 0 for none
    bool noCopy = false;
  };
  Entry& entry(const Node& node);
  const Entry* find(const Node& node) const;

  std::map<const Graph*, NodeMap<Entry>> graphs_;  // never iterated over
  std::vector<std::string> tags_;
  std::map<std::string, uint32_t, std::less<>> numbers_;
  std::vector<std::string> reasons_;
  std::map<std::string, uint32_t, std::less<>> reasonNumbers_;
};

}  // namespace edgefx
