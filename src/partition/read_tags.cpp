#include <edgefx/ir/node_queries.h>

#include "partition/memory_use.h"
#include "partition/mutations.h"
#include "partition/tagged_graph.h"
#include "support/text_hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace edgefx::detail {
namespace {

class TagReader {
 public:
  TagReader(TaggedGraph& graph, const ExportedProgram& program, const PartitionResult& result,
            const FusingOrder& order)
      : graph_(graph), program_(program), result_(result), order_(order), isTop_(graph.path.empty()) {
    if (isTop_) index_.emplace(program.signature);
  }

  void run() {
    numberPartitions();
    for (Node& node : graph_.owner->graph().nodes()) {
      if (node.isGetAttr()) separateBranch(node);
    }
    std::vector<size_t> sizes(graph_.members.size(), 0);
    for (const Node& node : graph_.owner->graph().nodes()) {
      if (graph_.partition(node) == TaggedGraph::kNone) continue;
      checkNode(node);
      ++sizes[graph_.partition(node)];
    }
    for (size_t i = 0; i < sizes.size(); ++i) graph_.members[i].reserve(sizes[i]);
    for (Node& node : graph_.owner->graph().nodes()) {
      if (graph_.partition(node) != TaggedGraph::kNone)
        graph_.members[graph_.partition(node)].push_back(&node);
    }
    if (!isTop_) return;
    checkMutations();
    checkWritesInPlace();
    checkSharedMemory();
  }

 private:
  template <typename... Args>
  [[noreturn]] void refuse(const Node& node, fmt::format_string<Args...> format, Args&&... args) const {
    Diagnostic diagnostic = taggedPlace(graph_, result_, graph_.partition(node));
    diagnostic.node = node.name();
    diagnostic.nodeText = node.text();
    diagnostic.message = fmt::format(format, std::forward<Args>(args)...);
    throw LoweringError(std::move(diagnostic));
  }
  std::string_view tag(const Node& node) const { return tagText(graph_, result_, graph_.partition(node)); }
  // As a clause.
  std::string tagged(const Node& node) const {
    return graph_.partition(node) == TaggedGraph::kNone ? "no tag" : fmt::format("tag '{}'", tag(node));
  }

  // Nodes come with the tag of the node before more often than not, which spares most of the searching.
  void numberPartitions() {
    Graph& graph = graph_.owner->graph();
    graph_.partitionOf = NodeMap<uint32_t>(graph, TaggedGraph::kNone);
    std::vector<uint32_t> ranks;
    for (const Node& node : graph.nodes()) {
      const uint32_t rank = order_.rankOf(node, result_.tags);
      if (rank == FusingOrder::kNone) continue;
      graph_.partitionOf[node] = rank;  // for the time being
      if (ranks.empty() || ranks.back() != rank) ranks.push_back(rank);
    }
    std::ranges::sort(ranks);
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    for (uint32_t rank : ranks) graph_.specs.push_back(order_.specs[rank]);
    graph_.members.resize(ranks.size());
    size_t at = 0;
    for (const Node& node : graph.nodes()) {
      uint32_t& partition = graph_.partitionOf[node];
      if (partition == TaggedGraph::kNone) continue;
      if (ranks[at] != partition) {
        at = static_cast<size_t>(std::ranges::lower_bound(ranks, partition) - ranks.begin());
      }
      partition = static_cast<uint32_t>(at);
    }
  }

  bool namesBranch(const Node& node) const {
    return node.isGetAttr() && std::as_const(*graph_.owner).findChild(node.targetText()) != nullptr;
  }

  // A branch is an operand like no other: it has no value that could cross a border. Users with another tag
  // get a node of their own, and a tag that no user has means nothing.
  void separateBranch(Node& node) {
    if (!namesBranch(node)) return;
    const uint32_t own = graph_.partition(node);
    if (own == TaggedGraph::kNone) return;  // checkInputs names those that a tagged user lacks
    bool isShared = false, isUsedHere = false;
    for (const Node& user : std::as_const(node).users()) {
      (graph_.partition(user) == own ? isUsedHere : isShared) = true;
    }
    if (!isUsedHere) graph_.partitionOf[node] = TaggedGraph::kNone;
    if (!isUsedHere || !isShared) return;
    std::map<uint32_t, Node*> copies;  // by partition
    for (Node* user : node.usersSnapshot()) {
      const uint32_t other = graph_.partition(*user);
      if (other == own) continue;
      Node*& copy = copies[other];
      if (copy == nullptr) {
        InsertionGuard guard(node.graph(), after(node));
        copy = &node.graph().getAttr(node.targetText(), node.name());
        copy->setMeta(node.metaRef());
        graph_.partitionOf[*copy] = other;
      }
      user->replaceInput(node, *copy);
    }
  }

  void checkNode(const Node& node) const {
    switch (node.op()) {
      case NodeOp::Output:
        refuse(node, "the output node must not be tagged, found tag '{}'", tag(node));
      case NodeOp::Placeholder:
        return checkPlaceholder(node);
      case NodeOp::CallModule:
        refuse(node, "expected calls of functions to be tagged, found a call of module '{}' tagged '{}'",
               node.targetText(), tag(node));
      case NodeOp::GetAttr:
        if (graph_.owner->findDelegate(node.targetText()) != nullptr) refuseDelegate(node);
        return;
      case NodeOp::CallFunction:
        if (callsDelegate(node)) refuseDelegate(node);
        checkInputs(node);
        checkUsers(node);
        return;
    }
  }

  [[noreturn]] void refuseDelegate(const Node& node) const {
    refuse(node, "tag '{}' is on a delegate, which is lowered already and cannot be part of another one",
           tag(node));
  }

  void checkPlaceholder(const Node& node) const {
    const InputSpec* spec = isTop_ ? index_->findInput(node.name()) : nullptr;
    if (spec != nullptr && isStoredTensor(spec->kind)) return;
    refuse(node,
           "expected tags on parameters, buffers and constants among the placeholders, found tag '{}' on {}",
           tag(node), isTop_ ? "an input of the program" : "an operand of a branch");
  }

  void checkInputs(const Node& node) const {
    const uint32_t own = graph_.partition(node);
    for (const Node& input : node.inputs()) {
      if (graph_.partition(input) == own) continue;
      if (namesBranch(input)) {
        refuse(node, "branch '{}' of '{}' is outside of the partition '{}': its get_attr node '%{}' has {}",
               input.targetText(), node.target().name(), tag(node), input.name(), tagged(input));
      }
      if (input.value() != nullptr && input.value()->sequence() != nullptr) {
        refuse(node,
               "partition '{}' would be given all results of '%{}' at once: tag that one too, or untag '%{}'",
               tag(node), input.name(), node.name());
      }
    }
  }

  // Several results leave a partition one by one, by their getitems.
  void checkUsers(const Node& node) const {
    if (node.value() == nullptr || node.value()->sequence() == nullptr) return;
    for (const Node& user : node.users()) {
      if (graph_.partition(user) == graph_.partition(node)) continue;
      refuse(node, "'%{}' has several results, and partition '{}' lacks '%{}', which takes {}", node.name(),
             tag(node), user.name(), getitemIndex(user) ? "one of them" : "them all");
    }
  }

  // State is written where it is read. Split, the reader would see the first value for ever.
  void checkMutations() {
    const Node* output = std::as_const(*graph_.owner).graph().back();
    if (output == nullptr || !output->isOutput() || output->args().size() != 1) return;
    const std::span<const Argument> results = output->args()[0].items();
    const size_t count = std::min(results.size(), program_.signature.outputs.size());
    for (size_t i = 0; i < count; ++i) {
      const OutputSpec& spec = program_.signature.outputs[i];
      if (!writesState(spec.kind) || !spec.target) continue;
      const InputKind kind =
          spec.kind == OutputKind::BufferMutation ? InputKind::Buffer : InputKind::Parameter;
      const InputSpec* const state = index_->findTarget(kind, *spec.target);
      const Node* const placeholder =
          state == nullptr ? nullptr : std::as_const(*graph_.owner).graph().find(state->arg.name);
      const Node* const writer = results[i].findNode();
      if (placeholder == nullptr || writer == nullptr || graph_.partition(*placeholder) == TaggedGraph::kNone)
        continue;
      if (writer != placeholder && graph_.partition(*writer) != graph_.partition(*placeholder)) {
        refuse(*placeholder,
               "'{}' is tagged '{}', but '%{}', which writes it, has {}: state moves with its writer",
               *spec.target, tag(*placeholder), writer->name(), tagged(*writer));
      }
      for (const Node& reader : placeholder->users()) {
        if (graph_.partition(reader) == graph_.partition(*placeholder)) continue;
        refuse(*placeholder,
               "'{}' is written by '%{}' in partition '{}', but '%{}', which reads it, has {}: state that "
               "is written cannot be in two places",
               *spec.target, writer->name(), tag(*placeholder), reader.name(), tagged(reader));
      }
    }
  }

  // Programs that are not functional write state where it is, through views too.
  void checkWritesInPlace() const {
    const MemoryUses uses(*graph_.owner);
    for (const std::vector<Node*>& members : graph_.members) {
      for (const Node* node : members) {
        if (!node->isPlaceholder()) break;  // they come first
        const MemoryUse use = uses.of(*node);
        if (!use.isWritten) continue;
        for (const Node* user : use.users) {
          if (graph_.partition(*user) == graph_.partition(*node)) continue;
          refuse(*node,
                 "partition '{}' would own what the program writes in place, but '%{}', which uses its "
                 "memory, has {}",
                 tag(*node), user->name(), tagged(*user));
        }
      }
    }
  }

  // What is written shows in every tensor of the same memory, in the order in which it is written.
  void checkSharedMemory() const {
    struct Holder {
      const Node* node;
      const InputSpec* spec;
    };
    bool anyTagged = false;
    for (const std::vector<Node*>& members : graph_.members) {
      anyTagged = anyTagged || (!members.empty() && members.front()->isPlaceholder());
    }
    if (!anyTagged) return;
    const Mutations mutations(program_);
    std::map<Mutations::Memory, std::vector<Holder>> memories;
    forEachStored(program_, [&](const Node& node, const InputSpec& spec) {
      if (spec.target && mutations.writes(node, spec))
        memories[mutations.memory(spec)].push_back({&node, &spec});
    });
    for (const auto& [memory, holders] : memories) {
      const auto isTagged = [&](const Holder& holder) {
        return graph_.partition(*holder.node) != TaggedGraph::kNone;
      };
      const auto owned = std::ranges::find_if(holders, isTagged);
      if (owned == holders.end()) continue;
      const InputSpec* written = nullptr;
      for (const Holder& holder : holders) {
        if (graph_.partition(*holder.node) != graph_.partition(*owned->node)) {
          refuse(*owned->node,
                 "'{}' is tagged '{}', but '{}', which shares its memory, has {}: memory that is written "
                 "cannot be in two places",
                 *owned->spec->target, tag(*owned->node), *holder.spec->target, tagged(*holder.node));
        }
        if (mutations.newValues(*holder.spec).empty()) continue;
        if (written != nullptr && *written->target != *holder.spec->target) {
          refuse(*holder.node,
                 "'{}' and '{}' share their memory, and both get new values: a delegate gives them in an "
                 "order of its own, so that they cannot be tagged '{}'",
                 *written->target, *holder.spec->target, tag(*holder.node));
        }
        written = holder.spec;
      }
    }
  }

  TaggedGraph& graph_;
  const ExportedProgram& program_;
  const PartitionResult& result_;
  const FusingOrder& order_;
  const bool isTop_;
  std::optional<SignatureIndex> index_;  // of the top level graph only
};

}  // namespace

FusingOrder fusingOrder(const PartitionResult& result) {
  struct Key {
    std::string_view digits;  // without leading zeros
    std::string_view tag;
  };
  std::vector<Key> keys;
  for (const auto& [tag, spec] : result.specs()) {
    size_t first = tag.size();
    while (first > 0 && tag[first - 1] >= '0' && tag[first - 1] <= '9') --first;
    while (first < tag.size() && tag[first] == '0') ++first;
    keys.push_back({std::string_view(tag).substr(first), tag});
  }
  FusingOrder order;
  order.specs.resize(keys.size());
  std::iota(order.specs.begin(), order.specs.end(), size_t{0});
  std::ranges::sort(order.specs, [&](size_t a, size_t b) {
    const Key &left = keys[a], &right = keys[b];
    return std::tuple(left.digits.size(), left.digits, left.tag) <
           std::tuple(right.digits.size(), right.digits, right.tag);
  });
  std::unordered_map<std::string_view, uint32_t, TextHash> ranks;
  for (size_t i = 0; i < order.specs.size(); ++i)
    ranks.emplace(keys[order.specs[i]].tag, static_cast<uint32_t>(i));
  for (const std::string& tag : result.tags.all()) {
    const auto found = ranks.find(tag);
    order.rankOfTag.push_back(found == ranks.end() ? FusingOrder::kNone : found->second);
  }
  return order;
}

std::string_view tagText(const TaggedGraph& graph, const PartitionResult& result, uint32_t partition) {
  return result.specs()[graph.specs[partition]].first;
}

Diagnostic taggedPlace(const TaggedGraph& graph, const PartitionResult& result, uint32_t partition) {
  Diagnostic diagnostic;
  diagnostic.graph = graph.path;
  diagnostic.backend = result.specs()[graph.specs[partition]].second.backendId;
  return diagnostic;
}

TaggedGraph readTags(GraphModule& owner, const std::string& path, const ExportedProgram& program,
                     const PartitionResult& result, const FusingOrder& order) {
  TaggedGraph graph;
  graph.owner = &owner;
  graph.path = path;
  TagReader(graph, program, result, order).run();
  return graph;
}

}  // namespace edgefx::detail
