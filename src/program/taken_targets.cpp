#include "program/taken_targets.h"

#include <edgefx/program/tensor_table.h>

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <unordered_map>

namespace edgefx::detail {
namespace {

// Whether both are the same view of the same memory.
bool sameTensor(const StoredTensor* a, const StoredTensor* b) {
  if (a == nullptr || b == nullptr || a->meta() == nullptr || b->meta() == nullptr) return false;
  const TensorMeta& left = *a->meta();
  const TensorMeta& right = *b->meta();
  return a->storage().data() == b->storage().data() && left.dtype == right.dtype &&
         left.sizes == right.sizes && left.strides == right.strides &&
         left.storageOffset == right.storageOffset;
}

}  // namespace

std::vector<Diagnostic> findTakenTargets(const ExportedProgram& before, const ExportedProgram& after) {
  std::unordered_map<std::string_view, const InputSpec*> readers;
  for (const InputSpec& spec : before.signature.inputs) {
    if (spec.target) readers.emplace(*spec.target, &spec);
  }
  const SignatureIndex earlier(before.signature);

  std::vector<Diagnostic> found;
  for (const InputSpec& spec : after.signature.inputs) {
    const InputSpec* old = earlier.findInput(spec.arg.name);
    if (!spec.target || old == nullptr || old->target == spec.target) continue;
    auto reader = readers.find(*spec.target);
    if (reader == readers.end()) continue;
    // Swapped along with the targets' tensors, or tied weights: the placeholder reads what it did.
    if (old->target && sameTensor(before.findStored(*old), after.findStored(spec))) continue;

    Diagnostic diagnostic(fmt::format(
        "reads '{}' now, which %{} read before; this placeholder {}", *spec.target, reader->second->arg.name,
        old->target ? "read '" + *old->target + "'" : "was a " + std::string(name(old->kind))));
    diagnostic.node = spec.arg.name;
    found.push_back(std::move(diagnostic));
  }
  return found;
}

}  // namespace edgefx::detail
