#include "partition/assignment.h"

#include <algorithm>
#include <utility>

namespace edgefx::detail {
namespace {

constexpr uint32_t kNone = PartitionAssignment::kNone;

// Uses between items, as lists that are joined when items merge. A use within an item is dropped when a walk
// comes across it.
class LinkLists {
 public:
  explicit LinkLists(size_t items) : first_(items, kNone), last_(items, kNone) {}

  void append(uint32_t item, uint32_t node) {
    links_.push_back({node, kNone});
    const uint32_t link = static_cast<uint32_t>(links_.size() - 1);
    (last_[item] == kNone ? first_[item] : links_[last_[item]].next) = link;
    last_[item] = link;
  }
  void join(uint32_t kept, uint32_t gone) {
    if (first_[gone] == kNone) return;
    (last_[kept] == kNone ? first_[kept] : links_[last_[kept]].next) = first_[gone];
    last_[kept] = last_[gone];
    first_[gone] = last_[gone] = kNone;
  }

  // A place in the list of an item.
  struct Cursor {
    uint32_t item = kNone, before = kNone, at = kNone;
  };
  Cursor begin(uint32_t item) const { return {item, kNone, first_[item]}; }
  uint32_t node(const Cursor& cursor) const { return links_[cursor.at].node; }
  void advance(Cursor& cursor) const {
    cursor.before = cursor.at;
    cursor.at = links_[cursor.at].next;
  }
  // Advances, too.
  void drop(Cursor& cursor) {
    const uint32_t next = links_[cursor.at].next;
    (cursor.before == kNone ? first_[cursor.item] : links_[cursor.before].next) = next;
    if (next == kNone) last_[cursor.item] = cursor.before;
    cursor.at = next;
  }

 private:
  struct Link {
    uint32_t node, next;
  };
  std::vector<Link> links_;
  std::vector<uint32_t> first_, last_;
};

// Items are partitions and nodes that are not claimed, each under the id of one of its nodes. Every item is
// higher than those that it reaches.
class UserMerger {
 public:
  UserMerger(const Graph& graph, const std::vector<uint8_t>& claimed, const MemoryOrder& order)
      : graph_(graph),
        claimed_(claimed),
        order_(order),
        items_(graph.idBound()),
        users_(graph.idBound()),
        producers_(graph.idBound()) {}

  PartitionAssignment run() {
    uint32_t serial = 0;
    for (const Node* node = graph_.back(); node != nullptr; node = node->prev()) {
      addItem(*node);
      if (claimed_[node->id()] == 0) continue;
      items_[node->id()].partition = serial++;
      mergeWithUsers(*node);
    }
    return result();
  }

 private:
  struct Item {
    uint32_t parent = kNone;  // none of those that stand for themselves
    uint32_t height = 0;
    uint32_t size = 1;
    uint32_t partition = 0;
    uint32_t seenForwards = 0, seenBackwards = 0;  // number of the last search that came here
  };

  // One of the two searches for a path between items. A step looks at one link.
  struct Search {
    bool forwards = true;
    uint32_t start = 0, goal = 0;
    LinkLists::Cursor cursor{};
    std::vector<uint32_t> open{};
  };
  enum class Step { Unsure, Found, Exhausted };

  uint32_t find(uint32_t id) {
    uint32_t root = id;
    while (items_[root].parent != kNone) root = items_[root].parent;
    while (items_[id].parent != kNone) id = std::exchange(items_[id].parent, root);
    return root;
  }

  void addItem(const Node& node) {
    uint32_t height = 0;
    const auto precede = [&](const Node& later) {
      const uint32_t item = find(later.id());
      height = std::max(height, items_[item].height + 1);
      users_.append(node.id(), later.id());
      producers_.append(item, node.id());
    };
    for (const Node& user : node.users()) precede(user);
    for (const Node* later : order_.after(node)) precede(*later);
    items_[node.id()].height = height;
  }

  void mergeWithUsers(const Node& node) {
    candidates_.clear();
    for (const Node& user : node.users()) {
      if (claimed_[user.id()] == 0) continue;
      const uint32_t item = find(user.id());
      if (std::exchange(items_[item].seenForwards, searches_ + 1) != searches_ + 1)
        candidates_.push_back(item);
    }
    ++searches_;
    uint32_t self = node.id();
    for (const uint32_t other : candidates_) {
      if (!hasPathBetween(self, other)) self = merge(self, other);
    }
  }

  // Whether a path leads from one to the other through a third item.
  bool hasPathBetween(uint32_t a, uint32_t b) {
    if (items_[a].height == items_[b].height) return false;
    if (items_[a].height < items_[b].height) std::swap(a, b);
    ++searches_;
    begin(forwards_, true, a, b);
    begin(backwards_, false, b, a);
    while (true) {
      Step step = advance(forwards_);
      if (step == Step::Unsure) step = advance(backwards_);
      if (step != Step::Unsure) return step == Step::Found;
    }
  }

  void begin(Search& search, bool forwards, uint32_t start, uint32_t goal) {
    search.forwards = forwards;
    search.start = start;
    search.goal = goal;
    search.open.clear();
    search.cursor = (forwards ? users_ : producers_).begin(start);
  }

  Step advance(Search& search) {
    LinkLists& links = search.forwards ? users_ : producers_;
    while (search.cursor.at == kNone) {
      if (search.open.empty()) return Step::Exhausted;
      search.cursor = links.begin(search.open.back());
      search.open.pop_back();
    }
    const uint32_t item = find(links.node(search.cursor));
    if (item == search.cursor.item) {
      links.drop(search.cursor);
      return Step::Unsure;
    }
    links.advance(search.cursor);
    if (item == search.goal) return search.cursor.item == search.start ? Step::Unsure : Step::Found;
    const bool mayReach = search.forwards ? items_[item].height > items_[search.goal].height
                                          : items_[item].height < items_[search.goal].height;
    uint32_t& seen = search.forwards ? items_[item].seenForwards : items_[item].seenBackwards;
    if (mayReach && std::exchange(seen, searches_) != searches_) search.open.push_back(item);
    return Step::Unsure;
  }

  // Returns what the merged item is called: the larger one, or `self`.
  uint32_t merge(uint32_t self, uint32_t other) {
    uint32_t high = self, low = other;
    if (items_[high].height < items_[low].height) std::swap(high, low);
    const uint32_t height = mergedHeight(high, low);
    if (height > items_[low].height) raiseProducers(low, high, height);

    uint32_t kept = self, gone = other;
    if (items_[kept].size < items_[gone].size) std::swap(kept, gone);
    items_[gone].parent = kept;
    items_[kept].size += items_[gone].size;
    items_[kept].height = height;
    users_.join(kept, gone);
    producers_.join(kept, gone);
    return kept;
  }

  // A small item that joins a lower one is looked at, so that the lower one need not rise for nothing.
  uint32_t mergedHeight(uint32_t high, uint32_t low) {
    if (items_[high].size > items_[low].size) return items_[high].height;
    uint32_t height = items_[low].height;
    for (LinkLists::Cursor at = users_.begin(high); at.at != kNone; users_.advance(at)) {
      const uint32_t item = find(users_.node(at));
      if (item != high && item != low) height = std::max(height, items_[item].height + 1);
    }
    return height;
  }

  // Makes what leads to `low`, other than `high`, higher than `height`.
  void raiseProducers(uint32_t low, uint32_t high, uint32_t height) {
    raised_.clear();
    raiseOver(low, high, height);
    while (!raised_.empty()) {
      const uint32_t item = raised_.back();
      raised_.pop_back();
      raiseOver(item, high, items_[item].height);
    }
  }

  void raiseOver(uint32_t item, uint32_t except, uint32_t height) {
    LinkLists::Cursor at = producers_.begin(item);
    while (at.at != kNone) {
      const uint32_t producer = find(producers_.node(at));
      if (producer == item) {
        producers_.drop(at);
        continue;
      }
      producers_.advance(at);
      if (producer == except || items_[producer].height > height) continue;
      items_[producer].height = height + 1;
      raised_.push_back(producer);
    }
  }

  PartitionAssignment result() {
    PartitionAssignment made;
    made.partitionOf.assign(graph_.idBound(), kNone);
    std::vector<uint32_t> numbers(graph_.idBound(), kNone);
    for (const Node& node : graph_.nodes()) {
      if (claimed_[node.id()] == 0) continue;
      const uint32_t item = find(node.id());
      if (numbers[item] == kNone) {
        numbers[item] = static_cast<uint32_t>(made.ids.size());
        made.ids.push_back(items_[item].partition);
      }
      made.partitionOf[node.id()] = numbers[item];
    }
    return made;
  }

  const Graph& graph_;
  const std::vector<uint8_t>& claimed_;
  const MemoryOrder& order_;
  std::vector<Item> items_;
  LinkLists users_, producers_;
  Search forwards_, backwards_;
  std::vector<uint32_t> candidates_, raised_;
  uint32_t searches_ = 0;
};

}  // namespace

PartitionAssignment assignToUsers(const Graph& graph, const std::vector<uint8_t>& claimed,
                                  const MemoryOrder& order) {
  return UserMerger(graph, claimed, order).run();
}

}  // namespace edgefx::detail
