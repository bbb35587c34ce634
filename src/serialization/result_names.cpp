#include "serialization/result_names.h"

#include "support/fail.h"

namespace edgefx::detail {

bool ResultNames::isGetitem(const Node& node) {
  static const Target kGetitem("operator.getitem");
  return node.isCall(kGetitem);
}

ResultNames::ResultNames(const Graph& graph, std::string_view path) : firstSlot_(graph), slots_(1) {
  for (const Node& node : graph.nodes()) {
    if (isGetitem(node)) {
      try {
        addGetitem(node);
      } catch (Error& error) {
        Diagnostic known;
        known.graph = path;
        known.node = node.name();
        known.nodeText = node.text();
        error.fillIn(known);
        throw;
      }
    }
    if (node.value() == nullptr || firstSlot_[node] != 0) continue;
    if (const auto* results = node.value()->sequence()) {
      firstSlot_[node] = static_cast<uint32_t>(slots_.size());
      slots_.resize(slots_.size() + results->elements.size());
    }
  }
}

void ResultNames::addGetitem(const Node& node) {
  const Argument* indexed = node.findArg(0);
  const Argument* index = node.findArg(1);
  const Node* producer = indexed != nullptr ? indexed->findNode() : nullptr;
  if (producer == nullptr || index == nullptr || !index->isInt()) {
    fail<UnsupportedError>("expected getitem of a node and a number");
  }
  const auto* results = producer->value() != nullptr ? producer->value()->sequence() : nullptr;
  uint32_t first = firstSlot_[*producer];
  if (results == nullptr || first == 0) {
    fail<UnsupportedError>("expected a value with several results in '%{}', found {}", producer->name(),
                           producer->value() != nullptr ? producer->value()->text() : "none");
  }
  auto count = static_cast<int64_t>(results->elements.size());
  int64_t i = index->asInt() < 0 ? index->asInt() + count : index->asInt();
  if (i < 0 || i >= count) {
    fail<UnsupportedError>("result {} of '%{}' is read, which has {}", index->asInt(), producer->name(),
                           count);
  }
  const Node*& slot = slots_[first + static_cast<size_t>(i)];
  if (slot == nullptr) {
    slot = &node;
    return;
  }
  renamed_.emplace(node.name(), slot->name());
  firstSlot_[node] = firstSlot_[*slot];
}

const Node* ResultNames::getitem(const Node& node, size_t i) const {
  return slots_[firstSlot_[node] + i];
}

}  // namespace edgefx::detail
