#include "dialect/functional_graph.h"

#include <edgefx/ir/node_queries.h>
#include <edgefx/ir/operators.h>
#include <edgefx/ir/shape_inference.h>

#include "dialect/functional_forms.h"
#include "dialect/memory_sharing.h"
#include "support/fail.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace edgefx::detail {
namespace {

// A deep view that is written often comes to as many nodes as its depth times the writes.
constexpr size_t kMostNodesPerNode = 100;

constexpr std::string_view kMaySharing = "which may share memory with its operands";

}  // namespace

FunctionalGraph::FunctionalGraph(GraphModule& module, WriteAnalysis& analysis)
    : module_(module),
      graph_(module.graph()),
      analysis_(analysis),
      memory_(analysis.memoryOf(module)),
      mostNodes_((module.graph().size() + 100) * kMostNodesPerNode),
      variableOf_(module.graph(), kNone),
      redescribed_(module.graph()) {}

void FunctionalGraph::run() {
  graph_.outputNode();  // there must be one
  for (Node* input : graph_.placeholders()) {
    if (isTracked(*input)) inputs_.emplace(input, addMemory(*input));
  }
  for (const auto& [first, second] : sharing_) {
    if (shownBy(*first) == kNone || shownBy(*second) == kNone) continue;
    variableOf_[*second] = variableOf_[*first];
    inputs_[second] = inputs_[first];
  }
  for (const auto& [placeholder, reason] : protected_) {
    if (shownBy(*placeholder) != kNone) lock(shownBy(*placeholder), *placeholder, reason);
  }
  for (Node* node = graph_.front(); node != nullptr;) {
    Node* const next = node->next();
    visit(*node);
    node = next;
  }
  for (size_t i = erased_.size(); i-- > 0;) graph_.erase(*erased_[i]);
}

Node* FunctionalGraph::finalValue(const Node& placeholder) {
  const auto shown = inputs_.find(&placeholder);
  if (shown == inputs_.end() || memories_[shown_[shown->second].memory].written == 0) return nullptr;
  return shown_[shown->second].value;
}

const Diagnostic& FunctionalGraph::firstWrite(const Node& placeholder) const {
  return memories_[shown_[inputs_.at(&placeholder)].memory].firstWrite;
}

void FunctionalGraph::visit(Node& node) {
  if (node.isPlaceholder() || node.isGetAttr()) return;
  if (!node.isCall()) {
    useCurrent(node);
    if (node.isOutput()) returnWritten();
    return;
  }
  if (const std::optional<Target> view = viewInPlace(node.target())) {
    if (shownBy(node.arg(0).asNode()) != kNone) return visitInPlaceView(node, *view);
  }
  if (!writtenOperands(node).empty()) return visitWrite(node);
  if (node.target().kind() == TargetKind::HigherOrder) return visitGraphCall(node);
  if (const std::optional<int64_t> index = getitemIndex(node)) return visitGetitem(node, *index);
  const Node* const first = node.args().empty() ? nullptr : node.arg(0).findNode();
  const uint32_t source = first == nullptr ? kNone : shownBy(*first);
  const Sharing sharing = isTracked(node) ? sharingOf(node) : Sharing::Nothing;
  std::vector<uint32_t> operands;
  for (const Node& input : node.inputs()) {
    if (sharing == Sharing::Unknown && shownBy(input) != kNone) operands.push_back(shownBy(input));
  }
  useCurrent(node);
  if (!isTracked(node)) return;
  switch (sharing) {
    case Sharing::Nothing:
      addMemory(node);
      break;
    case Sharing::Same:
      if (source != kNone) variableOf_[node] = variableOf_[*first];
      break;
    case Sharing::View:
      if (source != kNone)
        addView(node, {&node, {}, &node}, source, memories_[shown_[source].memory].written);
      break;
    case Sharing::Views:
      if (source != kNone) lists_[&node] = {source, memories_[shown_[source].memory].written};
      break;
    case Sharing::Unknown: {
      const uint32_t made = addMemory(node);
      lock(made, node, kMaySharing);
      for (const uint32_t operand : operands) lock(operand, node, kMaySharing);
      break;
    }
  }
}

void FunctionalGraph::visitGetitem(Node& getitem, int64_t index) {
  const Node& source = getitem.arg(0).asNode();
  const auto list = lists_.find(&source);
  if (list != lists_.end()) {
    useCurrent(getitem);
    addView(getitem, {&source, index, &getitem}, list->second.source, list->second.written);
    return;
  }
  useCurrent(getitem);
  if (!isTracked(getitem)) return;
  const uint32_t made = addMemory(getitem);
  const auto shared = sharedBy_.find(&source);
  if (shared == sharedBy_.end() || index < 0 || static_cast<size_t>(index) >= shared->second.ofResult.size())
    return;
  if (!shared->second.ofResult[static_cast<size_t>(index)].empty()) lock(made, source, kMaySharing);
}

void FunctionalGraph::visitInPlaceView(Node& call, Target view) {
  const uint32_t source = shownBy(call.arg(0).asNode());
  const uint32_t variable = variableOf_[call.arg(0).asNode()];
  useCurrent(call);
  call.setTarget(view);
  if (ValueRef value = inferValue(call)) call.setValue(std::move(value));
  const uint32_t shown = addView(call, {&call, {}, &call}, source, memories_[shown_[source].memory].written);
  variables_[variable] = shown;
  variableOf_[call] = variable;
}

void FunctionalGraph::visitWrite(Node& call) {
  const CallMaker maker(call, call);
  std::unordered_map<const Node*, uint32_t> targets;
  std::unordered_map<uint32_t, const Node*> memories;
  for (const Node* written : writtenOperands(call)) {
    const uint32_t shown = shownBy(*written);
    if (shown == kNone)
      refuseNode(call, fmt::format("operator '{}' writes '%{}', which is no tensor of this graph",
                                   call.target().name(), written->name()));
    targets.emplace(written, shown);
    const auto [other, isNew] = memories.emplace(shown_[shown].memory, written);
    if (!isNew) {
      refuseNode(call, fmt::format("operator '{}' writes '%{}' and '%{}', which share memory",
                                   call.target().name(), other->second->name(), written->name()));
    }
  }
  const CurrentValues values{[&](const Argument& argument) { return current(argument, maker); },
                             [&](Node& node) -> Node& {
                               const uint32_t shown = shownBy(node);
                               return shown == kNone ? node : currentValue(shown, maker);
                             },
                             [&](const Node& node) { return isTracked(node) || declared_.contains(&node); }};
  const FunctionalForm form = functionalForm(call, values, maker);
  for (const auto& [operand, value] : form.written) write(targets.at(operand), *value, maker);
  if (form.result != nullptr) {
    shown_[addMemory(call)].value = form.result;
  } else if (!form.written.empty()) {
    variableOf_[call] = variableOf_[*form.written.front().first];
  }
  checkSize(call);
  erased_.push_back(&call);
}

void FunctionalGraph::visitGraphCall(Node& call) {
  const std::vector<GraphModule*> branches = branchesOf(call, module_);
  if (branches.empty()) {
    useCurrent(call);
    return;
  }
  const std::vector<Node*> operands = graphOperands(call);
  sharedBy_[&call] = analysis_.sharingOfGraphs(call, module_);
  const GraphSummary& summary = analysis_.summaryOf(*branches.front());
  std::vector<std::pair<Node*, uint32_t>> written;
  for (const size_t i : summary.written) {
    if (i >= operands.size() || operands[i] == nullptr || shownBy(*operands[i]) == kNone) {
      refuseNode(call,
                 fmt::format("operator '{}' calls a graph that writes its operand {}, which is no tensor",
                             call.target().name(), i));
    }
    written.emplace_back(operands[i], shownBy(*operands[i]));
  }
  std::unordered_map<uint32_t, size_t> passed;  // how many operands show a memory
  for (const Node* operand : operands) {
    if (operand != nullptr && shownBy(*operand) != kNone) ++passed[shown_[shownBy(*operand)].memory];
  }
  for (const auto& [node, shown] : written) {
    if (passed[shown_[shown].memory] < 2) continue;
    refuseNode(call,
               fmt::format("operator '{}' calls a graph that writes '%{}', which shares memory with another "
                           "operand",
                           call.target().name(), node->name()));
  }
  useCurrent(call);
  writeBack(call, written);
  lockShared(call);
}

void FunctionalGraph::writeBack(Node& call, const std::vector<std::pair<Node*, uint32_t>>& written) {
  if (written.empty()) return;
  const std::vector<GraphModule*> branches = branchesOf(call, module_);
  const size_t first = analysis_.summaryOf(*branches.front()).resultGroups.size();
  if (const ValueMeta::Sequence* held = call.value() == nullptr ? nullptr : call.value()->sequence()) {
    ValueMeta::Sequence more = *held;
    more.elements.resize(first);
    for (const auto& [node, shown] : written) more.elements.push_back(node->valueRef());
    call.setValue(ValueMeta::of(std::move(more)));
  }
  const CallMaker maker(*call.next(), call);
  for (size_t i = 0; i < written.size(); ++i) {
    Node& value = maker.item(call, static_cast<int64_t>(first + i), written[i].first->valueRef());
    write(written[i].second, value, maker);
  }
}

// Operands that results may be, once what the graphs write is written.
void FunctionalGraph::lockShared(Node& call) {
  CallSharing& sharing = sharedBy_.at(&call);
  for (const Node* user : getitemUsers(call)) {
    const int64_t index = *getitemIndex(*user);
    if (index < 0 || static_cast<size_t>(index) >= sharing.ofResult.size()) continue;
    for (const size_t group : sharing.ofResult[static_cast<size_t>(index)]) {
      for (const Node* operand : sharing.operands[group]) {
        if (shownBy(*operand) != kNone) lock(shownBy(*operand), call, kMaySharing);
      }
      sharing.operands[group].clear();
    }
  }
}

// Callers take what was written as further results.
void FunctionalGraph::returnWritten() {
  if (&module_ == analysis_.modules().back().module) return;
  const GraphSummary& summary = analysis_.summaryOf(module_);
  if (summary.written.empty()) return;
  Node& output = graph_.outputNode();
  const std::vector<Node*> inputs = graph_.placeholders();
  const Argument& old = output.arg(0);
  Arg::List results(old.items().begin(), old.items().end());
  for (const size_t i : summary.written) {
    const CallMaker maker(output, *inputs[i]);
    Node* const written = finalValue(*inputs[i]);
    Node& value = written == nullptr ? *inputs[i] : *written;
    // A result must not be an operand itself.
    results.emplace_back(
        value.isPlaceholder() ? maker.call("aten.clone.default", {value}, {}, value.valueRef()) : value);
  }
  const bool isList = old.kind() == ArgumentKind::List;
  output.setArg(0, isList ? Arg::list(std::move(results)) : Arg::tuple(std::move(results)));
}

uint32_t FunctionalGraph::shownBy(const Node& node) const {
  const uint32_t variable = variableOf_[node];
  return variable == kNone ? kNone : variables_[variable];
}

void FunctionalGraph::name(const Node& node, uint32_t shown) {
  variableOf_[node] = static_cast<uint32_t>(variables_.size());
  variables_.push_back(shown);
}

uint32_t FunctionalGraph::addMemory(Node& node) {
  const auto made = static_cast<uint32_t>(shown_.size());
  shown_.push_back({static_cast<uint32_t>(memories_.size()), kNone, &node, {}, &node, 0});
  memories_.emplace_back();
  name(node, made);
  return made;
}

uint32_t FunctionalGraph::addView(Node& node, const ViewStep& step, uint32_t source, uint32_t written) {
  const auto made = static_cast<uint32_t>(shown_.size());
  shown_.push_back({shown_[source].memory, source, &node, step, &node, written});
  name(node, made);
  return made;
}

void FunctionalGraph::lock(uint32_t shown, const Node& by, std::string_view reason) {
  Memory& memory = memories_[shown_[shown].memory];
  if (memory.lockedBy != nullptr) return;
  memory.locked = reason;
  memory.lockedBy = &by;
}

Arg FunctionalGraph::current(const Argument& argument, const CallMaker& maker) {
  if (const Node* node = argument.findNode()) {
    const uint32_t shown = shownBy(*node);
    return shown == kNone ? Arg(argument) : Arg(currentValue(shown, maker));
  }
  if (!argument.isSequence()) return Arg(argument);
  Arg::List items;
  items.reserve(argument.items().size());
  for (const Argument& item : argument.items()) items.push_back(current(item, maker));
  return argument.kind() == ArgumentKind::List ? Arg::list(std::move(items)) : Arg::tuple(std::move(items));
}

// Takes views anew from the nearest one that is up to date.
Node& FunctionalGraph::currentValue(uint32_t shown, const CallMaker& maker) {
  const uint32_t written = memories_[shown_[shown].memory].written;
  std::vector<uint32_t> behind;
  uint32_t at = shown;
  while (shown_[at].written != written && shown_[at].source != kNone) {
    behind.push_back(at);
    at = shown_[at].source;
  }
  for (size_t i = behind.size(); i-- > 0;) {
    Shown& view = shown_[behind[i]];
    view.value = &retakeView(view.step, *shown_[view.source].value, maker);
    view.written = written;
  }
  if (!behind.empty()) checkSize(maker.madeFor());
  return *shown_[shown].value;
}

void FunctionalGraph::useCurrent(Node& node) {
  bool isBehind = false, isOtherwise = false;
  for (const Node& input : node.inputs()) {
    isOtherwise = isOtherwise || redescribed_[input] != 0;
    const uint32_t shown = shownBy(input);
    if (shown == kNone) continue;
    const Shown& view = shown_[shown];
    isBehind = isBehind || view.value != &input || view.written != memories_[view.memory].written;
  }
  if (!isBehind && !isOtherwise) return;
  if (isBehind) {
    std::vector<ValueRef> before;
    for (const Node& input : node.inputs()) before.push_back(input.valueRef());
    takeCurrent(node);
    size_t i = 0;
    for (const Node& input : node.inputs()) {
      isOtherwise = isOtherwise || i >= before.size() || !describeSame(input.value(), before[i].get());
      ++i;
    }
  }
  if (isOtherwise) describeAnew(node);
}

void FunctionalGraph::takeCurrent(Node& node) {
  const CallMaker maker(node, node);
  Args args;
  for (const Argument& argument : node.args()) args.push_back(current(argument, maker));
  node.setArgs(args);
  std::vector<std::string> keys;
  for (const auto [key, value] : node.kwargs()) {
    if (value.isNode() || value.isSequence()) keys.emplace_back(key);
  }
  for (const std::string& key : keys) node.setKwarg(key, current(*node.findKwarg(key), maker));
}

// What is written may be laid out otherwise than where it was written.
void FunctionalGraph::describeAnew(Node& node) {
  if (!node.isCall() || node.target().kind() == TargetKind::HigherOrder) return;
  ValueRef value;
  try {
    value = inferValue(node);
  } catch (const UsageError&) {
    return;  // autocast makes the operands fit
  }
  if (!value || describeSame(value.get(), node.value())) return;
  node.setValue(std::move(value));
  redescribed_[node] = 1;
}

void FunctionalGraph::write(uint32_t shown, Node& value, const CallMaker& maker) {
  Memory& memory = memories_[shown_[shown].memory];
  if (memory.lockedBy != nullptr) {
    refuseNode(maker.madeFor(),
               fmt::format("operator '{}' writes memory of '%{}', {}", maker.madeFor().target().name(),
                           memory.lockedBy->name(), memory.locked));
  }
  const uint32_t written = memory.written + 1;
  if (written == 1) {
    memory.firstWrite = aboutNode(
        maker.madeFor(), fmt::format("operator '{}' writes in place", maker.madeFor().target().name()));
  }
  Node* made = &value;
  for (uint32_t at = shown; true;) {
    const uint32_t source = shown_[at].source;
    Node* above = nullptr;
    if (source != kNone) {
      above = &undoView(
          shown_[at].step, *shown_[source].origin, [&]() -> Node& { return currentValue(source, maker); },
          *made, maker);
    }
    shown_[at].value = made;
    shown_[at].written = written;
    if (source == kNone) break;
    made = above;
    at = source;
  }
  memory.written = written;
  checkSize(maker.madeFor());
}

void FunctionalGraph::checkSize(const Node& node) const {
  if (graph_.size() <= mostNodes_) return;
  refuseNode(node,
             fmt::format("without operators that work in place, the graph would have more than {} nodes",
                         mostNodes_));
}

}  // namespace edgefx::detail
