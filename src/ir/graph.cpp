#include <edgefx/ir/fx_text.h>
#include <edgefx/ir/graph.h>

#include "ir/argument_writer.h"
#include "ir/name_table.h"
#include "ir/snake_case.h"
#include "ir/storage.h"
#include "support/fail.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <limits>

namespace edgefx {

using detail::Edge;
using detail::fail;

namespace {

// Distance between the order keys of neighbours that were appended.
constexpr uint64_t kOrderGap = uint64_t{1} << 32;

// What FX makes of a target given as text before it is made unique.
std::string nameCandidate(std::string_view target) {
  if (target.size() >= 4 && target.starts_with("__") && target.ends_with("__")) {
    target = target.substr(2, target.size() - 4);
  }
  return detail::snakeCase(target);
}

}  // namespace

Graph::Graph() : storage_(std::make_unique<detail::GraphStorage>()), root_(&storage_->root) {
  freeBlocks_.fill(Node::kNoEdge);
  root_->graph_ = this;
  root_->id_ = Node::kSentinel;
  root_->prev_ = root_->next_ = root_;
}

Graph::~Graph() {
  for (uint32_t id = 0; id < nextId_; ++id) storage_->nodes.at(id)->~Node();
}

Node* Graph::front() {
  return root_->next();
}
Node* Graph::back() {
  return root_->prev();
}

Node& Graph::outputNode() {
  Node* last = back();
  if (last == nullptr) fail<VerificationError>("the graph is empty: it has no output node");
  if (!last->isOutput()) {
    fail<VerificationError>("the last node must be the output, found {} '%{}'", edgefx::name(last->op()),
                            last->name());
  }
  return *last;
}

std::vector<Node*> Graph::placeholders() {
  std::vector<Node*> found;
  for (Node& node : nodes()) {
    if (node.isPlaceholder()) found.push_back(&node);
  }
  return found;
}

std::vector<const Node*> Graph::placeholders() const {
  std::vector<const Node*> found;
  for (const Node& node : nodes()) {
    if (node.isPlaceholder()) found.push_back(&node);
  }
  return found;
}

detail::NameTable& Graph::names() const {
  if (!namesReady_.load(std::memory_order_acquire)) {
    std::lock_guard lock(namesMutex_);
    if (!namesReady_.load(std::memory_order_relaxed)) {
      if (names_ != nullptr) {
        names_ = std::make_shared<detail::NameTable>(*names_, storage_->nodes);
      } else {
        auto made = std::make_shared<detail::NameTable>(storage_->nodes);
        made->reserve(liveNodes_);
        for (const Node& node : nodes()) made->add(node);
        names_ = std::move(made);
        namesFresh_ = true;
      }
      namesReady_.store(true, std::memory_order_release);
    }
  }
  return *names_;
}

// The table to change: clones may hold the one at hand.
detail::NameTable& Graph::ownNames() {
  detail::NameTable& table = names();
  if (names_.use_count() == 1) {
    std::atomic_thread_fence(std::memory_order_acquire);  // after what the clones read
    return table;
  }
  names_ = std::make_shared<detail::NameTable>(table, storage_->nodes);
  return *names_;
}

// To be called when the nodes change other than by a new one at the end: names that were taken stay so in
// this graph, but clones start anew.
void Graph::outdateNames() {
  namesFresh_ = false;
  if (!namesReady_.load(std::memory_order_relaxed)) names_.reset();
}

Node* Graph::find(std::string_view name) {
  uint32_t id = names().find(name);
  if (id == detail::NameTable::kNone) return nullptr;
  Node& node = nodeById(id);
  return node.erased_ ? nullptr : &node;
}

std::string Graph::uniqueName(std::string_view candidate) const {
  detail::NameTable& table = names();
  std::lock_guard lock(namesMutex_);
  return std::string(table.unique(candidate));
}

void Graph::giveUniqueName(Node& node, std::string_view candidate) {
  const auto [name, hash] = ownNames().reserve(candidate, node, storage_->text);
  setStoredName(node, name, hash);
}

void Graph::setStoredName(Node& node, std::string_view stored, uint32_t hash) {
  node.name_ = stored.data();
  node.nameLength_ = static_cast<uint32_t>(stored.size());
  node.nameHash_ = hash;
}

Node& Graph::allocateNode(NodeOp op) {
  if (nextId_ >= (uint32_t{1} << 31) - 1) fail<UnsupportedError>("a graph holds at most 2^31 - 1 nodes");
  storage_->nodes.reserve(nextId_ + 1);
  Node* node = new (storage_->nodes.at(nextId_)) Node();
  node->graph_ = this;
  node->id_ = nextId_++;
  node->op_ = op;
  return *node;
}

void Graph::setInsertionPoint(InsertionPoint point) {
  if (point.anchor != nullptr && &point.anchor->graph() != this) {
    fail<UsageError>("insertion point '%{}' is a node of another graph", point.anchor->name());
  }
  insertionPoint_ = point;
}

void Graph::linkAtInsertionPoint(Node& node) {
  Node* anchor = insertionPoint_.anchor;
  if (anchor == nullptr) {
    linkBetween(node, *root_->prev_, *root_);
  } else if (insertionPoint_.after) {
    Node* prev = anchor;
    while (prev->erased_) prev = prev->prev_;
    if (anchor != prev) anchor->prev_ = prev;  // shortens the way for the next one
    linkBetween(node, *prev, *prev->next_);
  } else {
    Node* next = anchor;
    while (next->erased_) next = next->next_;
    if (anchor != next) anchor->next_ = next;
    linkBetween(node, *next->prev_, *next);
  }
}

void Graph::linkBetween(Node& node, Node& prev, Node& next) {
  node.prev_ = &prev;
  node.next_ = &next;
  prev.next_ = &node;
  next.prev_ = &node;
  ++liveNodes_;
  if (&next == root_) {
    if (prev.order_ > std::numeric_limits<uint64_t>::max() - kOrderGap) relabelAll();
    node.order_ = prev.order_ + kOrderGap;
    return;
  }
  outdateNames();
  node.order_ = prev.order_ + (next.order_ - prev.order_) / 2;
  if (node.order_ == prev.order_) relabelAround(node);
}

// Spreads the order keys of the smallest aligned key range around `node` that is sparse enough; the allowed
// density falls with the range's size, which makes insertions O(log n) amortised (Bender et al., "Two
// simplified algorithms for maintaining order in a list").
void Graph::relabelAround(Node& node) {
  Node* low = &node;
  Node* high = &node;
  uint64_t count = 1;
  double allowed = 1;
  for (int bits = 1; bits < 63; ++bits) {
    uint64_t mask = (uint64_t{1} << bits) - 1;
    uint64_t first = node.order_ & ~mask, last = node.order_ | mask;
    for (; low->prev_ != root_ && low->prev_->order_ >= first; low = low->prev_) ++count;
    for (; high->next_ != root_ && high->next_->order_ <= last; high = high->next_) ++count;
    allowed *= 1.4;
    // Keys start above the sentinel's 0, and neighbours need room between them.
    uint64_t step = mask / (count + 1);
    if (static_cast<double>(count) < allowed && step >= 2) {
      uint64_t order = first;
      for (Node* at = low;; at = at->next_) {
        at->order_ = order += step;
        if (at == high) return;
      }
    }
  }
}

// Gives all keys the distances they have in a new graph.
void Graph::relabelAll() {
  uint64_t order = 0;
  for (Node* at = root_->next_; at != root_; at = at->next_) at->order_ = order += kOrderGap;
}

void Graph::unlink(Node& node) {
  node.prev_->next_ = node.next_;
  node.next_->prev_ = node.prev_;
  --liveNodes_;
  outdateNames();
}

// Null keeps the args or kwargs that the node has.
void Graph::storeArguments(Node& node, const Args* args, const Kwargs* kwargs) {
  const size_t numArgs = args != nullptr ? args->size() : node.numArgs_;
  const size_t numKwargs = kwargs != nullptr ? kwargs->size() : node.numKwargs_;
  const size_t count = numArgs + 2 * numKwargs;
  const bool fits =
      count <= std::max<size_t>(node.argumentRoom_, node.numArgs_ + 2 * size_t{node.numKwargs_});
  // Written aside if it fits: an Arg may borrow from the very array that is replaced.
  std::vector<Argument> aside(fits ? count : 0);
  Argument* const fresh = fits ? aside.data() : storage_->arena.allocate<Argument>(count);

  ArgumentWriter writer(*this, storage_->arena, storage_->text, symbolics_);
  Argument* at = fresh;
  if (args != nullptr) {
    for (const Arg& arg : *args) *at++ = writer.write(arg);
  } else {
    at = std::copy_n(node.arguments_, numArgs, at);
  }
  if (kwargs != nullptr) {
    for (const auto& [key, value] : *kwargs) {
      for (const Argument* other = fresh + numArgs; other != at; other += 2) {
        if (other->textView() == key) fail<UsageError>("keyword argument '{}' is given twice", key);
      }
      *at++ = writer.key(key);
      *at++ = writer.write(value);
    }
  } else {
    std::copy_n(node.arguments_ + node.numArgs_, 2 * numKwargs, at);
  }

  linkInputs(node, fresh, count);
  if (fits) {
    std::copy_n(fresh, count, node.arguments_);
  } else {
    node.arguments_ = fresh;
    node.argumentRoom_ = static_cast<uint8_t>(std::min<size_t>(count, 255));
  }
  node.numArgs_ = static_cast<uint32_t>(numArgs);
  node.numKwargs_ = static_cast<uint32_t>(numKwargs);
}

void Graph::storeArgument(Node& node, Argument& slot, const Arg& value) {
  ArgumentWriter writer(*this, storage_->arena, storage_->text, symbolics_);
  const Argument written = writer.write(value);
  const Argument old = std::exchange(slot, written);
  try {
    linkInputs(node, node.arguments_, node.numArgs_ + 2 * size_t{node.numKwargs_});
  } catch (...) {
    slot = old;
    throw;
  }
}

Node& Graph::create(NodeOp op, std::string_view target, const Args& args, const Kwargs& kwargs,
                    std::string_view name, const Target* function) {
  Node& node = allocateNode(op);
  try {
    storeArguments(node, &args, &kwargs);
    if (!name.empty()) {
      giveUniqueName(node, name);
    } else if (function != nullptr) {
      giveUniqueName(node, function->nameCandidate());
    } else {
      giveUniqueName(node, nameCandidate(target));
    }
    if (function != nullptr) {
      node.target_.info = function->info_;
    } else {
      std::string_view stored = target == node.name() ? node.name() : storage_->text.store(target);
      node.target_.text = stored.data();
      node.targetLength_ = static_cast<uint32_t>(stored.size());
    }
  } catch (...) {
    outdateNames();
    unlinkInputs(node);
    freeBlock(node);
    node.erased_ = true;
    node.prev_ = node.next_ = root_;
    throw;
  }
  linkAtInsertionPoint(node);
  return node;
}

Node& Graph::placeholder(std::string_view target, std::string_view name) {
  return create(NodeOp::Placeholder, target, {}, {}, name, nullptr);
}

Node& Graph::placeholderWithDefault(std::string_view target, const Arg& defaultValue, std::string_view name) {
  return create(NodeOp::Placeholder, target, {defaultValue}, {}, name, nullptr);
}

Node& Graph::getAttr(std::string_view target, std::string_view name) {
  return create(NodeOp::GetAttr, target, {}, {}, name, nullptr);
}

Node& Graph::call(Target target, const Args& args, const Kwargs& kwargs, std::string_view name) {
  return create(NodeOp::CallFunction, {}, args, kwargs, name, &target);
}

Node& Graph::callModule(std::string_view target, const Args& args, const Kwargs& kwargs,
                        std::string_view name) {
  return create(NodeOp::CallModule, target, args, kwargs, name, nullptr);
}

Node& Graph::output(const Arg& value) {
  return create(NodeOp::Output, "output", {value}, {}, {}, nullptr);
}

void Graph::erase(Node& node) {
  if (&node.graph() != this)
    fail<UsageError>("cannot erase '%{}': it is a node of another graph", node.name());
  if (node.erased_) fail<UsageError>("cannot erase '%{}': it is erased already", node.name());
  if (node.numUsers_ != 0) {
    constexpr size_t kMostShown = 10;
    std::string users;
    size_t shown = 0;
    for (const Node& user : std::as_const(node).users()) {
      if (shown++ == kMostShown) break;
      users += fmt::format("{}'%{}'", shown == 1 ? "" : ", ", user.name());
    }
    if (node.numUsers_ > kMostShown) users += fmt::format(" and {} more", node.numUsers_ - kMostShown);
    Diagnostic diagnostic(fmt::format("cannot erase a node in use: its users are {}", users));
    diagnostic.node = node.name();
    diagnostic.nodeText = node.text();
    throw UsageError(std::move(diagnostic));
  }
  ownNames().keepReserved(node);
  bury(node);
}

// Leaves a tombstone of a node without users.
void Graph::bury(Node& node) {
  unlinkInputs(node);
  freeBlock(node);
  node.arguments_ = nullptr;
  node.argumentRoom_ = 0;
  node.numArgs_ = node.numKwargs_ = 0;
  unlink(node);
  node.value_ = nullptr;
  node.meta_ = nullptr;
  node.erased_ = true;
}

void Graph::checkUsable(const Node& node) const {
  if (&node.graph() != this) fail<UsageError>("'%{}' is a node of another graph", node.name());
  if (node.erased_) fail<UsageError>("'%{}' is an erased node", node.name());
}

void Graph::dump() const {
  std::fprintf(stderr, "%s\n", fxText(*this).c_str());
}

size_t Graph::memoryUsage() const {
  size_t names = namesReady_.load(std::memory_order_acquire) ? names_->bytes() : 0;
  return sizeof(*this) + storage_->nodes.bytes() + edges_.capacity() * sizeof(Edge) +
         storage_->arena.capacity() + storage_->text.capacity() + names;
}

std::unique_ptr<Graph> Graph::clone() const {
  auto copy = std::make_unique<Graph>();
  copy->storage_->nodes.reserve(nextId_);
  copy->storage_->arena.reserve(storage_->arena.used());
  copy->storage_->text.share(storage_->text);
  copy->symbolics_ = symbolics_;
  {
    std::lock_guard lock(namesMutex_);
    if (namesFresh_) copy->names_ = names_;
  }
  // Ids are kept, so edges are right as they are.
  copy->edges_.reserve(edges_.size() + edges_.size() / 16 + 16);  // for the first edits not to move them all
  copy->edges_ = edges_;
  copy->freeBlocks_ = freeBlocks_;
  copy->liveEdges_ = liveEdges_;
  if (liveNodes_ != nextId_) {
    for (uint32_t id = 0; id < nextId_; ++id) {
      if (!nodeById(id).erased_) continue;
      Node* tombstone = new (copy->storage_->nodes.at(id)) Node();
      tombstone->graph_ = copy.get();
      tombstone->prev_ = tombstone->next_ = copy->root_;
      tombstone->id_ = id;
      tombstone->erased_ = true;
    }
  }
  Node* last = copy->root_;
  for (const Node* from = root_->next_; from != root_; from = from->next_) {
    Node* to = new (copy->storage_->nodes.at(from->id_)) Node();
    to->graph_ = copy.get();
    to->prev_ = last;
    last->next_ = to;
    to->order_ = last->order_ + kOrderGap;
    to->name_ = from->name_;
    to->nameLength_ = from->nameLength_;
    to->nameHash_ = from->nameHash_;
    to->target_ = from->target_;
    to->targetLength_ = from->targetLength_;
    to->arguments_ = ArgumentWriter::relocate(from->arguments_, from->numArgs_ + 2 * size_t{from->numKwargs_},
                                              copy->storage_->arena, copy->storage_->nodes);
    to->numArgs_ = from->numArgs_;
    to->numKwargs_ = from->numKwargs_;
    to->firstInput_ = from->firstInput_;
    to->numInputs_ = from->numInputs_;
    to->inputBlock_ = from->inputBlock_;
    to->firstUser_ = from->firstUser_;
    to->lastUser_ = from->lastUser_;
    to->numUsers_ = from->numUsers_;
    to->value_ = from->value_;
    to->meta_ = from->meta_;
    to->id_ = from->id_;
    to->op_ = from->op_;
    last = to;
  }
  last->next_ = copy->root_;
  copy->root_->prev_ = last;
  copy->nextId_ = nextId_;
  copy->liveNodes_ = liveNodes_;
  // Only the anchor of a live node has a counterpart.
  if (insertionPoint_.anchor != nullptr && !insertionPoint_.anchor->erased_ &&
      insertionPoint_.anchor != root_) {
    copy->insertionPoint_ = {&copy->nodeById(insertionPoint_.anchor->id_), insertionPoint_.after};
  }
  if (copy->edges_.size() / 4 > copy->liveEdges_) copy->compactEdges();
  return copy;
}

}  // namespace edgefx
