#include "run/program_state.h"

#include <edgefx/program/tensor_table.h>

#include "support/fail.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace edgefx::detail {
namespace {

const void* storageOf(const at::Tensor& tensor) {
  return tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl() : nullptr;
}

at::Tensor storedTensor(const ExportedProgram& program, const InputSpec& spec) {
  const std::string name = spec.target.value_or("");
  const StoredTensor* found = program.findStored(spec);
  if (found == nullptr) {
    fail<VerificationError>("input '{}' stands for '{}', which neither the state dict nor the constants have",
                            spec.arg.name, name);
  }
  if (!found->isTensor()) {
    fail<UnsupportedError>("'{}' cannot be used here: {}", name,
                           found->meta() == nullptr ? std::string("it is an object that only Python can read")
                                                    : "this LibTorch has no dtype '" +
                                                          std::string(fxText(found->meta()->dtype)) + "'");
  }
  return found->tensor();
}

// Copies of the tensors in a copy of the storage that they share.
void copyGroup(std::vector<at::Tensor>& tensors, const std::vector<size_t>& group) {
  const c10::Storage& shared = tensors[group.front()].storage();
  const at::Tensor bytes = at::empty({0}, at::device(at::kCPU).dtype(at::kByte))
                               .set_(shared, 0, {static_cast<int64_t>(shared.nbytes())}, {1})
                               .clone();
  for (size_t position : group) {
    const at::Tensor& old = tensors[position];
    tensors[position] =
        at::empty({0}, old.options()).set_(bytes.storage(), old.storage_offset(), old.sizes(), old.strides());
  }
}

// The result as the new value of `old`: with its dtype and strides, in memory that nobody else holds.
at::Tensor ownedResult(at::Tensor result, const at::Tensor& old) {
  const bool isExclusive = result.use_count() == 1 && result.storage().use_count() == 1;
  if (isExclusive && result.scalar_type() == old.scalar_type() && result.strides() == old.strides() &&
      result.is_non_overlapping_and_dense()) {
    return result;
  }
  return at::empty_strided(old.sizes(), old.strides(), old.options()).copy_(result);
}

}  // namespace

ProgramState::ProgramState(const ExportedProgram& program, const std::vector<bool>& writesInput) {
  const std::vector<InputSpec>& specs = program.signature.inputs;
  current_.resize(specs.size());
  std::map<const void*, std::vector<size_t>> sharing;
  std::vector<const void*> order;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].kind == InputKind::CustomObject) {
      fail<UnsupportedError>("input '{}' is an object of class '{}', which only Python can run",
                             specs[i].arg.name, specs[i].arg.className);
    }
    if (!isStoredTensor(specs[i].kind)) continue;
    current_[i] = storedTensor(program, specs[i]);
    std::vector<size_t>& group = sharing[storageOf(current_[i])];
    if (group.empty()) order.push_back(storageOf(current_[i]));
    group.push_back(i);
  }

  std::set<std::string_view> written;
  for (const OutputSpec& output : program.signature.outputs) {
    if (writesState(output.kind) && output.target) written.insert(*output.target);
  }
  for (const void* storage : order) {
    const std::vector<size_t>& group = sharing[storage];
    const bool inPlace =
        std::ranges::any_of(group, [&](size_t i) { return i < writesInput.size() && writesInput[i]; });
    // What one of several views receives must show in all of them.
    const bool throughViews = group.size() > 1 && std::ranges::any_of(group, [&](size_t i) {
                                return written.contains(specs[i].target.value_or(""));
                              });
    if (inPlace || throughViews) copied_.push_back(group);
  }
  findStorages();
}

void ProgramState::findStorages() {
  storages_.clear();
  for (const at::Tensor& tensor : current_) {
    if (tensor.defined()) storages_.insert(storageOf(tensor));
  }
}

std::vector<at::Tensor> ProgramState::begin() const {
  std::vector<at::Tensor> next = current_;
  for (const std::vector<size_t>& group : copied_) copyGroup(next, group);
  return next;
}

void ProgramState::commit(std::vector<at::Tensor> next, const std::vector<size_t>& positions,
                          Values results) {
  std::vector<bool> isCopied(current_.size(), false);
  for (const std::vector<size_t>& group : copied_) {
    for (size_t position : group) isCopied[position] = true;
  }
  for (size_t i = 0; i < positions.size(); ++i) {
    const at::Tensor& old = next[positions[i]];
    if (!results[i].isTensor() || results[i].toTensor().sizes() != old.sizes()) {
      fail<UsageError>("expected a tensor of shape [{}] to be written, got {}", fmt::join(old.sizes(), ", "),
                       describe(results[i]));
    }
  }
  if (!copied_.empty()) {
    // Writing one result must not change another.
    std::unordered_set<const void*> written;
    for (size_t position : positions) written.insert(storageOf(next[position]));
    for (size_t i = 0; i < positions.size(); ++i) {
      const at::Tensor& result = results[i].toTensor();
      if (!result.is_same(next[positions[i]]) && written.contains(storageOf(result)))
        results[i] = result.clone();
    }
  }
  for (size_t i = 0; i < positions.size(); ++i) {
    at::Tensor& target = next[positions[i]];
    at::Tensor result = std::move(results[i]).toTensor();
    if (isCopied[positions[i]]) {
      if (!result.is_same(target)) target.copy_(result);
    } else {
      target = ownedResult(std::move(result), target);
    }
  }
  current_ = std::move(next);
  if (!copied_.empty() || !positions.empty()) findStorages();
}

bool ProgramState::holds(const at::Tensor& tensor, const std::vector<at::Tensor>& next) const {
  const void* const storage = storageOf(tensor);
  return storages_.contains(storage) || std::ranges::any_of(copied_, [&](const std::vector<size_t>& group) {
           return storageOf(next[group.front()]) == storage;
         });
}

void ProgramState::restore(std::vector<at::Tensor> snapshot) {
  current_ = std::move(snapshot);
  findStorages();
}

}  // namespace edgefx::detail
