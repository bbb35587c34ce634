#include "ir/graph_builder.h"

#include "ir/graph_edges.h"
#include "ir/name_table.h"
#include "ir/storage.h"
#include "support/fail.h"

#include <algorithm>
#include <utility>

namespace edgefx::detail {
namespace {

constexpr std::string_view kOutput = "output";

}  // namespace

GraphBuilder::GraphBuilder(Graph& graph)
    : graph_(graph), writer_(graph, graph.storage_->arena, graph.storage_->text, graph.symbolics_) {}

void GraphBuilder::expectName(std::string_view name) {
  if (!name.empty()) graph_.names().prefetch(name);
}

void GraphBuilder::reserve(size_t nodes) {
  graph_.storage_->nodes.reserve(static_cast<uint32_t>(graph_.nextId_ + nodes));
  graph_.edges_.reserve(graph_.edges_.size() + nodes + nodes / 2);
}

void GraphBuilder::reserve(std::span<Node* const> copied, std::span<Node* const> placeholders,
                           size_t results) {
  size_t textBytes = kOutput.size(), arguments = results + 1;
  size_t edges = blockSize(blockClassOf(static_cast<uint32_t>(results)));
  for (const Node* node : placeholders) textBytes += node->nameLength_;
  for (const Node* node : copied) {
    textBytes += node->nameLength_ + (node->isCall() ? 0 : node->targetLength_);
    edges += blockSize(blockClassOf(node->numInputs_));
    const size_t count = node->numArgs_ + 2 * size_t{node->numKwargs_};
    arguments += count;
    for (size_t i = 0; i < count; ++i) {
      const Argument& argument = node->arguments_[i];
      textBytes += ArgumentWriter::textSize(argument);
      if (ArgumentWriter::hasChildren(argument)) arguments += ArgumentWriter::children(argument).size();
    }
  }
  const auto nodes = static_cast<uint32_t>(graph_.nextId_ + copied.size() + placeholders.size() + 1);
  const size_t argumentBytes = arguments * sizeof(Argument);
  std::byte* const memory = graph_.storage_->nodes.reserveWith(nodes, argumentBytes);
  if (memory != nullptr) {
    graph_.storage_->arena.borrow(memory, argumentBytes);
  } else {
    graph_.storage_->arena.reserve(argumentBytes);
  }
  graph_.edges_.reserve(graph_.edges_.size() + edges);
  graph_.storage_->text.reserve(textBytes);
}

std::string_view GraphBuilder::storeText(std::string_view text) {
  return graph_.storage_->text.store(text);
}

Node& GraphBuilder::append(NodeOp op, std::string_view targetText, std::string_view candidate) {
  Node& node = graph_.allocateNode(op);
  graph_.giveUniqueName(node, candidate);
  std::string_view stored = targetText == node.name() ? node.name() : graph_.storage_->text.store(targetText);
  node.target_.text = stored.data();
  node.targetLength_ = static_cast<uint32_t>(stored.size());
  graph_.linkBetween(node, *graph_.root_->prev_, *graph_.root_);
  return node;
}

Node& GraphBuilder::append(Target target, std::string_view candidate) {
  Node& node = graph_.allocateNode(NodeOp::CallFunction);
  graph_.giveUniqueName(node, candidate);
  node.target_.info = target.info_;
  graph_.linkBetween(node, *graph_.root_->prev_, *graph_.root_);
  return node;
}

void GraphBuilder::finish(Node& node, Argument* arguments, size_t numArgs, size_t numKwargs) {
  node.arguments_ = arguments;
  node.numArgs_ = static_cast<uint32_t>(numArgs);
  node.numKwargs_ = static_cast<uint32_t>(numKwargs);
  graph_.linkInputs(node, arguments, numArgs + 2 * numKwargs);
}

Node& GraphBuilder::appendNamedAs(const Node& from, NodeOp op) {
  Node& node = graph_.allocateNode(op);
  graph_.outdateNames();
  graph_.setStoredName(node, graph_.storage_->text.store(from.name()), from.nameHash_);
  node.value_ = from.value_;
  node.meta_ = from.meta_;
  graph_.linkBetween(node, *graph_.root_->prev_, *graph_.root_);
  return node;
}

Node& GraphBuilder::copy(const Node& from, std::span<Node* const> mapped) {
  Node& node = appendNamedAs(from, from.op_);
  if (from.isCall()) {
    node.target_.info = from.target_.info;
  } else {
    const std::string_view text = from.targetText();
    const std::string_view stored = text == node.name() ? node.name() : graph_.storage_->text.store(text);
    node.target_.text = stored.data();
    node.targetLength_ = static_cast<uint32_t>(stored.size());
  }
  const size_t count = from.numArgs_ + 2 * size_t{from.numKwargs_};
  node.arguments_ = writer_.copyMapped(from.arguments_, count, mapped);
  node.numArgs_ = from.numArgs_;
  node.numKwargs_ = from.numKwargs_;
  copyEdges(node, from, mapped);
  return node;
}

// Links a new node to what `from` uses, in its order, which spares looking through the arguments.
void GraphBuilder::copyEdges(Node& node, const Node& from, std::span<Node* const> mapped) {
  std::vector<Edge>& edges = graph_.edges_;
  const auto first = static_cast<uint32_t>(edges.size());
  const uint8_t blockClass = blockClassOf(from.numInputs_);
  if (first + size_t{blockSize(blockClass)} > kMostEdges) {
    fail<UnsupportedError>("a graph holds at most {} uses", kMostEdges);
  }
  const Edge* const uses = from.graph_->edges_.data() + from.firstInput_;
  for (uint32_t i = 0; i < from.numInputs_; ++i) {
    Node& used = *mapped[uses[i].used];
    edges.push_back({used.id_, node.id_, Node::kNoEdge, Node::kNoEdge});
    graph_.linkEdge(first + i, used);
  }
  edges.resize(first + size_t{blockSize(blockClass)});
  node.firstInput_ = first;
  node.numInputs_ = from.numInputs_;
  node.inputBlock_ = blockClass;
  graph_.liveEdges_ += from.numInputs_;
}

Node& GraphBuilder::placeholderFor(const Node& from) {
  Node& node = appendNamedAs(from, NodeOp::Placeholder);
  node.meta_ = nullptr;
  node.target_.text = node.name_;
  node.targetLength_ = node.nameLength_;
  return node;
}

Node& GraphBuilder::outputOf(ArgumentKind kind, std::span<Node* const> results) {
  Node& node = graph_.allocateNode(NodeOp::Output);
  const std::string_view name = graph_.storage_->text.store(kOutput);
  const uint32_t hash = NameTable::hashOf(name);
  const auto hasName = [&](const Node& other) { return other.nameHash_ == hash && other.name() == name; };
  const auto nodes = std::as_const(graph_).nodes();
  if (std::any_of(nodes.begin(), nodes.end(), hasName)) {
    graph_.giveUniqueName(node, name);
  } else {
    graph_.outdateNames();
    graph_.setStoredName(node, name, hash);  // spares making the table of names
  }
  node.target_.text = name.data();
  node.targetLength_ = static_cast<uint32_t>(name.size());
  graph_.linkBetween(node, *graph_.root_->prev_, *graph_.root_);
  Argument* const items = writer_.allocate(results.size());
  for (size_t i = 0; i < results.size(); ++i) items[i] = ArgumentWriter::makeNode(*results[i]);
  Argument* const list = writer_.allocate(1);
  *list = ArgumentWriter::makeItems(kind, items, results.size());
  finish(node, list, 1, 0);
  return node;
}

void GraphBuilder::setOrder(std::span<Node* const> order) {
  graph_.outdateNames();
  Node* last = graph_.root_;
  for (Node* node : order) {
    last->next_ = node;
    node->prev_ = last;
    last = node;
  }
  last->next_ = graph_.root_;
  graph_.root_->prev_ = last;
  graph_.relabelAll();

  for (Node* node : order) {
    node->firstUser_ = node->lastUser_ = Node::kNoEdge;
    for (uint32_t i = node->firstInput_; i < node->firstInput_ + node->numInputs_; ++i) {
      Edge& edge = graph_.edges_[i];
      Node& used = graph_.nodeById(edge.used);
      edge.prev = used.lastUser_;
      edge.next = Node::kNoEdge;
      (edge.prev == Node::kNoEdge ? used.firstUser_ : graph_.edges_[edge.prev].next) = i;
      used.lastUser_ = i;
    }
  }
}

void GraphBuilder::erase(Node& node) {
  graph_.bury(node);
}

void GraphBuilder::forgetErasedNames() {
  if (graph_.namesFresh_) return;
  graph_.names_.reset();
  graph_.namesReady_.store(false, std::memory_order_release);
}

}  // namespace edgefx::detail
