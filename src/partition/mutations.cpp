#include "partition/mutations.h"

#include "program/memory_order.h"

namespace edgefx::detail {

Mutations::Mutations(const ExportedProgram& program) : program_(program), uses_(program.graphModule()) {
  for (const OutputSpec& spec : program.signature.outputs) {
    if (!spec.target) continue;
    if (spec.kind == OutputKind::BufferMutation) buffers_[*spec.target].push_back(&spec);
    // Who gets the gradient of a parameter is going to write it.
    const bool isGradient = spec.kind == OutputKind::GradientToParameter;
    if (isGradient || spec.kind == OutputKind::ParameterMutation) parameters_.insert(*spec.target);
  }
  forEachStored(program, [&](const Node& node, const InputSpec& input) {
    if (!isWritten(node, input)) return;
    writtenNodes_.insert(&node);
    if (const void* memory = memoryOf(program_, input)) written_.insert(memory);
  });
}

bool Mutations::writes(const Node& node, const InputSpec& input) const {
  return writtenNodes_.contains(&node) || (!written_.empty() && written_.contains(memoryOf(program_, input)));
}

const std::vector<const OutputSpec*>& Mutations::newValues(const InputSpec& buffer) const {
  static const std::vector<const OutputSpec*> kNone;
  auto found = buffer.target ? buffers_.find(*buffer.target) : buffers_.end();
  return found == buffers_.end() ? kNone : found->second;
}

Mutations::Memory Mutations::memory(const InputSpec& input) const {
  const void* at = memoryOf(program_, input);
  return {at, at == nullptr && input.target ? std::string_view(*input.target) : std::string_view()};
}

bool Mutations::isWritten(const Node& node, const InputSpec& input) const {
  if (!input.target) return false;
  const bool isResult = input.kind == InputKind::Parameter ? parameters_.contains(*input.target)
                                                           : buffers_.contains(*input.target);
  return isResult || uses_.of(node).isWritten;
}

}  // namespace edgefx::detail
