#pragma once

#include <edgefx/ir/argument.h>
#include <edgefx/ir/meta.h>

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace edgefx {

namespace detail {
class GraphBuilder;
class GraphChecker;
struct GraphStorage;
class NameTable;
class NodeSlabs;

// One (user, used) pair, in the used node's list of users.
struct Edge {
  static constexpr uint32_t kNone = ~uint32_t{0};

  uint32_t used = kNone;  // node id; kNone in edges that stand for no use, which is how lint knows them
  uint32_t user = kNone;  // node id
  uint32_t prev = kNone, next = kNone;  // edges of the same used node
};
}  // namespace detail

enum class NodeOp : uint8_t { Placeholder, GetAttr, CallFunction, CallModule, Output };

// "placeholder", "get_attr", ...
std::string_view name(NodeOp op);

template <typename N>
class NodeLinks;

// A node of a graph. Owned by its graph, which also makes and erases it; addresses are stable until the graph
// dies, also after erase, when only the links to the neighbours, the id and isErased() may still be asked
// for.
class Node {
 public:
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  NodeOp op() const { return op_; }
  bool isPlaceholder() const { return op_ == NodeOp::Placeholder; }
  bool isGetAttr() const { return op_ == NodeOp::GetAttr; }
  bool isCall() const { return op_ == NodeOp::CallFunction; }
  bool isOutput() const { return op_ == NodeOp::Output; }
  // A call of this very target; "aten.relu.default" is the ATen operator, not the edge one.
  bool isCall(Target target) const { return isCall() && target_.info == target.info_; }
  // A call of this operator in either dialect.
  bool callsOperator(std::string_view name) const { return isCall() && target().name() == name; }

  std::string_view name() const { return {name_, nameLength_}; }
  // Dense number in order of creation, the same in clones; index of NodeMap.
  uint32_t id() const { return id_; }
  Graph& graph() { return *graph_; }
  const Graph& graph() const { return *graph_; }

  // What a call_function node calls. Throws UsageError for other nodes.
  Target target() const {
    if (!isCall()) noTarget();
    return Target(target_.info);
  }
  // Target as FX text: the requested name of a placeholder, the path of a get_attr or call_module node,
  // "output".
  std::string_view targetText() const {
    return isCall() ? Target(target_.info).fxText() : std::string_view(target_.text, targetLength_);
  }

  std::span<const Argument> args() const { return {arguments_, numArgs_}; }
  KeyedArguments kwargs() const { return {arguments_ + numArgs_, numKwargs_}; }
  // Positional argument i. Throws UsageError naming the node if there are fewer.
  const Argument& arg(size_t i) const;
  // Null if there are fewer.
  const Argument* findArg(size_t i) const { return i < numArgs_ ? arguments_ + i : nullptr; }
  const Argument* findKwarg(std::string_view key) const { return kwargs().find(key); }

  // Each node used, once, in the order of first use in args, then kwargs (FX's all_input_nodes).
  NodeLinks<Node> inputs();
  NodeLinks<const Node> inputs() const;
  // Each node that uses this one, once, in FX's order: a user whose arguments are set anew moves to the end.
  // Do not change arguments of users while iterating; take usersSnapshot() for that.
  NodeLinks<Node> users();
  NodeLinks<const Node> users() const;
  size_t numInputs() const { return numInputs_; }
  size_t numUsers() const { return numUsers_; }
  std::vector<Node*> usersSnapshot();

  // Next and previous live node of the graph, null at its ends.
  Node* next() {
    Node* at = next_;
    while (at->erased_) at = at->next_;
    return at->id_ == kSentinel ? nullptr : at;
  }
  const Node* next() const { return const_cast<Node*>(this)->next(); }
  Node* prev() {
    Node* at = prev_;
    while (at->erased_) at = at->prev_;
    return at->id_ == kSentinel ? nullptr : at;
  }
  const Node* prev() const { return const_cast<Node*>(this)->prev(); }
  bool isErased() const { return erased_; }
  // Whether this node stands before `other` in the same graph. O(1).
  bool isBefore(const Node& other) const { return order_ < other.order_; }

  // Null if nothing is known of the value.
  const ValueMeta* value() const { return value_.get(); }
  const ValueRef& valueRef() const { return value_; }
  void setValue(ValueRef value) { value_ = std::move(value); }
  // An empty one if there is none.
  const NodeMeta& meta() const;
  const MetaRef& metaRef() const { return meta_; }
  void setMeta(MetaRef meta) { meta_ = std::move(meta); }
  // Applies `change` to a copy of the metadata and takes the copy; other holders of the old block see no
  // change.
  template <std::invocable<NodeMeta&> Change>
  void editMeta(Change&& change) {
    auto copy = Ref<NodeMeta>::make(meta());
    change(*copy);
    meta_ = copy;
  }

  // The setters throw UsageError, changing nothing, if a node in the new value is erased or of another graph.
  // O(arguments of the node).
  void setArgs(const Args& args);
  void setKwargs(const Kwargs& kwargs);
  void setArg(size_t i, const Arg& value);
  // Replaces the value under `key`, or appends it.
  void setKwarg(std::string_view key, const Arg& value);
  // Calls another function with the same arguments; the name stays.
  void setTarget(Target target);
  // Another attribute path, module path or placeholder target.
  void setTargetText(std::string_view text);

  // Replaces `old` by `replacement` wherever this node's arguments hold it, at every depth. Returns whether
  // it did.
  bool replaceInput(const Node& old, Node& replacement);
  // Rewrites every user that `filter` accepts, `replacement` itself included if it uses this node, as FX
  // does. Returns the changed users in order.
  std::vector<Node*> replaceAllUsesWith(Node& replacement,
                                        const std::function<bool(const Node&)>& filter = {});

  // Moves this node directly before or after `other`. Throws UsageError if it is of another graph or erased.
  void moveBefore(Node& other);
  void moveAfter(Node& other);

  // Takes a unique name made from `candidate`; nothing happens if the node has it already. Returns the name.
  // Names in graph signatures are not changed: see ExportedProgram::rename.
  std::string_view rename(std::string_view candidate);
  // Takes exactly this name, whatever its characters, also if another node has it, which lint reports. The
  // old name stays reserved. Throws UsageError for the empty name.
  void setName(std::string_view name);

  // The node's line of FX text, without indentation.
  std::string text() const;
  // Prints text() to stderr, for debuggers.
  void dump() const;

 private:
  friend class Graph;
  template <typename N>
  friend class NodeLinks;
  friend class detail::GraphBuilder;
  friend class detail::GraphChecker;
  friend struct detail::GraphStorage;
  friend class detail::NameTable;

  Node() = default;
  ~Node() = default;
  [[noreturn]] void noTarget() const;

  Graph* graph_ = nullptr;
  Node* prev_ = nullptr;
  Node* next_ = nullptr;
  const char* name_ = nullptr;
  union {
    const Target::Info* info;
    const char* text;
  } target_ = {.text = nullptr};
  Argument* arguments_ = nullptr;  // args, then key and value of each kwarg
  ValueRef value_;
  MetaRef meta_;
  uint64_t order_ = 0;
  uint32_t nameLength_ = 0;
  uint32_t nameHash_ = 0;
  uint32_t targetLength_ = 0;
  uint32_t numArgs_ = 0;
  uint32_t numKwargs_ = 0;
  uint32_t firstInput_ = 0;  // edges to the inputs are consecutive
  uint32_t numInputs_ = 0;
  uint32_t firstUser_ = kNoEdge;
  uint32_t lastUser_ = kNoEdge;
  uint32_t numUsers_ = 0;
  uint32_t id_ = 0;
  mutable uint32_t mark_ = 0;  // scratch of Graph: which pass saw the node last
  NodeOp op_ = NodeOp::Output;
  bool erased_ = false;
  uint8_t argumentRoom_ = 0;  // entries at arguments_ that may be written, 255 also if there are more
  uint8_t inputBlock_ = 0;    // size class of the block that holds the edges to the inputs

  static constexpr uint32_t kNoEdge = ~uint32_t{0};
  static constexpr uint32_t kSentinel =
      ~uint32_t{0};  // id of what stands before the first and after the last node
};

namespace detail {

// Node memory by id. Slabs never move: 32, 32, 64, 128 nodes, then 256 each. Holds raw memory; the graph
// constructs and destroys the nodes.
class NodeSlabs {
 public:
  // Makes ids below `count` addressable.
  void reserve(uint32_t count) { reserveWith(count, 0); }
  // The same, with `bytes` of other memory, which is given back with the nodes, behind the first piece that
  // this allocates. Null if it allocates none.
  std::byte* reserveWith(uint32_t count, size_t bytes) {
    std::byte* other = nullptr;
    while (capacity_ < count) {
      const uint32_t nodes = capacity_ == 0 ? 32 : std::min(capacity_, 256u);
      const size_t more = other == nullptr ? bytes : 0;
      Slab slab(static_cast<Node*>(::operator new(nodes * sizeof(Node) + more)));
      if (other == nullptr) other = reinterpret_cast<std::byte*>(slab.get() + nodes);
      if (capacity_ < 256) {
        first_[static_cast<size_t>(std::bit_width(capacity_ >> 5))] = std::move(slab);
      } else {
        slabs_.push_back(std::move(slab));
      }
      capacity_ += nodes;
    }
    return other;
  }
  Node* at(uint32_t id) const {
    if (id >= 256) return slabs_[(id >> 8) - 1].get() + (id & 255);
    const auto slab = static_cast<uint32_t>(std::bit_width(id >> 5));
    return first_[slab].get() + (slab == 0 ? id : id - (16u << slab));
  }
  size_t bytes() const { return capacity_ * sizeof(Node); }

 private:
  struct Free {
    void operator()(Node* memory) const { ::operator delete(memory); }
  };
  using Slab = std::unique_ptr<Node, Free>;
  std::array<Slab, 4> first_;  // all that small graphs need
  std::vector<Slab> slabs_;
  uint32_t capacity_ = 0;
};

}  // namespace detail

// Range over the nodes at the other ends of a node's edges; yields Node& or const Node&.
template <typename N>
class NodeLinks {
 public:
  class Iterator {
   public:
    using value_type = Node;
    using reference = N&;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    Iterator(const NodeLinks& links, uint32_t edge)
        : edges_(links.edges_), nodes_(links.nodes_), edge_(edge), users_(links.users_) {}
    N& operator*() const {
      const detail::Edge& edge = (*edges_)[edge_];
      return *nodes_->at(users_ ? edge.user : edge.used);
    }
    N* operator->() const { return &**this; }
    Iterator& operator++() {
      edge_ = users_ ? (*edges_)[edge_].next : edge_ + 1;
      return *this;
    }
    Iterator operator++(int) {
      Iterator old = *this;
      ++*this;
      return old;
    }
    bool operator==(const Iterator& other) const { return edge_ == other.edge_; }

   private:
    const std::vector<detail::Edge>* edges_ = nullptr;
    const detail::NodeSlabs* nodes_ = nullptr;
    uint32_t edge_ = 0;
    bool users_ = false;
  };

  Iterator begin() const { return {*this, begin_}; }
  Iterator end() const { return {*this, end_}; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  N& front() const { return *begin(); }

 private:
  friend class Node;
  NodeLinks(const std::vector<detail::Edge>& edges, const detail::NodeSlabs& nodes, uint32_t begin,
            uint32_t end, size_t size, bool users)
      : edges_(&edges), nodes_(&nodes), begin_(begin), end_(end), size_(size), users_(users) {}

  const std::vector<detail::Edge>* edges_;
  const detail::NodeSlabs* nodes_;
  uint32_t begin_, end_;
  size_t size_;
  bool users_;
};

}  // namespace edgefx
