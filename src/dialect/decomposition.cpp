#include "dialect/decomposition.h"

#include <edgefx/ir/node_queries.h>
#include <edgefx/ir/operators.h>

#include "ir/shape_layout.h"

#include <algorithm>
#include <numeric>

namespace edgefx::detail {
namespace {

// Rules of rules; a rule that makes its own operator would go on for ever.
constexpr int kMostNestedRules = 16;

const Target& getitemTarget() {
  static const Target target("operator.getitem");
  return target;
}

// "float32[2, 3]", without strides: these may differ from what the operator itself gives.
bool hasOtherForm(const ValueMeta* found, const ValueMeta* wanted) {
  const TensorMeta* const a = found == nullptr ? nullptr : found->tensor();
  const TensorMeta* const b = wanted == nullptr ? nullptr : wanted->tensor();
  if (a == nullptr || b == nullptr) return false;
  if (a->dtype != b->dtype || a->sizes.size() != b->sizes.size()) return true;
  for (size_t i = 0; i < a->sizes.size(); ++i) {
    if (!a->sizes[i].isSymbolic() && !b->sizes[i].isSymbolic() && a->sizes[i] != b->sizes[i]) return true;
  }
  return false;
}

}  // namespace

Node& GraphDecomposer::makeCall(Target target, const Args& args, const Kwargs& kwargs) {
  Node& node = graph_.call(target, args, kwargs);
  made_.push_back(&node);
  node.setMeta(root_->metaRef());
  node.setValue(inferValue(node, rules_.shapeRules()));
  return node;
}

void GraphDecomposer::eraseMadeSince(size_t count) {
  while (made_.size() > count) {
    if (!made_.back()->isErased()) graph_.erase(*made_.back());
    made_.pop_back();
  }
}

void GraphDecomposer::eraseUnused(const GraphModule& module) {
  for (size_t i = made_.size(); i-- > 0;) {
    Node& node = *made_[i];
    if (!node.isErased() && node.numUsers() == 0 && !isImpure(node, module)) graph_.erase(node);
  }
  made_.clear();
}

// Why a replacement is none for what the program says of the call; empty if it is one.
std::string GraphDecomposer::misfit(const Replacement& replacement, const Node& call) const {
  for (const Node* node : made_) {
    if (node->isErased() || node->value() != nullptr) continue;
    if (std::ranges::find(replacement.nodes, node) == replacement.nodes.end()) {
      return fmt::format("the value of '%{}' is not known", node->name());
    }
  }
  const ValueMeta* const value = call.value();
  const auto text = [](const ValueMeta* found) { return found == nullptr ? "nothing" : found->text(); };
  if (!replacement.isItems) {
    const ValueMeta* const found = replacement.nodes.front()->value();
    if (!hasOtherForm(found, value)) return {};
    return fmt::format("its recorded value is {}, its decomposition gives {}", text(value), text(found));
  }
  const ValueMeta::Sequence* const held = value == nullptr ? nullptr : value->sequence();
  for (size_t i = 0; held != nullptr && i < replacement.nodes.size() && i < held->elements.size(); ++i) {
    const Node* const item = replacement.nodes[i];
    if (item == nullptr || !hasOtherForm(item->value(), held->elements[i].get())) continue;
    return fmt::format("the recorded value of item {} is {}, its decomposition gives {}", i,
                       text(held->elements[i].get()), text(item->value()));
  }
  return {};
}

std::unique_ptr<Replacement> GraphDecomposer::apply(DecompositionRule rule, Node& call, std::string& reason) {
  const bool isOutermost = depth_ == 0;
  if (isOutermost) {
    root_ = &call;
    made_.clear();
    graph_.setInsertionPoint(before(call));
  }
  const size_t start = made_.size();
  struct Deeper {
    int& depth;
    explicit Deeper(int& d) : depth(d) { ++depth; }
    ~Deeper() { --depth; }
  } deeper(depth_);
  try {
    if (depth_ > kMostNestedRules) throw Declined{"its rule makes what it is made of"};
    Decomposition decomposition(*this, call);
    auto replacement = std::make_unique<Replacement>(rule(decomposition));
    if (isOutermost) reason = misfit(*replacement, call);
    if (reason.empty()) return replacement;
  } catch (const Declined& declined) {
    reason = declined.reason;
  } catch (const ShapeUnknown&) {
    reason = "an argument, or the shape of one, is not known";
  } catch (const ParseError& error) {
    reason = error.diagnostics().front().message;
  } catch (const UsageError& error) {
    reason = error.diagnostics().front().message;
  }
  eraseMadeSince(start);
  return nullptr;
}

Replacement GraphDecomposer::emit(Target target, const Args& args, const Kwargs& kwargs) {
  Node& node = makeCall(target, args, kwargs);
  const DecompositionRule rule = rules_.find(target);
  if (rule == nullptr) return node;
  std::string reason;
  const std::unique_ptr<Replacement> replacement = apply(rule, node, reason);
  if (replacement == nullptr) return node;
  graph_.erase(node);
  return std::move(*replacement);
}

Node& Decomposition::in(size_t i, std::string_view key) const {
  Node* const node = at(i, key).findNode();
  if (node == nullptr) decline(fmt::format("'{}' is no tensor", key));
  return *node;
}

Node* Decomposition::findIn(size_t i, std::string_view key) const {
  return find(i, key) == nullptr ? nullptr : &in(i, key);
}

std::vector<Node*> Decomposition::list(size_t i, std::string_view key) {
  const Argument& items = at(i, key);
  std::vector<Node*> nodes;
  if (Node* const node = items.findNode()) {
    const ValueMeta::Sequence* const held = node->value() == nullptr ? nullptr : node->value()->sequence();
    if (held == nullptr) throw ShapeUnknown();
    for (size_t k = 0; k < held->elements.size(); ++k) {
      nodes.push_back(&decomposer_.makeCall(getitemTarget(), {*node, k}, {}));
    }
    return nodes;
  }
  need(items.isSequence(), "a list of tensors was expected");
  for (const Argument& item : items.items()) {
    need(item.isNode(), "a list of tensors was expected");
    nodes.push_back(&item.asNode());
  }
  return nodes;
}

Arg Decomposition::argOr(size_t i, std::string_view key, Arg otherwise) const {
  const Argument* const found = find(i, key);
  return found == nullptr ? std::move(otherwise) : Arg(*found);
}

double Decomposition::number(size_t i, std::string_view key, double otherwise) const {
  const Argument* const found = find(i, key);
  if (found == nullptr) return otherwise;
  if (found->isInt()) return static_cast<double>(found->asInt());
  if (found->kind() == ArgumentKind::Bool) return found->asBool() ? 1 : 0;
  need(found->kind() == ArgumentKind::Float, "a number of the call is symbolic or complex");
  return found->asFloat();
}

Kwargs Decomposition::passed(std::initializer_list<std::string_view> keys) const {
  Kwargs kwargs;
  for (const std::string_view key : keys) {
    if (const Argument* found = find(kKeywordOnly, key)) kwargs.emplace_back(key, *found);
  }
  return kwargs;
}

Node& Decomposition::emit(std::string_view op, const Args& args, const Kwargs& kwargs) {
  const Replacement made = decomposer_.emit(Target("aten." + std::string(op)), args, kwargs);
  if (made.isItems) throw InternalError(Diagnostic(fmt::format("'{}' gives items", op)));
  return *made.nodes.front();
}

std::vector<Node*> Decomposition::emitItems(std::string_view op, const Args& args, const Kwargs& kwargs) {
  Replacement made = decomposer_.emit(Target("aten." + std::string(op)), args, kwargs);
  if (made.isItems) return std::move(made.nodes);
  Node& node = *made.nodes.front();
  const ValueMeta::Sequence* const held = node.value() == nullptr ? nullptr : node.value()->sequence();
  if (held == nullptr) throw ShapeUnknown();
  std::vector<Node*> items;
  const size_t count = held->elements.size();
  for (size_t i = 0; i < count; ++i) {
    items.push_back(&decomposer_.makeCall(getitemTarget(), {node, i}, {}));
  }
  return items;
}

Node& Decomposition::emitFirst(std::string_view op, const Args& args, const Kwargs& kwargs,
                               const ValueRef& value) {
  const Replacement made = decomposer_.emit(Target("aten." + std::string(op)), args, kwargs);
  if (made.isItems) return *made.nodes.front();
  if (made.nodes.front()->value() == nullptr) made.nodes.front()->setValue(value);
  return decomposer_.makeCall(getitemTarget(), {*made.nodes.front(), 0}, {});
}

const TensorMeta& Decomposition::meta(const Node& node) {
  const TensorMeta* const tensor = tensorMetaOf(node);
  if (tensor == nullptr || tensor->layout != Layout::Strided ||
      tensor->sizes.size() != tensor->strides.size()) {
    decline(fmt::format("the value of '%{}' is not known", node.name()));
  }
  return *tensor;
}

int64_t Decomposition::known(const SymInt& size) {
  if (size.isSymbolic()) decline(fmt::format("the size {} is symbolic", size.text()));
  return size.value();
}

Arg Decomposition::arg(const SymInt& size) {
  Arg made;
  if (decomposer_.sizes().argument(size, decomposer_.root(), made)) return made;
  decline(fmt::format("no node calculates the size {}", size.text()));
}

Arg Decomposition::args(const Dims& sizes) {
  Arg::List items;
  items.reserve(sizes.size());
  for (const SymInt& size : sizes) items.push_back(arg(size));
  return Arg::list(std::move(items));
}

Node& Decomposition::reshape(Node& x, const Arg& sizes) {
  meta(x);
  const size_t start = decomposer_.made_.size();
  try {
    Node& view = decomposer_.makeCall("aten.view.default", {x, sizes}, {});
    if (view.value() != nullptr) return view;
  } catch (const UsageError&) {
    // The strides do not allow a view, or the sizes do not fit: then the view of the copy says so.
  }
  decomposer_.eraseMadeSince(start);
  Node& copy = emit("clone.default", {x}, {{"memory_format", MemoryFormat::Contiguous}});
  return emit("view.default", {copy, sizes});
}

Node& Decomposition::permute(Node& x, const std::vector<int64_t>& order) {
  Arg::List items(order.begin(), order.end());
  return emit("permute.default", {x, Arg::list(std::move(items))});
}

Node& Decomposition::transpose(Node& x, int64_t a, int64_t b) {
  const size_t first = wrap(a, x), second = wrap(b, x);
  if (rank(x) <= 1 || first == second) return x;
  std::vector<int64_t> order(rank(x));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::swap(order[first], order[second]);
  return permute(x, order);
}

Node& Decomposition::contiguous(Node& x, MemoryFormat format) {
  try {
    if (hasFormat(meta(x), format)) return x;
  } catch (const ShapeUnknown&) {
    // A copy is right in either case.
  }
  return emit("clone.default", {x}, {{"memory_format", format}});
}

Node& Decomposition::toDtype(Node& x, Dtype dtype) {
  if (meta(x).dtype == dtype) return x;
  return emit("_to_copy.default", {x}, {{"dtype", dtype}});
}

Node& Decomposition::widened(Node& x) {
  const Dtype own = dtype(x);
  return own == Dtype::Float16 || own == Dtype::BFloat16 ? toDtype(x, Dtype::Float32) : x;
}

Node& Decomposition::scalarLike(const Arg& value, const Node& like) {
  const TensorMeta& tensor = meta(like);
  return emit(
      "scalar_tensor.default", {value},
      {{"dtype", tensor.dtype}, {"layout", Layout::Strided}, {"device", Arg::device(text(tensor.device))}});
}

}  // namespace edgefx::detail
