#pragma once

#include <edgefx/ir/node.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace edgefx {

namespace detail {
class GraphChecker;
struct GraphStorage;
class NameTable;
}  // namespace detail

// Where new nodes go: before or after an anchor, or at the end if there is none. As in FX, "after n" puts
// every new node directly after n, so that two of them come out in reversed order.
struct InsertionPoint {
  Node* anchor = nullptr;
  bool after = false;
};
inline InsertionPoint before(Node& node) {
  return {&node, false};
}
inline InsertionPoint after(Node& node) {
  return {&node, true};
}

// Nodes in execution order, as a doubly linked list; use-def edges; unique names. Not copied by accident:
// clone() is a call. Reading and cloning a graph that nobody writes is safe from several threads.  Iteration
// survives erasing the current node and any other: erased nodes keep their links and are skipped.
class Graph {
 public:
  Graph();
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // A deep copy: nodes with their ids, names, arguments and order of users. Values and metadata are shared,
  // for they are immutable. Names of erased nodes become free again. O(nodes).
  std::unique_ptr<Graph> clone() const;

  template <typename N>
  class NodeIterator {
   public:
    using value_type = Node;
    using reference = N&;
    using difference_type = std::ptrdiff_t;
    NodeIterator() = default;
    explicit NodeIterator(N* at) : at_(at) {}
    N& operator*() const { return *at_; }
    N* operator->() const { return at_; }
    NodeIterator& operator++() {
      at_ = at_->next();
      return *this;
    }
    NodeIterator operator++(int) {
      NodeIterator old = *this;
      ++*this;
      return old;
    }
    bool operator==(const NodeIterator&) const = default;

   private:
    N* at_ = nullptr;
  };
  template <typename N>
  struct NodeRange {
    N* first;
    NodeIterator<N> begin() const { return NodeIterator<N>(first); }
    NodeIterator<N> end() const { return NodeIterator<N>(); }
  };

  NodeRange<Node> nodes() { return {front()}; }
  NodeRange<const Node> nodes() const { return {front()}; }
  // First and last live node, null if the graph is empty.
  Node* front();
  const Node* front() const { return const_cast<Graph*>(this)->front(); }
  Node* back();
  const Node* back() const { return const_cast<Graph*>(this)->back(); }
  // Live nodes.
  size_t size() const { return liveNodes_; }
  // All ids ever given are below this.
  uint32_t idBound() const { return nextId_; }

  // The output node. Throws VerificationError if the last node is none.
  Node& outputNode();
  const Node& outputNode() const { return const_cast<Graph*>(this)->outputNode(); }
  // The leading placeholders and any later ones, in order. O(nodes).
  std::vector<Node*> placeholders();
  std::vector<const Node*> placeholders() const;
  // The node with that name, or null.
  Node* find(std::string_view name);
  const Node* find(std::string_view name) const { return const_cast<Graph*>(this)->find(name); }

  // New nodes at the insertion point. The name is made unique by FX's rules from `name`, or from the target
  // if `name` is empty. They throw UsageError, changing nothing, if an argument's node is erased or of
  // another graph.
  Node& placeholder(std::string_view target, std::string_view name = {});
  Node& placeholderWithDefault(std::string_view target, const Arg& defaultValue, std::string_view name = {});
  Node& getAttr(std::string_view target, std::string_view name = {});
  Node& call(Target target, const Args& args, const Kwargs& kwargs = {}, std::string_view name = {});
  Node& callModule(std::string_view target, const Args& args, const Kwargs& kwargs = {},
                   std::string_view name = {});
  Node& output(const Arg& value);

  const InsertionPoint& insertionPoint() const { return insertionPoint_; }
  // Throws UsageError if the anchor is of another graph. An erased anchor is fine while a neighbour lives.
  void setInsertionPoint(InsertionPoint point);

  // Throws UsageError naming the users if there are any, or if the node is erased already or of another
  // graph. The name stays reserved.
  void erase(Node& node);

  // The name that a new node with this candidate would get; reserves nothing.
  std::string uniqueName(std::string_view candidate) const;

  // FX text, see ir/fx_text.h; to stderr, for debuggers.
  void dump() const;
  // Bytes held by nodes, edges, arguments and names, without metadata blocks that others may share.
  size_t memoryUsage() const;

 private:
  friend class Node;
  friend class detail::GraphBuilder;
  friend class detail::GraphChecker;
  friend class detail::NameTable;

  Node& nodeById(uint32_t id) const;
  Node& allocateNode(NodeOp op);
  void linkAtInsertionPoint(Node& node);
  void linkBetween(Node& node, Node& prev, Node& next);
  void unlink(Node& node);
  void bury(Node& node);
  void relabelAround(Node& node);
  void relabelAll();
  Node& create(NodeOp op, std::string_view target, const Args& args, const Kwargs& kwargs,
               std::string_view name, const Target* function);
  void giveUniqueName(Node& node, std::string_view candidate);
  void setStoredName(Node& node, std::string_view stored, uint32_t hash);
  detail::NameTable& names() const;
  detail::NameTable& ownNames();
  void outdateNames();
  void storeArguments(Node& node, const Args* args, const Kwargs* kwargs);
  void storeArgument(Node& node, Argument& slot, const Arg& value);
  void checkUsable(const Node& node) const;
  void linkInputs(Node& node, Argument* arguments, size_t count);
  void replaceEdge(Node& node, const Node& old, Node& replacement);
  void linkEdge(uint32_t at, Node& used);
  void unlinkEdge(const detail::Edge& edge, Node& used);
  uint32_t takeBlock(Node& node, uint32_t count, uint32_t collected);
  void unlinkInputs(Node& node);
  void freeBlock(Node& node);
  void compactEdges();

  std::unique_ptr<detail::GraphStorage> storage_;
  // A node's edges to its inputs lie together in a block. Blocks come in few sizes and those given up are
  // used again, so that a graph that is edited for long does not grow.
  std::vector<detail::Edge> edges_;
  std::array<uint32_t, 38>
      freeBlocks_;  // first edge of a free block of each size class; chained by Edge::prev
  // Made on first use, see names(); until then the one that clones took over, if any.
  mutable std::shared_ptr<detail::NameTable> names_;
  mutable std::atomic<bool> namesReady_{false};
  mutable bool namesFresh_ = true;  // names_ is what would be made of the nodes now
  mutable std::mutex namesMutex_;
  std::vector<std::shared_ptr<const SymExpr>> symbolics_;  // expressions that arguments point to
  Node* const root_;  // sentinel before the first and after the last node
  InsertionPoint insertionPoint_;
  uint32_t nextId_ = 0;
  uint32_t liveNodes_ = 0;
  uint32_t liveEdges_ = 0;
  uint32_t markCounter_ = 0;
};

// Sets the insertion point for a scope and puts the old one back at its end.
class InsertionGuard {
 public:
  InsertionGuard(Graph& graph, InsertionPoint point) : graph_(graph), saved_(graph.insertionPoint()) {
    graph.setInsertionPoint(point);
  }
  ~InsertionGuard() { graph_.setInsertionPoint(saved_); }
  InsertionGuard(const InsertionGuard&) = delete;
  InsertionGuard& operator=(const InsertionGuard&) = delete;

 private:
  Graph& graph_;
  InsertionPoint saved_;
};

// A value per node, by id: O(1), no hashing, deterministic. Nodes made later read as the default until
// written.
template <typename T>
class NodeMap {
 public:
  NodeMap() = default;
  explicit NodeMap(const Graph& graph, T initial = T())
      : values_(graph.idBound(), initial), default_(initial) {}

  T& operator[](const Node& node) {
    if (node.id() >= values_.size()) values_.resize(node.id() + 1, default_);
    return values_[node.id()];
  }
  const T& operator[](const Node& node) const {
    return node.id() < values_.size() ? values_[node.id()] : default_;
  }

 private:
  std::vector<T> values_;
  T default_{};
};

}  // namespace edgefx
