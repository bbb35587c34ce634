#include "dialect/call_maker.h"

#include <edgefx/ir/shape_inference.h>
#include <edgefx/support/error.h>

#include "ir/shape_layout.h"

#include <utility>

namespace edgefx::detail {

Node& CallMaker::call(Target target, const Args& args, const Kwargs& kwargs, ValueRef like) const {
  const InsertionGuard guard(before_.graph(), before(before_));
  const std::string_view name = target.isOperator() ? target.op() : target.nameCandidate();
  Node& node = before_.graph().call(target, args, kwargs, name);
  node.setMeta(madeFor_.metaRef());
  try {
    node.setValue(inferValue(node));
  } catch (...) {
    before_.graph().erase(node);
    throw;
  }
  if (node.value() == nullptr) node.setValue(std::move(like));
  return node;
}

Node* CallMaker::tryCall(Target target, const Args& args, const Kwargs& kwargs, ValueRef like) const {
  try {
    return &call(target, args, kwargs, std::move(like));
  } catch (const UsageError&) {
    return nullptr;
  }
}

Node& CallMaker::item(Node& source, int64_t i, ValueRef like) const {
  return call("operator.getitem", {source, i}, {}, std::move(like));
}

Node& CallMaker::contiguous(Node& tensor) const {
  if (isContiguousTensor(tensorMetaOf(tensor))) return tensor;
  return call("aten.clone.default", {tensor}, {{"memory_format", MemoryFormat::Contiguous}},
              tensor.valueRef());
}

Arg CallMaker::sizesOf(Node& tensor) const {
  Arg::List sizes;
  const TensorMeta* const meta = tensorMetaOf(tensor);
  const size_t rank = meta == nullptr ? 0 : meta->sizes.size();
  for (size_t i = 0; i < rank; ++i) {
    const SymInt size = tensorMetaOf(tensor)->sizes[i];
    if (!size.isSymbolic()) {
      sizes.emplace_back(size.value());
      continue;
    }
    const ValueRef value = ValueMeta::of(ValueMeta::SymIntValue{size});
    sizes.emplace_back(call("aten.sym_size.int", {tensor, static_cast<int64_t>(i)}, {}, value));
  }
  return Arg::list(std::move(sizes));
}

Node& CallMaker::withSizes(Node& tensor, const Arg& sizes, ValueRef like) const {
  if (Node* view = tryCall("aten.view.default", {tensor, sizes}, {}, like)) return *view;
  return call("aten.view.default", {contiguous(tensor), sizes}, {}, std::move(like));
}

bool isContiguousTensor(const TensorMeta* meta) {
  try {
    return meta != nullptr && isContiguous(*meta);
  } catch (const ShapeUnknown&) {
    return false;
  }
}

}  // namespace edgefx::detail
