#include "dialect/view_steps.h"

#include <edgefx/ir/operators.h>

#include "dialect/write_analysis.h"
#include "ir/shape_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace edgefx::detail {
namespace {

// The arguments of a view besides the tensor, by position or name.
class ViewArguments {
 public:
  explicit ViewArguments(const Node& call) : call_(call) {}

  const Argument* find(size_t i, std::string_view key) const {
    const Argument* const given = call_.findArg(i);
    return given != nullptr ? given : call_.findKwarg(key);
  }
  Arg at(size_t i, std::string_view key, Arg otherwise) const {
    const Argument* const given = find(i, key);
    return given == nullptr ? otherwise : Arg(*given);
  }
  std::optional<int64_t> integer(size_t i, std::string_view key,
                                 std::optional<int64_t> otherwise = {}) const {
    const Argument* const given = find(i, key);
    if (given == nullptr || given->isNone()) return otherwise;
    return given->isInt() ? std::optional(given->asInt()) : std::nullopt;
  }

 private:
  const Node& call_;
};

[[noreturn]] void refuseUndo(const ViewStep& step, const CallMaker& maker, std::string_view why) {
  refuseNode(maker.madeFor(), fmt::format("writes through '%{}', a view by '{}', {}", step.call->name(),
                                          step.call->target().name(), why));
}

Args withSource(const Node& call, Node& source) {
  Args args(call.args().begin(), call.args().end());
  args[0] = Arg(source);
  return args;
}

Kwargs keywordsOf(const Node& call) {
  Kwargs kwargs;
  for (const auto [key, value] : call.kwargs()) kwargs.emplace_back(key, value);
  return kwargs;
}

Node& undoPermute(const ViewStep& step, Node& value, const CallMaker& maker) {
  const Argument* const dims = ViewArguments(*step.call).find(1, "dims");
  const size_t rank = dims == nullptr ? 0 : dims->items().size();
  std::vector<int64_t> inverse(rank);
  for (size_t i = 0; i < rank; ++i) {
    if (!dims->items()[i].isInt()) refuseUndo(step, maker, "whose dimensions are not known");
    int64_t dim = dims->items()[i].asInt();
    if (dim < 0) dim += static_cast<int64_t>(rank);
    if (dim < 0 || dim >= static_cast<int64_t>(rank))
      refuseUndo(step, maker, "whose dimensions are not known");
    inverse[static_cast<size_t>(dim)] = static_cast<int64_t>(i);
  }
  return maker.call("aten.permute.default", {value, Arg::list(Arg::List(inverse.begin(), inverse.end()))});
}

Node& undoReversal(Node& value, const CallMaker& maker) {
  const TensorMeta* const meta = tensorMetaOf(value);
  Arg::List dims;
  for (size_t i = meta == nullptr ? 0 : meta->sizes.size(); i-- > 0;) dims.emplace_back(i);
  return maker.call("aten.permute.default", {value, Arg::list(std::move(dims))});
}

bool hasSameSizes(const Node& a, const Node& b) {
  const TensorMeta *const one = tensorMetaOf(a), *const other = tensorMetaOf(b);
  return one != nullptr && other != nullptr && one->sizes == other->sizes;
}

std::optional<int64_t> sizeAlong(const TensorMeta* meta, int64_t dim) {
  if (meta == nullptr) return std::nullopt;
  const int64_t at = dim < 0 ? dim + static_cast<int64_t>(meta->sizes.size()) : dim;
  if (at < 0 || at >= static_cast<int64_t>(meta->sizes.size())) return std::nullopt;
  const SymInt& size = meta->sizes[static_cast<size_t>(at)];
  return size.isSymbolic() ? std::nullopt : std::optional(size.value());
}

// Where the parts of a list of views before this one end, along the dimension that they part.
std::optional<int64_t> startOfPart(const ViewStep& step, int64_t dim) {
  const ValueMeta* const value = step.call->value();
  const ValueMeta::Sequence* const parts = value == nullptr ? nullptr : value->sequence();
  if (parts == nullptr || *step.index < 0 || static_cast<size_t>(*step.index) >= parts->elements.size())
    return std::nullopt;
  const auto sizeOf = [&](int64_t i) {
    const ValueRef& part = parts->elements[static_cast<size_t>(i)];
    return sizeAlong(part ? part->tensor() : nullptr, dim);
  };
  const std::string_view op = step.call->target().op();
  if (op != "split_with_sizes" && op != "tensor_split") {  // all but the last one are of one size
    const std::optional<int64_t> size = sizeOf(0);
    return size ? std::optional(*size * *step.index) : std::nullopt;
  }
  int64_t start = 0;
  for (int64_t i = 0; i < *step.index; ++i) {
    const std::optional<int64_t> size = sizeOf(i);
    if (!size) return std::nullopt;
    start += *size;
  }
  return start;
}

Node& undoPart(const ViewStep& step, Node& before, Node& value, const CallMaker& maker) {
  const ViewArguments arguments(*step.call);
  const std::string_view op = step.call->target().op();
  if (op == "unbind") {
    return maker.call("aten.select_scatter.default", {before, value, arguments.at(1, "dim", 0), *step.index});
  }
  const std::optional<int64_t> dim =
      op == "hsplit" || op == "vsplit" || op == "dsplit" ? std::nullopt : arguments.integer(2, "dim", 0);
  const std::optional<int64_t> start = dim ? startOfPart(step, *dim) : std::nullopt;
  const std::optional<int64_t> size = dim ? sizeAlong(tensorMetaOf(*step.node), *dim) : std::nullopt;
  if (!start || !size) refuseUndo(step, maker, "whose place is not known");
  return maker.call("aten.slice_scatter.default", {before, value, *dim, *start, *start + *size});
}

// as_strided shows the memory itself, whatever view it is taken of: what stands for the view must be that
// memory.
bool showsWholeMemory(const Node& source) {
  if (source.isCall() && sharingOf(source) != Sharing::Nothing) return false;
  const TensorMeta* const meta = tensorMetaOf(source);
  return isContiguousTensor(meta) && meta->storageOffset == SymInt(0);
}

Node& undoStrided(const ViewStep& step, const Node& source, Node& before, Node& value,
                  const CallMaker& maker) {
  const ViewArguments arguments(*step.call);
  const std::optional<int64_t> offset = arguments.integer(3, "storage_offset", 0);
  if (!showsWholeMemory(source) || !offset) {
    refuseUndo(step, maker, "of a tensor that does not lie in order");
  }
  return maker.call(
      "aten.as_strided_scatter.default",
      {maker.contiguous(before), value, arguments.at(1, "size", {}), arguments.at(2, "stride", {}), *offset});
}

}  // namespace

Node& retakeView(const ViewStep& step, Node& source, const CallMaker& maker) {
  const Node& call = *step.call;
  const Args args = withSource(call, source);
  const Kwargs kwargs = keywordsOf(call);
  Node* taken = nullptr;
  if (call.target().op() == "as_strided") {
    if (!showsWholeMemory(call.arg(0).asNode()))
      refuseUndo(step, maker, "of a tensor that does not lie in order");
    taken = maker.tryCall(call.target(), withSource(call, maker.contiguous(source)), kwargs, call.valueRef());
  } else {
    taken = maker.tryCall(call.target(), args, kwargs, call.valueRef());
    // The memory may lie in another order than that of the tensor viewed first.
    if (taken == nullptr) {
      taken = &maker.call(call.target(), withSource(call, maker.contiguous(source)), kwargs, call.valueRef());
    }
  }
  if (taken == nullptr) refuseUndo(step, maker, "that cannot be taken anew");
  return step.index ? maker.item(*taken, *step.index, step.node->valueRef()) : *taken;
}

Node& undoView(const ViewStep& step, const Node& source, const std::function<Node&()>& current, Node& value,
               const CallMaker& maker) {
  if (step.index) return undoPart(step, current(), value, maker);
  const std::string_view op = step.call->target().op();
  const std::string_view overload = step.call->target().overload();
  const ViewArguments arguments(*step.call);
  if (op == "alias" || op == "detach" || op == "lift_fresh" || op == "positive") return value;
  if (op == "resolve_conj" || op == "resolve_neg" || op == "real") {
    const TensorMeta* const meta = tensorMetaOf(source);
    if (meta == nullptr || isComplex(meta->dtype)) refuseUndo(step, maker, "of complex numbers");
    return value;
  }
  if (op == "view" && overload == "dtype") {
    const TensorMeta* const meta = tensorMetaOf(source);
    if (meta == nullptr) refuseUndo(step, maker, "of a tensor that is not described");
    return maker.call("aten.view.dtype", {value, meta->dtype}, {}, source.valueRef());
  }
  if (op == "view" || op == "_unsafe_view" || op == "_reshape_alias" || op == "reshape" || op == "flatten" ||
      op == "view_as" || op == "unflatten" || op == "squeeze") {
    return maker.withSizes(value, maker.sizesOf(current()), source.valueRef());
  }
  if (op == "unsqueeze") {
    return maker.call("aten.squeeze.dim", {value, arguments.at(1, "dim", 0)}, {}, source.valueRef());
  }
  if (op == "permute") return undoPermute(step, value, maker);
  if (op == "t" || op == "transpose" || op == "swapaxes" || op == "swapdims") {
    return maker.call(step.call->target(), withSource(*step.call, value), keywordsOf(*step.call));
  }
  if (op == "numpy_T") return undoReversal(value, maker);
  if (op == "mT") return maker.call("aten.transpose.int", {value, -2, -1});
  if (op == "movedim" || op == "moveaxis") {
    return maker.call(step.call->target(),
                      {value, arguments.at(2, "destination", {}), arguments.at(1, "source", {})});
  }
  if (op == "expand" || op == "expand_as") {
    if (!hasSameSizes(source, *step.node)) refuseUndo(step, maker, "which may show an element twice");
    return value;
  }
  if (op == "select") {
    return maker.call("aten.select_scatter.default",
                      {current(), value, arguments.at(1, "dim", 0), arguments.at(2, "index", 0)});
  }
  if (op == "slice") {
    return maker.call("aten.slice_scatter.default",
                      {current(), value, arguments.at(1, "dim", 0), arguments.at(2, "start", {}),
                       arguments.at(3, "end", {}), arguments.at(4, "step", 1)});
  }
  if (op == "narrow") {
    const std::optional<int64_t> start = arguments.integer(2, "start"),
                                 length = arguments.integer(3, "length");
    if (!start || !length || *start < 0) refuseUndo(step, maker, "whose place is not known");
    return maker.call("aten.slice_scatter.default",
                      {current(), value, arguments.at(1, "dim", 0), *start, *start + *length});
  }
  if (op == "diagonal") {
    return maker.call("aten.diagonal_scatter.default",
                      {current(), value, arguments.at(1, "offset", 0), arguments.at(2, "dim1", 0),
                       arguments.at(3, "dim2", 1)});
  }
  if (op == "as_strided") return undoStrided(step, source, current(), value, maker);
  if (op == "view_as_real") return maker.call("aten.view_as_complex.default", {maker.contiguous(value)});
  if (op == "view_as_complex") return maker.call("aten.view_as_real.default", {value});
  refuseUndo(step, maker, "which there is no way back from");
}

}  // namespace edgefx::detail
