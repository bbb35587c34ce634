#pragma once

#include <edgefx/program/exported_program.h>

#include "partition/memory_use.h"

#include <map>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace edgefx::detail {

// Calls visit(placeholder, spec) for the inputs that hold stored tensors, in order.
template <typename Visit>
void forEachStored(const ExportedProgram& program, Visit&& visit) {
  const SignatureIndex index(program.signature);
  for (const Node* node : program.graph().placeholders()) {
    const InputSpec* spec = index.findInput(node->name());
    if (spec != nullptr && isStoredTensor(spec->kind)) visit(*node, *spec);
  }
}

// What the program writes, in place or as the signature says, by the stored tensor's name: one name may be
// that of a buffer or of a parameter. What shares memory with a tensor that is written, is written too. Valid
// until the program changes.
class Mutations {
 public:
  // O(nodes + specs).
  explicit Mutations(const ExportedProgram& program);

  bool writes(const Node& node, const InputSpec& input) const;
  // The results that are new values of the buffer.
  const std::vector<const OutputSpec*>& newValues(const InputSpec& buffer) const;
  std::vector<const Node*> usersOf(const Node& placeholder) const { return uses_.of(placeholder).users; }

  // The same for stored tensors that share memory, and for those of one name.
  using Memory = std::pair<const void*, std::string_view>;
  Memory memory(const InputSpec& input) const;

 private:
  bool isWritten(const Node& node, const InputSpec& input) const;

  const ExportedProgram& program_;
  const MemoryUses uses_;
  std::map<std::string_view, std::vector<const OutputSpec*>> buffers_;
  std::set<std::string_view> parameters_;
  std::unordered_set<const Node*> writtenNodes_;  // placeholders that are written themselves
  std::unordered_set<const void*> written_;       // memory of tensors that are written; null never
};

}  // namespace edgefx::detail
