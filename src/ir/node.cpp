#include <edgefx/ir/fx_text.h>
#include <edgefx/ir/graph.h>
#include <edgefx/ir/node.h>

#include "ir/argument_writer.h"
#include "ir/name_table.h"
#include "support/fail.h"

#include <cstdio>

namespace edgefx {

using detail::fail;

std::string_view name(NodeOp op) {
  static constexpr std::string_view kNames[] = {"placeholder", "get_attr", "call_function", "call_module",
                                                "output"};
  return kNames[static_cast<size_t>(op)];
}

void Node::noTarget() const {
  fail<UsageError>("'%{}' is a {} node: only call_function nodes call a target", name(), edgefx::name(op_));
}

const Argument& Node::arg(size_t i) const {
  if (i >= numArgs_) {
    Diagnostic diagnostic(fmt::format("positional argument {} asked for, there are {}", i, numArgs_));
    diagnostic.node = name();
    diagnostic.nodeText = text();
    throw UsageError(std::move(diagnostic));
  }
  return arguments_[i];
}

NodeLinks<Node> Node::inputs() {
  return {graph_->edges_, graph_->storage_->nodes, firstInput_, firstInput_ + numInputs_, numInputs_, false};
}
NodeLinks<const Node> Node::inputs() const {
  return {graph_->edges_, graph_->storage_->nodes, firstInput_, firstInput_ + numInputs_, numInputs_, false};
}
NodeLinks<Node> Node::users() {
  return {graph_->edges_, graph_->storage_->nodes, firstUser_, kNoEdge, numUsers_, true};
}
NodeLinks<const Node> Node::users() const {
  return {graph_->edges_, graph_->storage_->nodes, firstUser_, kNoEdge, numUsers_, true};
}

std::vector<Node*> Node::usersSnapshot() {
  std::vector<Node*> snapshot;
  snapshot.reserve(numUsers_);
  for (uint32_t at = firstUser_; at != kNoEdge; at = graph_->edges_[at].next) {
    snapshot.push_back(&graph_->nodeById(graph_->edges_[at].user));
  }
  return snapshot;
}

const NodeMeta& Node::meta() const {
  static const NodeMeta& none = *new NodeMeta();
  return meta_ ? *meta_ : none;
}

void Node::setArgs(const Args& args) {
  graph_->checkUsable(*this);
  graph_->storeArguments(*this, &args, nullptr);
}

void Node::setKwargs(const Kwargs& kwargs) {
  graph_->checkUsable(*this);
  graph_->storeArguments(*this, nullptr, &kwargs);
}

void Node::setArg(size_t i, const Arg& value) {
  arg(i);
  graph_->checkUsable(*this);
  graph_->storeArgument(*this, arguments_[i], value);
}

void Node::setKwarg(std::string_view key, const Arg& value) {
  graph_->checkUsable(*this);
  for (size_t i = 0; i < numKwargs_; ++i) {
    Argument* pair = arguments_ + numArgs_ + 2 * i;
    if (pair[0].asString() != key) continue;
    graph_->storeArgument(*this, pair[1], value);
    return;
  }
  Kwargs extended;
  for (auto [oldKey, oldValue] : kwargs()) extended.emplace_back(oldKey, Arg(oldValue));
  extended.emplace_back(key, value);
  setKwargs(extended);
}

void Node::setTarget(Target target) {
  if (!isCall()) noTarget();
  target_.info = target.info_;
}

void Node::setTargetText(std::string_view text) {
  if (isCall() || isOutput()) {
    fail<UsageError>("'%{}' is a {} node: its target is no text", name(), edgefx::name(op_));
  }
  std::string_view stored = graph_->storage_->text.store(text);
  target_.text = stored.data();
  targetLength_ = static_cast<uint32_t>(stored.size());
}

bool Node::replaceInput(const Node& old, Node& replacement) {
  graph_->checkUsable(*this);
  graph_->checkUsable(replacement);
  bool found = false, isInput = false;
  const size_t count = numArgs_ + 2 * size_t{numKwargs_};
  ArgumentWriter::eachNode(arguments_, count, [&](Node*& leaf) {
    isInput = isInput || leaf == &replacement;
    if (leaf != &old) return;
    leaf = &replacement;
    found = true;
  });
  if (!found) return false;
  if (isInput) {
    graph_->linkInputs(*this, arguments_, count);
  } else {
    graph_->replaceEdge(*this, old, replacement);
  }
  return true;
}

std::vector<Node*> Node::replaceAllUsesWith(Node& replacement,
                                            const std::function<bool(const Node&)>& filter) {
  graph_->checkUsable(*this);
  graph_->checkUsable(replacement);
  std::vector<Node*> changed = usersSnapshot();
  if (filter) std::erase_if(changed, [&](const Node* user) { return !filter(*user); });
  for (Node* user : changed) user->replaceInput(*this, replacement);
  return changed;
}

void Node::moveBefore(Node& other) {
  graph_->checkUsable(*this);
  graph_->checkUsable(other);
  if (&other == this) return;
  graph_->unlink(*this);
  graph_->linkBetween(*this, *other.prev_, other);
}

void Node::moveAfter(Node& other) {
  graph_->checkUsable(*this);
  graph_->checkUsable(other);
  if (&other == this) return;
  graph_->unlink(*this);
  graph_->linkBetween(*this, other, *other.next_);
}

std::string_view Node::rename(std::string_view candidate) {
  graph_->checkUsable(*this);
  if (candidate == name()) return name();
  graph_->ownNames().keepReserved(*this);
  graph_->outdateNames();
  graph_->giveUniqueName(*this, candidate);
  return name();
}

void Node::setName(std::string_view name) {
  graph_->checkUsable(*this);
  if (name == this->name()) return;
  if (name.empty()) fail<UsageError>("a node's name must not be empty");
  graph_->ownNames().keepReserved(*this);
  graph_->outdateNames();
  graph_->setStoredName(*this, graph_->storage_->text.store(name), detail::NameTable::hashOf(name));
  graph_->ownNames().add(*this);
}

std::string Node::text() const {
  std::string out;
  appendFxText(out, *this);
  return out;
}

void Node::dump() const {
  std::fprintf(stderr, "%s\n", text().c_str());
}

}  // namespace edgefx
