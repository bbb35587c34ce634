#include "partition/fuse.h"

#include "ir/graph_builder.h"
#include "ir/impurity.h"
#include "partition/fx_order.h"
#include "partition/tagged_graph.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace edgefx::detail {
namespace {

// The reference sorts the whole graph anew after every partition, and its order shows: in the order of nodes
// within the partitions that follow, and so in names. Up to this many node visits that is done here too.
// Larger graphs with many partitions are sorted once, at the end: valid all the same, and without the square.
constexpr size_t kExactWork = size_t{1} << 20;

// Cuts the partitions of one graph out of it.
class Fuser {
 public:
  Fuser(TaggedGraph& tagged, const ExportedProgram& program, const PartitionResult& result)
      : tagged_(tagged),
        owner_(*tagged.owner),
        graph_(owner_.graph()),
        result_(result),
        inner_(graph_.idBound(), nullptr) {
    if (tagged.path.empty()) index_.emplace(program.signature);
    for (const Node& node : std::as_const(graph_).nodes()) {
      if (node.isGetAttr() || node.op() == NodeOp::CallModule) ++timesNamed_[node.targetText()];
    }
  }

  std::vector<FusedPartition> run() {
    const size_t count = tagged_.members.size();
    const bool exact = count * graph_.size() <= kExactWork;
    std::vector<FusedPartition> fused;
    fused.reserve(count);
    graphBuilder().forgetErasedNames();
    for (uint32_t partition = 0; partition < count; ++partition) {
      fused.push_back(cut(partition, tagged_.members[partition]));
      if (exact || fused.size() == count) {
        sort();
        graphBuilder().forgetErasedNames();
      }
    }
    moveBranches();
    return fused;
  }

 private:
  GraphBuilder graphBuilder() { return GraphBuilder(graph_); }

  void sort() {
    std::vector<MemoryOrder::Pair> order;
    for (const auto& [first, second] : tagged_.order.pairs()) {
      const MemoryOrder::Pair pair(standsFor(*first), standsFor(*second));
      if (pair.first != pair.second) order.push_back(pair);
    }
    sortLikeFx(graph_, order);
  }

  // The call that a node of the graph before went into, or the node itself.
  const Node* standsFor(const Node& node) const {
    const auto found = calls_.find(&node);
    return found == calls_.end() ? &node : found->second;
  }

  FusedPartition cut(uint32_t number, std::vector<Node*>& nodes) {
    const auto isBefore = [](const Node* a, const Node* b) { return a->isBefore(*b); };
    if (!std::ranges::is_sorted(nodes, isBefore)) std::ranges::sort(nodes, isBefore);
    FusedPartition partition;
    partition.spec = tagged_.specs[number];
    partition.owner = &owner_;
    partition.ownerPath = tagged_.path;
    findInputs(number, nodes);
    findOutputs(number, nodes);
    copyOut(partition, nodes);
    placeCall(partition, number, *nodes.back());
    if (!tagged_.order.empty()) {
      for (const Node* node : nodes) calls_.emplace(node, partition.call);
    }
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) graphBuilder().erase(**node);
    return partition;
  }

  // In the order of first use; in that of the graph if all are placeholders.
  void findInputs(uint32_t number, const std::vector<Node*>& nodes) {
    inputs_.clear();
    for (Node* node : nodes) {
      for (Node& input : node->inputs()) {
        if (tagged_.partition(input) == number || inner_[input.id()] == &input) continue;
        inner_[input.id()] = &input;  // seen; copyOut replaces it
        inputs_.push_back(&input);
      }
    }
    if (std::ranges::all_of(inputs_, [](const Node* input) { return input->isPlaceholder(); })) {
      std::ranges::sort(inputs_, [](const Node* a, const Node* b) { return a->isBefore(*b); });
    }
  }

  void findOutputs(uint32_t number, const std::vector<Node*>& nodes) {
    outputs_.clear();
    for (Node* node : nodes) {
      for (const Node& user : std::as_const(*node).users()) {
        if (tagged_.partition(user) == number) continue;
        outputs_.push_back(node);
        break;
      }
    }
  }

  void copyOut(FusedPartition& partition, const std::vector<Node*>& nodes) {
    partition.module = std::make_unique<GraphModule>();
    GraphBuilder builder(partition.module->graph());
    builder.reserve(nodes, inputs_, outputs_.size());
    auto copyPlaceholders = [&](auto&& wanted) {
      for (Node* node : nodes) {
        if (!node->isPlaceholder() || !wanted(kindOf(*node))) continue;
        inner_[node->id()] = &builder.copy(*node, inner_);
        partition.consumed.push_back(inner_[node->id()]);
      }
    };
    copyPlaceholders([](InputKind kind) { return kind == InputKind::Parameter; });
    copyPlaceholders([](InputKind kind) { return kind == InputKind::Buffer; });
    for (Node* input : inputs_) inner_[input->id()] = &builder.placeholderFor(*input);
    copyPlaceholders(
        [](InputKind kind) { return kind != InputKind::Parameter && kind != InputKind::Buffer; });
    std::map<std::string, std::string> branches;
    for (Node* node : nodes) {
      if (node->isPlaceholder()) continue;
      Node& copy = builder.copy(*node, inner_);
      inner_[node->id()] = &copy;
      partition.isImpure = partition.isImpure || impurity_.isImpure(*node, owner_);
      if (node->isGetAttr()) takeBranch(*partition.module, copy, branches);
    }
  }

  InputKind kindOf(const Node& placeholder) const {
    const InputSpec* const spec = index_ ? index_->findInput(placeholder.name()) : nullptr;
    return spec == nullptr ? InputKind::UserInput : spec->kind;
  }

  // The last of the get_attr nodes that name a branch takes it along, once all partitions are cut; the others
  // take copies.
  void takeBranch(GraphModule& to, Node& getAttr, std::map<std::string, std::string>& pathOfName) {
    const std::string path(getAttr.targetText());
    std::string name = path;
    std::replace(name.begin(), name.end(), '.', '_');
    const bool isDirect = name == path;
    const auto isTaken = [&] {
      const auto found = pathOfName.find(name);
      return found != pathOfName.end() ? found->second != path
                                       : !isDirect && owner_.findChild(name) != nullptr;
    };
    while (isTaken()) name += '_';
    const bool isLast = --timesNamed_[path] == 0 && isDirect;
    const bool isNew = pathOfName.emplace(name, path).second;
    if (isLast) moves_.push_back({isNew ? &to : nullptr, name});
    if (isNew && !isLast) to.addChild(name, owner_.findChild(path)->clone());
    if (!isDirect) getAttr.setTargetText(name);
  }

  void moveBranches() {
    std::vector<std::string> names;
    for (const Move& move : moves_) names.push_back(move.name);
    std::vector<std::unique_ptr<GraphModule>> branches = owner_.takeChildren(names);
    for (size_t i = 0; i < moves_.size(); ++i) {
      if (moves_[i].to != nullptr) moves_[i].to->addChild(names[i], std::move(branches[i]));
    }
  }

  void placeCall(FusedPartition& partition, uint32_t number, Node& last) {
    InsertionGuard guard(graph_, after(outputs_.empty() ? last : *outputs_.back()));
    const std::string name = "fused_" + result_.specs()[partition.spec].first;
    args_.assign(inputs_.begin(), inputs_.end());
    partition.call = &graph_.callModule(name, args_, {}, name);
    note(*partition.call);
    static const Target kGetitem("operator.getitem");
    Node* behind = partition.call;
    partition.outputs.reserve(outputs_.size());
    for (size_t i = 0; i < outputs_.size(); ++i) {
      graph_.setInsertionPoint(after(*behind));
      args_.clear();
      args_.emplace_back(*partition.call);
      args_.emplace_back(i);
      Node& getitem = graph_.call(kGetitem, args_);
      note(getitem);
      getitem.setValue(outputs_[i]->valueRef());
      getitem.setMeta(withoutStacks(outputs_[i]->metaRef()));
      users_.clear();
      for (Node& user : outputs_[i]->users()) {
        if (tagged_.partition(user) != number) users_.push_back(&user);
      }
      for (Node* user : users_) user->replaceInput(*outputs_[i], getitem);
      partition.outputs.push_back({inner_[outputs_[i]->id()], &getitem});
      behind = &getitem;
    }
  }

  // Without what says where in the model the node came from.
  MetaRef withoutStacks(const MetaRef& meta) {
    static constexpr std::array<std::string_view, 2> kStacks = {"nn_module_stack", "source_fn_stack"};
    if (!meta) return meta;
    if (meta.get() != stacked_.get()) {
      stacked_ = meta;
      stackless_ = meta->without(kStacks);
      if (!stackless_) stackless_ = meta;
    }
    return stackless_;
  }

  // Nodes made here belong to no partition.
  void note(const Node& node) {
    tagged_.partitionOf[node] = TaggedGraph::kNone;
    if (node.id() >= inner_.size()) inner_.resize(node.id() + 1, nullptr);
  }

  struct Move {
    GraphModule* to;  // null if a copy went there already
    std::string name;
  };

  TaggedGraph& tagged_;
  GraphModule& owner_;
  Graph& graph_;
  const PartitionResult& result_;
  std::optional<SignatureIndex> index_;
  ImpurityTester impurity_;
  std::vector<Node*> inner_;             // by id: the copy in the partition at hand
  std::vector<Node*> inputs_, outputs_;  // of the partition at hand
  std::vector<Node*> users_;             // scratch of placeCall
  Args args_;                            // likewise
  MetaRef stacked_, stackless_;          // last one of withoutStacks, and what it gave
  std::unordered_map<std::string_view, size_t> timesNamed_;
  std::vector<Move> moves_;
  std::unordered_map<const Node*, const Node*> calls_;  // of nodes cut out, if anything is written in place
};

}  // namespace

std::vector<FusedPartition> fusePartitions(GraphModule& owner, const std::string& path,
                                           const ExportedProgram& program, const PartitionResult& result,
                                           const FusingOrder& order) {
  TaggedGraph tagged = readTags(owner, path, program, result, order);
  if (!tagged.members.empty()) tagged.order = MemoryOrder(program, owner);
  checkConvex(tagged, result);
  return Fuser(tagged, program, result).run();
}

}  // namespace edgefx::detail
