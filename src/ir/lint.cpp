#include <edgefx/ir/lint.h>

#include "ir/argument_writer.h"
#include "ir/name_table.h"
#include "support/fail.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <memory>
#include <new>
#include <unordered_set>

namespace edgefx {
namespace detail {
struct NamedChild {
  std::string_view target;
  const GraphModule* module;
};

// Walks one graph and reports what is wrong with it. Nearly all nodes of nearly all graphs are sound calls,
// which passSoundCalls() goes through with few instructions; what it does not accept is looked at one rule
// after the other.
class GraphChecker {
 public:
  // `report(const Node*, std::string message)` takes a violation and returns whether to go on. Children that
  // nodes name are looked for in `owner`, if it is given, and added to `named`.
  template <typename Report>
  static void check(const Graph& graph, const GraphModule* owner, std::vector<NamedChild>& named,
                    Report&& report);

 private:
  struct Walk {
    const Node* last;  // the last node that was looked at
    uint32_t position = 0;
    size_t inputs = 0, users = 0;

    void pass(const Node& node) {
      last = &node;
      ++position;
      inputs += node.numInputs_;
      users += node.numUsers_;
    }
  };
  struct Slot {
    uint32_t hash;
    uint32_t idPlusOne;  // 0 in free slots
  };
  struct Free {
    void operator()(Slot* slots) const { std::free(slots); }
  };

  explicit GraphChecker(const Graph& graph)
      : graph_(graph),
        nodes_(graph.storage_->nodes),
        edges_(graph.edges_.data()),
        mask_(static_cast<uint32_t>(std::bit_ceil(size_t{2} * graph.liveNodes_ + 2) - 1)),
        names_(static_cast<Slot*>(std::calloc(size_t{mask_} + 1, sizeof(Slot)))) {
    if (names_ == nullptr) throw std::bad_alloc();
  }

  void passSoundCalls(Walk& walk);
  bool isSoundCall(const Node& node, const Node& before) const;
  static const Edge* mirror(const Argument* arguments, size_t count, const Node& user, const Edge* edge,
                            const Edge* end);
  const Node* takeName(const Node& node);
  const char* findLinkFault(const Node& node, const Node& before, uint32_t position) const;
  const char* findUserFault(const Node& node) const;
  static std::string sameName(const Node& other);

  template <typename Report>
  bool checkPlace(const Node& node, const Node*& firstOther, const Node*& output, Report& report) const;
  bool isRepeated(const Node& node, const Node& used, const Edge* end);
  template <typename Report>
  bool checkArguments(const Node& node, Report& report);
  template <typename Report>
  bool checkForm(const Node& node, Report& report) const;

  // Starts to load what checking the node will read, which in large graphs is in no cache.
  void fetch(const Node& node) const {
    __builtin_prefetch(node.arguments_);
    __builtin_prefetch(&names_[node.nameHash_ & mask_], 1);
  }

  static constexpr uint32_t kFewInputs = 8;
  static constexpr uint32_t kFetchedAhead = 6;

  const Graph& graph_;
  const NodeSlabs& nodes_;
  const Edge* edges_;
  uint32_t mask_;
  std::unique_ptr<Slot[], Free> names_;  // fresh pages are zero already
  std::vector<uint32_t> lastUser_;       // by id; used for nodes with many inputs only
};

inline std::string GraphChecker::sameName(const Node& other) {
  return fmt::format("name '{}' is taken by an earlier {} node", other.name(), edgefx::name(other.op()));
}

// The earlier node of the same name, null if there is none.
[[gnu::always_inline]] inline const Node* GraphChecker::takeName(const Node& node) {
  const uint32_t hash = node.nameHash_;
  for (uint32_t i = hash & mask_;; i = (i + 1) & mask_) {
    Slot& slot = names_[i];
    if (slot.idPlusOne == 0) {
      slot = {hash, node.id_ + 1};
      return nullptr;
    }
    if (slot.hash != hash) continue;
    const Node& other = *nodes_.at(slot.idPlusOne - 1);
    if (other.name() == node.name()) return &other;
  }
}

// Goes on to the last of the sound calls of new names that follow.
void GraphChecker::passSoundCalls(Walk& walk) {
  Walk at = walk;
  const Node* ahead = at.last;
  for (uint32_t i = 0; i < kFetchedAhead; ++i) ahead = ahead->next_;
  while (at.position < graph_.liveNodes_) {
    const Node& node = *at.last->next_;
    ahead = ahead->next_;
    fetch(*ahead);
    if (!isSoundCall(node, *at.last) || takeName(node) != nullptr) break;
    at.pass(node);
  }
  walk = at;
}

// Whether nothing but its name can be wrong with a node that stands where calls do. Says no also for some
// sound ones: those that use a node twice.
[[gnu::always_inline]] inline bool GraphChecker::isSoundCall(const Node& node, const Node& before) const {
  if (node.op_ != NodeOp::CallFunction || node.graph_ != &graph_ || node.erased_ || node.prev_ != &before ||
      node.order_ <= before.order_ || node.nameLength_ == 0) {
    return false;
  }
  const Edge* const first = edges_ + node.firstInput_;
  const Edge* const end = first + node.numInputs_;
  return mirror(node.arguments_, node.numArgs_ + 2 * size_t{node.numKwargs_}, node, first, end) == end &&
         findUserFault(node) == nullptr;
}

// Goes through the edges in [edge, end) with the nodes in some of the user's arguments. Returns the edge
// behind the last one that they mirror, null if a node may not stand there.
inline const Edge* GraphChecker::mirror(const Argument* arguments, size_t count, const Node& user,
                                        const Edge* edge, const Edge* end) {
  for (const Argument* const last = arguments + count; arguments != last; ++arguments) {
    if (const Node* used = arguments->findNode()) {
      if (edge == end || edge->used != used->id_ || edge->user != user.id_ || used->graph_ != user.graph_ ||
          used->erased_ || used->order_ >= user.order_) {
        return nullptr;
      }
      ++edge;
    } else if (ArgumentWriter::hasChildren(*arguments)) {
      const std::span<const Argument> children = ArgumentWriter::children(*arguments);
      edge = mirror(children.data(), children.size(), user, edge, end);
      if (edge == nullptr) return nullptr;
    }
  }
  return edge;
}

// What is wrong with the node's own place in the list, null if nothing is.
inline const char* GraphChecker::findLinkFault(const Node& node, const Node& before,
                                               uint32_t position) const {
  if (node.graph_ != &graph_) return "stands in the list of another graph";
  if (node.erased_) return "is erased but still in the list";
  if (node.prev_ != &before) return "does not point back to the node before it";
  if (position > graph_.liveNodes_) return "makes the list of nodes circular";
  return nullptr;
}

// What is wrong with the list of the node's users, null if nothing is. Only the edges of live nodes name a
// node they use. With as many users as inputs in the whole graph, every input is therefore mirrored by a
// user.
[[gnu::always_inline]] inline const char* GraphChecker::findUserFault(const Node& node) const {
  uint32_t before = Node::kNoEdge, count = 0;
  for (uint32_t at = node.firstUser_; at != Node::kNoEdge; at = edges_[at].next) {
    if (count++ == node.numUsers_) return "has more users than are counted";
    const Edge& edge = edges_[at];
    if (edge.used != node.id_ || edge.prev != before) return "has a broken list of users";
    before = at;
  }
  if (count != node.numUsers_ || node.lastUser_ != before) return "has fewer users than are counted";
  return nullptr;
}

template <typename Report>
bool GraphChecker::checkPlace(const Node& node, const Node*& firstOther, const Node*& output,
                              Report& report) const {
  if (output != nullptr) {
    return report(&node, node.isOutput() ? fmt::format("a graph has one output node: '%{}' is one already",
                                                       output->name())
                                         : fmt::format("stands after the output node '%{}'", output->name()));
  }
  if (node.isOutput()) {
    output = &node;
  } else if (node.isPlaceholder()) {
    if (firstOther != nullptr) {
      return report(&node, fmt::format("placeholders must come first: this one stands after '%{}', a {} node",
                                       firstOther->name(), edgefx::name(firstOther->op())));
    }
    return true;
  }
  if (firstOther == nullptr) firstOther = &node;
  return true;
}

template <typename Report>
bool GraphChecker::checkForm(const Node& node, Report& report) const {
  const uint32_t mostArgs = node.isGetAttr() ? 0 : 1;
  const bool fits =
      node.numKwargs_ == 0 && node.numArgs_ <= mostArgs && (!node.isOutput() || node.numArgs_ == 1);
  if (fits) return true;
  return report(&node, fmt::format("a {} node takes {} and no keyword arguments, found {} and {}",
                                   edgefx::name(node.op_),
                                   node.isOutput()        ? "one argument"
                                   : node.isPlaceholder() ? "at most one argument"
                                                          : "no arguments",
                                   node.numArgs_, node.numKwargs_));
}

// Whether the node is among those that the walk over the arguments has met already, all inputs up to `end`.
bool GraphChecker::isRepeated(const Node& node, const Node& used, const Edge* end) {
  const Edge* const first = edges_ + node.firstInput_;
  if (node.numInputs_ <= kFewInputs) {
    return std::any_of(first, end, [&](const Edge& edge) { return edge.used == used.id_; });
  }
  return lastUser_[used.id_] == node.id_;
}

// Inputs are compared by the order keys, which check() has found to be increasing up to this node.
template <typename Report>
bool GraphChecker::checkArguments(const Node& node, Report& report) {
  const Edge* edge = edges_ + node.firstInput_;
  const Edge* const end = edge + node.numInputs_;
  const bool isWide = node.numInputs_ > kFewInputs;
  if (isWide) lastUser_.resize(graph_.nextId_, Node::kNoEdge);
  bool goOn = true, mirrored = true;
  ArgumentWriter::eachNode(
      node.arguments_, node.numArgs_ + 2 * size_t{node.numKwargs_}, [&](const Node* used) {
        if (used->graph_ == &graph_ && edge != end && edge->used == used->id_ && edge->user == node.id_)
            [[likely]] {
          ++edge;
          if (isWide) lastUser_[used->id_] = node.id_;
        } else if (!goOn) {
          return;
        } else if (used->graph_ != &graph_) {
          goOn = report(&node, fmt::format("argument '%{}' is a node of another graph", used->name()));
          return;
        } else {
          mirrored = mirrored && isRepeated(node, *used, edge);
          return;
        }
        if ((used->erased_ || used->order_ >= node.order_) && goOn) [[unlikely]] {
          goOn = report(&node, used->erased_ ? fmt::format("argument '%{}' is an erased node", used->name())
                                             : fmt::format("argument '%{}' is used before it is defined",
                                                           used->name()));
        }
      });
  if (goOn && (!mirrored || edge != end))
    goOn = report(&node, "the list of inputs differs from the arguments");
  return goOn;
}

template <typename Report>
void GraphChecker::check(const Graph& graph, const GraphModule* owner, std::vector<NamedChild>& named,
                         Report&& report) {
  GraphChecker checker(graph);
  const Node *firstOther = nullptr, *output = nullptr;
  Walk walk{graph.root_};
  while (true) {
    if (firstOther != nullptr && output == nullptr) checker.passSoundCalls(walk);
    const Node& node = *walk.last->next_;
    if (&node == graph.root_) break;
    const Node& before = *walk.last;
    walk.pass(node);
    if (const char* fault = checker.findLinkFault(node, before, walk.position)) {
      report(&node, fault);
      return;
    }
    if (node.order_ <= before.order_ &&
        !report(&node, "has an order key that is not above that of the node before it")) {
      return;
    }

    if (node.nameLength_ == 0 && !report(&node, "has an empty name")) return;
    if (const Node* other = checker.takeName(node); other != nullptr && !report(&node, sameName(*other)))
      return;
    if (node.op_ != NodeOp::CallFunction || output != nullptr || firstOther == nullptr) {
      if (!checker.checkPlace(node, firstOther, output, report)) return;
      const bool isCall = node.op_ == NodeOp::CallFunction || node.op_ == NodeOp::CallModule;
      if (!isCall && !checker.checkForm(node, report)) return;
      if (owner != nullptr && (node.isGetAttr() || node.op_ == NodeOp::CallModule)) {
        const GraphModule* child = owner->findChild(node.targetText());
        if (child != nullptr && child != owner) {
          named.push_back({node.targetText(), child});
        } else if (!(node.isGetAttr() && owner->findDelegate(node.targetText()) != nullptr) &&
                   !report(&node, fmt::format("target '{}' names no child module", node.targetText()))) {
          return;
        }
      }
    }
    if (node.numArgs_ + node.numKwargs_ + node.numInputs_ != 0 && !checker.checkArguments(node, report))
      return;
    if (const char* fault = checker.findUserFault(node); fault != nullptr && !report(&node, fault)) return;
  }
  if (walk.position != graph.liveNodes_ &&
      !report(nullptr,
              fmt::format("the graph counts {} nodes, but lists {}", graph.liveNodes_, walk.position))) {
    return;
  }
  if (walk.inputs != walk.users &&
      !report(nullptr, fmt::format("the nodes have {} inputs, but {} users", walk.inputs, walk.users))) {
    return;
  }
  if (output == nullptr) report(nullptr, "the graph has no output node");
}

}  // namespace detail

namespace {

Diagnostic finding(const Node* node, std::string message) {
  Diagnostic diagnostic(std::move(message));
  if (node != nullptr) {
    diagnostic.node = node->name();
    diagnostic.nodeText = node->text();
  }
  return diagnostic;
}

struct Visit {
  detail::NamedChild named;
  size_t parent;  // index of the visit of the module that names it
};

// Dotted path of a visited module; the first visit is that of the top.
std::string pathOf(const std::vector<Visit>& visits, size_t at) {
  std::vector<std::string_view> targets;
  for (; at != 0; at = visits[at].parent) targets.push_back(visits[at].named.target);
  std::string path;
  for (size_t i = targets.size(); i-- > 0;) {
    path += targets[i];
    if (i != 0) path += '.';
  }
  return path;
}

}  // namespace

std::vector<Diagnostic> lint(const Graph& graph) {
  std::vector<Diagnostic> findings;
  std::vector<detail::NamedChild> named;
  detail::GraphChecker::check(graph, nullptr, named, [&](const Node* node, std::string message) {
    findings.push_back(finding(node, std::move(message)));
    return findings.size() < kMostLintFindings;
  });
  return findings;
}

std::vector<Diagnostic> lint(const GraphModule& module) {
  std::vector<Diagnostic> findings;
  std::vector<Visit> visits;
  std::vector<Visit> pending{{{"", &module}, 0}};
  std::vector<detail::NamedChild> named;
  std::unordered_set<const GraphModule*> reached{&module};
  while (!pending.empty() && findings.size() < kMostLintFindings) {
    const size_t index = visits.size();
    visits.push_back(pending.back());
    pending.pop_back();
    const GraphModule& at = *visits.back().named.module;
    named.clear();
    detail::GraphChecker::check(at.graph(), &at, named, [&](const Node* node, std::string message) {
      findings.push_back(finding(node, std::move(message)));
      findings.back().graph = pathOf(visits, index);
      return findings.size() < kMostLintFindings;
    });
    const size_t first = pending.size();
    for (const detail::NamedChild& child : named) {
      if (reached.insert(child.module).second) pending.push_back({child, index});
    }
    std::reverse(pending.begin() + static_cast<std::ptrdiff_t>(first), pending.end());
  }
  return findings;
}

}  // namespace edgefx
