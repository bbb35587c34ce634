#include <edgefx/program/tensor_table.h>

#include "layout.h"
#include "weights.h"

#include <ATen/core/Tensor.h>

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace nhwc {

using namespace edgefx;

namespace {

[[noreturn]] void refuse(const Node& node, std::string message) {
  throw LoweringError(nodeFault(node, std::string(node.target().name()) + ": " + std::move(message)));
}

void checkConvolution(const Node& node, const Weights& weights) {
  if (node.arg(6).asBool())
    refuse(node, "expected transposed = False, found True: nhwc.conv2d has no form for it");
  const Node* const weight = node.arg(1).findNode();
  if (weights.find(weight) != nullptr) return;
  refuse(node, "expected a weight that is stored and never written, found " +
                   (weight == nullptr ? std::string("no node") : "%" + std::string(weight->name())));
}

// Height and width; one number stands for both, none for `otherwise`.
Arg pairOf(const Node& node, size_t place, Arg otherwise) {
  const Argument* const given = node.findArg(place);
  if (given == nullptr || (given->isSequence() && given->items().empty())) return otherwise;
  const Argument* const first = given->isSequence() ? &given->items().front() : given;
  const Argument* const last = given->isSequence() ? &given->items().back() : given;
  if (!first->isInt() || !last->isInt()) refuse(node, "expected numbers, found a size that is not known yet");
  return Arg::list({first->asInt(), last->asInt()});
}

void checkPooling(const Node& node) {
  const Argument* const ceils = node.findArg(5);
  if (ceils != nullptr && ceils->asBool())
    refuse(node, "expected ceil_mode = False, found True: nhwc.max_pool2d has no form for it");
  for (const Node& user : node.users()) {
    if (getitemIndex(user) != 0)
      refuse(node, "expected that only its first result is read, found %" + std::string(user.name()) +
                       ", which reads the indices");
  }
}

class Inserter {
 public:
  Inserter(ExportedProgram& program, bool skipDimOrder)
      : program_(program), skipDimOrder_(skipDimOrder), rewriter_(program, &shapes_) {
    addOwnShapeRules(shapes_);
  }

  bool run() {
    claim();
    if (claimed_.empty()) return false;
    packWeights();
    for (Node* node : claimed_) {
      InsertionGuard guard(program_.graph(), before(*node));
      if (isImageConvolution(*node)) {
        replaceConvolution(*node);
      } else {
        replacePooling(*node);
      }
    }
    rewriter_.eraseDeadNodes();
    return true;
  }

 private:
  // Before anything changes: what cannot be lowered is refused.
  void claim() {
    const Weights weights(program_);
    for (Node& node : program_.graph().nodes()) {
      if (isImageConvolution(node)) {
        checkConvolution(node, weights);
        const Node* const weight = node.arg(1).findNode();
        if (placeOf_.emplace(weight, toPack_.size()).second) {
          toPack_.emplace_back(std::string(weight->name()) + "_nhwc",
                               weights.find(weight)->permute({0, 2, 3, 1}).contiguous());
        }
      } else if (isImagePooling(node)) {
        checkPooling(node);
      } else {
        continue;
      }
      claimed_.push_back(&node);
    }
  }

  // Each once, however many convolutions read it.
  void packWeights() {
    if (!toPack_.empty()) packed_ = rewriter_.addConstants(std::move(toPack_));
  }

  void replaceConvolution(Node& node) {
    Node& packed = *packed_[placeOf_.at(node.arg(1).findNode())];
    Node& call = rewriter_.call(
        operatorIn(program_, "nhwc.conv2d.default"),
        {entry(node), packed, node.arg(2), node.arg(3), node.arg(4), node.arg(5), node.arg(8)});
    replace(node, call);
  }

  void replacePooling(Node& node) {
    const Arg ones = Arg::list({1, 1}), zeros = Arg::list({0, 0});
    const Arg kernel = pairOf(node, 1, ones);
    Node& call = rewriter_.call(
        operatorIn(program_, "nhwc.max_pool2d.default"),
        {entry(node), kernel, pairOf(node, 2, kernel), pairOf(node, 3, zeros), pairOf(node, 4, ones)});
    for (Node* result : getitemUsers(node)) replace(*result, call, &node);
  }

  // What the node reads, channels last: one permute for all its readers.
  Node& entry(const Node& node) {
    Node& input = node.arg(0).asNode();
    Node*& known = entries_[&input];
    if (known == nullptr) known = &rewriter_.call(operatorIn(program_, kPermute), {input, toNhwc()});
    return *known;
  }

  void replace(Node& old, Node& made, const Node* other = nullptr) {
    const TensorMeta* const value = tensorMetaOf(old);
    if (made.value() == nullptr && value != nullptr) {  // of symbolic sizes
      const std::vector<SymInt>& n = value->sizes;
      made.setValue(ValueMeta::of(contiguousTensor(value->dtype, {n[0], n[2], n[3], n[1]})));
    }
    Node* result = &rewriter_.call(operatorIn(program_, kPermute), {made, toNchw()});
    if (value != nullptr && isChannelsLast(*value)) result = &withChannelsLastStrides(*result);
    if (other == nullptr) {
      rewriter_.replace(old, *result);
    } else {
      rewriter_.replace(old, *result, {other});
    }
  }

  Node& withChannelsLastStrides(Node& node) {
    if (skipDimOrder_ || program_.dialect != Dialect::Edge) {
      return rewriter_.call(operatorIn(program_, "aten.clone.default"), {node},
                            {{"memory_format", MemoryFormat::ChannelsLast}});
    }
    return rewriter_.call(operatorIn(program_, "dim_order_ops._clone_dim_order.default"), {node},
                          {{"dim_order", toNhwc()}});
  }

  ExportedProgram& program_;
  const bool skipDimOrder_;
  ShapeRules shapes_;
  ProgramRewriter rewriter_;
  std::vector<Node*> claimed_;
  std::vector<std::pair<std::string, at::Tensor>> toPack_;
  std::unordered_map<const Node*, size_t> placeOf_;  // place among the packed, by weight
  std::vector<Node*> packed_;
  std::unordered_map<const Node*, Node*> entries_;
};

}  // namespace

bool insertPermutes(ExportedProgram& program, bool skipDimOrder) {
  return Inserter(program, skipDimOrder).run();
}

}  // namespace nhwc
