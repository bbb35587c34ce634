#include "dialect/memory_sharing.h"

#include <edgefx/ir/node_queries.h>
#include <edgefx/ir/operators.h>

#include "ir/shape_layout.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace edgefx::detail {
namespace {

constexpr std::array<std::string_view, 33> kViewOps = {
    "_reshape_alias", "_unsafe_view", "alias",       "as_strided", "detach",    "diagonal",
    "expand",         "expand_as",    "imag",        "lift_fresh", "mT",        "matrix_H",
    "moveaxis",       "movedim",      "narrow",      "numpy_T",    "permute",   "positive",
    "real",           "resolve_conj", "resolve_neg", "select",     "slice",     "squeeze",
    "swapaxes",       "swapdims",     "t",           "transpose",  "unflatten", "unfold",
    "unsqueeze",      "view",         "view_as"};
constexpr std::array<std::string_view, 2> kComplexViewOps = {"view_as_complex", "view_as_real"};
constexpr std::array<std::string_view, 10> kListViewOps = {
    "chunk",        "dsplit", "hsplit",       "split",        "split_with_sizes",
    "tensor_split", "unbind", "unsafe_chunk", "unsafe_split", "vsplit"};
constexpr std::array<std::string_view, 4> kDropouts = {"alpha_dropout", "dropout", "feature_alpha_dropout",
                                                       "feature_dropout"};

template <size_t size>
bool lists(const std::array<std::string_view, size>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::optional<std::vector<int64_t>> plainNumbers(const std::vector<SymInt>& numbers) {
  std::vector<int64_t> plain;
  for (const SymInt& number : numbers) {
    if (number.isSymbolic()) return std::nullopt;
    plain.push_back(number.value());
  }
  return plain;
}

// Whether a tensor's elements can be shown with other sizes without being moved, as reshape finds it: blocks
// of dimensions that lie one in the other split and join freely.
bool canShowAs(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
               const std::vector<int64_t>& wanted) {
  size_t at = wanted.size();
  int64_t elements = 1, covered = 1;
  int64_t base = strides.empty() ? 1 : strides.back();
  for (size_t dim = sizes.size(); dim-- > 0;) {
    elements *= sizes[dim];
    const bool isBlockEnd = dim == 0 || (sizes[dim - 1] != 1 && strides[dim - 1] != elements * base);
    if (!isBlockEnd) continue;
    while (at > 0 && (covered < elements || wanted[at - 1] == 1)) covered *= wanted[--at];
    if (covered != elements) return false;
    if (dim > 0) {
      base = strides[dim - 1];
      elements = covered = 1;
    }
  }
  return at == 0;
}

Sharing reshapeSharing(const Node& call, const TensorMeta& self) {
  try {
    if (isContiguous(self)) return Sharing::View;
  } catch (const ShapeUnknown&) {
  }
  const TensorMeta* const made = tensorMetaOf(call);
  if (made == nullptr) return Sharing::Unknown;
  const auto sizes = plainNumbers(self.sizes), strides = plainNumbers(self.strides);
  const auto wanted = plainNumbers(made->sizes);
  if (!sizes || !strides || !wanted) return Sharing::Unknown;
  if (std::ranges::find(*sizes, 0) != sizes->end()) return Sharing::View;
  return canShowAs(*sizes, *strides, *wanted) ? Sharing::View : Sharing::Nothing;
}

bool asksForCopy(const Node& call) {
  const auto isTrue = [](const Argument* argument) {
    return argument != nullptr && argument->kind() == ArgumentKind::Bool && argument->asBool();
  };
  const size_t position = call.target().overload() == "device" ? 4 : 3;
  return isTrue(call.findArg(position)) || isTrue(call.findKwarg("copy"));
}

Sharing castSharing(const Node& call, const TensorMeta& self) {
  if (asksForCopy(call)) return Sharing::Nothing;
  const TensorMeta* const made = tensorMetaOf(call);
  if (made == nullptr) return Sharing::Unknown;
  const bool isSame =
      made->dtype == self.dtype && made->device == self.device && made->strides == self.strides;
  return isSame ? Sharing::Same : Sharing::Nothing;
}

Sharing contiguousSharing(const Node& call, const TensorMeta& self) {
  const Argument* format = call.findKwarg("memory_format");
  try {
    const bool isGiven = format != nullptr && format->kind() == ArgumentKind::MemoryFormat;
    return hasFormat(self, isGiven ? format->asMemoryFormat() : MemoryFormat::Contiguous) ? Sharing::Same
                                                                                          : Sharing::Nothing;
  } catch (const ShapeUnknown&) {
    return Sharing::Unknown;
  }
}

// Those that give their operand itself unless they train, which their schemas do not say.
Sharing dropoutSharing(const Node& call) {
  const Argument* const trains = call.findArg(2);
  if (trains == nullptr || trains->kind() != ArgumentKind::Bool) return Sharing::Unknown;
  if (!trains->asBool()) return Sharing::Same;
  const Argument* const rate = call.findArg(1);
  if (rate == nullptr || (!rate->isInt() && rate->kind() != ArgumentKind::Float)) return Sharing::Unknown;
  return (rate->isInt() ? static_cast<double>(rate->asInt()) : rate->asFloat()) == 0 ? Sharing::Same
                                                                                     : Sharing::Nothing;
}

Sharing declaredSharing(const Node& call) {
  // Products of several tensors are new ones.
  const bool isProduct =
      call.callsOperator("aten.einsum.default") && call.args().size() > 1 && call.arg(1).items().size() > 1;
  if (isProduct) return Sharing::Nothing;
  const OperatorInfo* const info = findOperator(call.target());
  if (info == nullptr) return Sharing::Nothing;
  const bool isShared = std::ranges::any_of(info->arguments, [](const OperatorArgument& argument) {
    return argument.isAlias && !argument.isWritten;
  });
  return isShared ? Sharing::Unknown : Sharing::Nothing;
}

}  // namespace

Sharing sharingOf(const Node& call) {
  if (!call.isCall() || !call.target().isOperator()) return Sharing::Nothing;
  const Target target = call.target();
  const Node* const self = call.args().empty() ? nullptr : call.arg(0).findNode();
  if (target.ns() != "aten" || self == nullptr) return declaredSharing(call);
  const std::string_view op = target.op();
  if (lists(kListViewOps, op)) return Sharing::Views;
  if (lists(kViewOps, op) || lists(kComplexViewOps, op)) return Sharing::View;
  if (lists(kDropouts, op)) return dropoutSharing(call);
  if (op != "reshape" && op != "flatten" && op != "contiguous" && op != "to" && op != "type_as")
    return declaredSharing(call);
  const TensorMeta* const meta = tensorMetaOf(self);
  if (meta == nullptr) return Sharing::Unknown;
  if (op == "contiguous") return contiguousSharing(call, *meta);
  return op == "to" || op == "type_as" ? castSharing(call, *meta) : reshapeSharing(call, *meta);
}

std::vector<Node*> writtenOperands(const Node& call) {
  std::vector<Node*> written;
  if (!call.isCall()) return written;
  const auto add = [&](const Argument& argument) {
    if (Node* node = argument.findNode()) written.push_back(node);
    for (const Argument& item : argument.items()) {
      if (Node* node = item.findNode()) written.push_back(node);
    }
  };
  for (size_t i = 0; i < call.args().size(); ++i) {
    if (call.args()[i].isNode() && writesUndeclared(call, i)) add(call.args()[i]);
  }
  const OperatorInfo* const info = findOperator(call.target());
  if (info == nullptr || !info->isMutable) return written;
  for (size_t i = 0; i < call.args().size() && i < info->arguments.size(); ++i) {
    if (info->arguments[i].isWritten) add(call.args()[i]);
  }
  for (const auto [key, value] : call.kwargs()) {
    const OperatorArgument* const declared = info->findArgument(key);
    if (declared != nullptr && declared->isWritten) add(value);
  }
  return written;
}

std::optional<Target> viewInPlace(Target target) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "detach_", "squeeze_", "swapaxes_", "swapdims_", "t_", "transpose_", "unsqueeze_"};
  if (target.ns() != "aten" || target.overload().empty() || !lists(kNames, target.op())) return std::nullopt;
  std::string name = "aten.";
  name += target.op().substr(0, target.op().size() - 1);
  name += '.';
  name += target.overload();
  return Target(name);
}

}  // namespace edgefx::detail
