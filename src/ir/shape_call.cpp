#include "ir/shape_call.h"

#include <edgefx/ir/node_queries.h>

namespace edgefx::detail {
namespace {

constexpr size_t kMostDimensions = 64;  // PyTorch's own limit

bool isUsable(const TensorMeta& tensor) {
  return tensor.layout == Layout::Strided && tensor.sizes.size() <= kMostDimensions &&
         tensor.strides.size() == tensor.sizes.size();
}

}  // namespace

std::string dimsText(std::span<const SymInt> dims) {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i) out += (i == 0 ? "" : ", ") + dims[i].text();
  return out + "]";
}

void ShapeCall::failWith(std::string message) const {
  Diagnostic diagnostic(fmt::format("call of '{}': {}", node_.target().name(), message));
  diagnostic.node = node_.name();
  diagnostic.nodeText = node_.text();
  throw UsageError(std::move(diagnostic));
}

const Argument* ShapeCall::find(size_t i, std::string_view key) const {
  const Argument* found = i == kKeywordOnly ? nullptr : node_.findArg(i);
  if (found == nullptr) found = node_.findKwarg(key);
  return found == nullptr || found->isNone() ? nullptr : found;
}

const Argument& ShapeCall::at(size_t i, std::string_view key) const {
  const Argument* const found = find(i, key);
  if (found == nullptr) throw ShapeUnknown();
  return *found;
}

const TensorMeta* ShapeCall::tensorOf(const Argument& argument) {
  const TensorMeta* const tensor = tensorMetaOf(argument.findNode());
  if (tensor == nullptr || !isUsable(*tensor)) throw ShapeUnknown();
  return tensor;
}

const TensorMeta* ShapeCall::findTensor(size_t i, std::string_view key) const {
  const Argument* const found = find(i, key);
  return found == nullptr ? nullptr : tensorOf(*found);
}

const TensorMeta& ShapeCall::tensor(size_t i, std::string_view key) const {
  return *tensorOf(at(i, key));
}

std::vector<const TensorMeta*> ShapeCall::tensors(size_t i, std::string_view key) const {
  const Argument& list = at(i, key);
  std::vector<const TensorMeta*> found;
  if (const Node* const node = list.findNode()) {
    const ValueMeta::Sequence* const held = node->value() == nullptr ? nullptr : node->value()->sequence();
    if (held == nullptr) throw ShapeUnknown();
    for (const ValueRef& element : held->elements) {
      const TensorMeta* const tensor = element ? element->tensor() : nullptr;
      if (tensor == nullptr || !isUsable(*tensor)) throw ShapeUnknown();
      found.push_back(tensor);
    }
    return found;
  }
  if (!list.isSequence()) throw ShapeUnknown();
  for (const Argument& item : list.items()) found.push_back(item.isNone() ? nullptr : tensorOf(item));
  return found;
}

bool ShapeCall::boolean(size_t i, std::string_view key, bool otherwise) const {
  const Argument* const found = find(i, key);
  if (found == nullptr) return otherwise;
  if (found->kind() != ArgumentKind::Bool) throw ShapeUnknown();
  return found->asBool();
}

int64_t ShapeCall::integer(size_t i, std::string_view key) const {
  const SymInt found = size(i, key);
  if (found.isSymbolic()) throw ShapeUnknown();
  return found.value();
}

int64_t ShapeCall::integer(size_t i, std::string_view key, int64_t otherwise) const {
  return find(i, key) == nullptr ? otherwise : integer(i, key);
}

std::vector<int64_t> ShapeCall::integers(size_t i, std::string_view key) const {
  std::vector<int64_t> numbers;
  if (find(i, key) == nullptr) return numbers;
  for (const SymInt& found : sizes(i, key)) {
    if (found.isSymbolic()) throw ShapeUnknown();
    numbers.push_back(found.value());
  }
  return numbers;
}

SymInt ShapeCall::sizeOf(const Argument& argument) {
  if (argument.isInt()) return SymInt(argument.asInt());
  if (argument.kind() == ArgumentKind::Symbolic) return SymInt(Symbolic{argument.asSymbolic(), {}});
  const Node* const node = argument.findNode();
  const auto* const value = node == nullptr || node->value() == nullptr
                                ? nullptr
                                : std::get_if<ValueMeta::SymIntValue>(&node->value()->data);
  if (value == nullptr) throw ShapeUnknown();
  return value->value;
}

SymInt ShapeCall::size(size_t i, std::string_view key) const {
  return sizeOf(at(i, key));
}

SymInt ShapeCall::size(size_t i, std::string_view key, SymInt otherwise) const {
  const Argument* const found = find(i, key);
  return found == nullptr ? std::move(otherwise) : sizeOf(*found);
}

Dims ShapeCall::sizes(size_t i, std::string_view key) const {
  const Argument& list = at(i, key);
  if (!list.isSequence()) return {sizeOf(list)};
  Dims found;
  found.reserve(list.items().size());
  for (const Argument& item : list.items()) found.push_back(sizeOf(item));
  return found;
}

Dims ShapeCall::perDimension(size_t i, std::string_view key, size_t count,
                             std::optional<SymInt> otherwise) const {
  Dims found;
  if (find(i, key) != nullptr) found = sizes(i, key);
  if (found.empty()) {
    if (!otherwise) throw ShapeUnknown();
    return Dims(count, *otherwise);
  }
  if (found.size() == 1) return Dims(count, found.front());
  if (found.size() != count) {
    fail("expected 1 or {} numbers as '{}', found {}", count, key, dimsText(found));
  }
  return found;
}

std::optional<Dtype> ShapeCall::dtype(size_t i, std::string_view key) const {
  const Argument* const found = find(i, key);
  if (found == nullptr) return std::nullopt;
  if (found->kind() != ArgumentKind::Dtype || found->asDtype() == Dtype::Unknown) throw ShapeUnknown();
  return found->asDtype();
}

std::optional<MemoryFormat> ShapeCall::memoryFormat(size_t i, std::string_view key) const {
  const Argument* const found = find(i, key);
  if (found == nullptr) return std::nullopt;
  if (found->kind() != ArgumentKind::MemoryFormat) throw ShapeUnknown();
  return found->asMemoryFormat();
}

std::optional<DeviceSpec> ShapeCall::device(size_t i, std::string_view key) const {
  const Argument* const found = find(i, key);
  if (found == nullptr) return std::nullopt;
  if (found->kind() != ArgumentKind::Device) throw ShapeUnknown();
  return parseDevice(found->asDevice());
}

size_t ShapeCall::dimension(int64_t dim, size_t rank) const {
  const auto count = static_cast<int64_t>(rank == 0 ? 1 : rank);
  if (dim < -count || dim >= count) {
    fail("expected a dimension from {} to {}, found {}", -count, count - 1, dim);
  }
  return static_cast<size_t>(dim < 0 ? dim + count : dim);
}

std::vector<bool> ShapeCall::dimensions(std::span<const int64_t> dims, size_t rank) const {
  if (dims.empty()) return std::vector<bool>(rank, true);
  std::vector<bool> chosen(rank, false);
  for (const int64_t dim : dims) {
    const size_t place = dimension(dim, rank);
    if (rank == 0) continue;
    if (chosen[place]) fail("expected each dimension once, found {} twice", dim);
    chosen[place] = true;
  }
  return chosen;
}

}  // namespace edgefx::detail
