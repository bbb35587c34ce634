#include <edgefx/partition/tag_constants.h>
#include <edgefx/program/signature.h>
#include <edgefx/program/tensor_table.h>

#include "partition/memory_use.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

namespace edgefx {
namespace {

// The placeholders of stored tensors with their specs, in order.
template <typename Visit>
void forEachStored(const ExportedProgram& program, Visit&& visit) {
  const SignatureIndex index(program.signature);
  for (const Node* node : program.graph().placeholders()) {
    const InputSpec* spec = index.findInput(node->name());
    if (spec != nullptr && isStoredTensor(spec->kind)) visit(*node, *spec);
  }
}

// What the program writes, in place or as the signature says, by the stored tensor's name: one name may be
// that of a buffer or of a parameter. What shares memory with a tensor that is written, is written too.
class Mutations {
 public:
  explicit Mutations(const ExportedProgram& program) : program_(program), uses_(program.graphModule()) {
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
      if (const void* memory = memoryOf(input)) written_.insert(memory);
    });
  }

  bool writes(const Node& node, const InputSpec& input) const {
    return writtenNodes_.contains(&node) || (!written_.empty() && written_.contains(memoryOf(input)));
  }
  // The results that are new values of the buffer.
  const std::vector<const OutputSpec*>& newValues(const InputSpec& buffer) const {
    static const std::vector<const OutputSpec*> kNone;
    auto found = buffer.target ? buffers_.find(*buffer.target) : buffers_.end();
    return found == buffers_.end() ? kNone : found->second;
  }
  std::vector<const Node*> usersOf(const Node& placeholder) const { return uses_.of(placeholder).users; }

  // The same for stored tensors that share memory, and for those of one name.
  using Memory = std::pair<const void*, std::string_view>;
  Memory memory(const InputSpec& input) const {
    const void* at = memoryOf(input);
    return {at, at == nullptr ? std::string_view(*input.target) : std::string_view()};
  }

 private:
  bool isWritten(const Node& node, const InputSpec& input) const {
    if (!input.target) return false;
    const bool isResult = input.kind == InputKind::Parameter ? parameters_.contains(*input.target)
                                                             : buffers_.contains(*input.target);
    return isResult || uses_.of(node).isWritten;
  }

  // Null for what has no memory.
  const void* memoryOf(const InputSpec& input) const {
    const StoredTensor* found = program_.findStored(input);
    return found == nullptr || found->isOpaque() ? nullptr : found->storage().data();
  }

  const ExportedProgram& program_;
  const detail::MemoryUses uses_;
  std::map<std::string_view, std::vector<const OutputSpec*>> buffers_;
  std::set<std::string_view> parameters_;
  std::unordered_set<const Node*> writtenNodes_;  // placeholders that are written themselves
  std::unordered_set<const void*> written_;       // memory of tensors that are written; null never
};

template <typename Visit>
void forEachWritten(const ExportedProgram& program, const Mutations& mutations, Visit&& visit) {
  forEachStored(program, [&](const Node& node, const InputSpec& spec) {
    if (spec.target && mutations.writes(node, spec)) visit(node, spec);
  });
}

std::string_view smallestTagOfUsers(const Node& node, const Tags& tags) {
  std::string_view smallest;
  for (const Node& user : node.users()) {
    const std::string_view tag = tags.tagOf(user);
    if (!tag.empty() && (smallest.empty() || tag < smallest)) smallest = tag;
  }
  return smallest;
}

// The one tag of all that concerns the memory of a written buffer, or what keeps it in the program.
class BufferTag {
 public:
  explicit BufferTag(const Tags& tags) : tags_(tags) {}

  void addReaders(const std::vector<const Node*>& readers) {
    for (const Node* user : readers) add(*user, "reads it");
  }
  // In one memory the value written last stays, but a delegate gives its new values in an order of its own.
  void addWritten(std::string_view target) {
    if (!written_.empty()) refuse(fmt::format("'{}', which is written, too, shares its memory", target));
    written_ = target;
  }
  void addOther(std::string_view target) {
    refuse(fmt::format("'{}', which is no buffer, shares its memory", target));
  }
  void addNewValue(const Node* producer, std::string_view name) {
    if (producer == nullptr || !producer->isCall()) {
      refuse(fmt::format("its new value '%{}' is made by no call", name));
    } else {
      add(*producer, "makes its new value");
    }
  }

  // Empty if there is none or if there is a reason.
  std::string_view tag() const { return reason_.empty() ? tag_ : std::string_view(); }
  const std::string& reason() const { return reason_; }
  bool anyTagged() const { return !tag_.empty(); }

 private:
  void add(const Node& node, std::string_view role) {
    const std::string_view tag = tags_.tagOf(node);
    if (tag.empty()) {
      refuse(fmt::format("'%{}' {} and has no tag", node.isOutput() ? "output" : node.name(), role));
    } else if (tag_.empty()) {
      tag_ = tag;
    } else if (tag != tag_) {
      refuse(fmt::format("'%{}' {} and has tag '{}', others have tag '{}'", node.name(), role, tag, tag_));
    }
  }
  void refuse(std::string reason) {
    if (reason_.empty()) reason_ = std::move(reason);
  }

  const Tags& tags_;
  std::string_view tag_;
  std::string_view written_;
  std::string reason_;
};

}  // namespace

void tagConstantData(const ExportedProgram& program, Tags& tags) {
  const Mutations mutations(program);
  forEachStored(program, [&](const Node& node, const InputSpec& spec) {
    if (mutations.writes(node, spec)) return;
    const std::string_view tag = smallestTagOfUsers(node, tags);
    if (!tag.empty()) tags.tag(node, tag);
  });
}

void tagMutatedBuffers(const ExportedProgram& program, Tags& tags) {
  const Mutations mutations(program);
  // Results by name: looking each up in the graph would make the table of all names.
  std::map<std::string_view, const Node*> results;
  for (const Node& result : program.graph().outputNode().inputs()) results.emplace(result.name(), &result);

  // Several placeholders may hold one buffer, and several buffers one memory.
  std::map<Mutations::Memory, BufferTag> memories;
  std::set<std::string_view> seen;
  forEachWritten(program, mutations, [&](const Node& node, const InputSpec& spec) {
    BufferTag& all = memories.try_emplace(mutations.memory(spec), tags).first->second;
    if (spec.kind != InputKind::Buffer) return all.addOther(*spec.target);
    all.addReaders(mutations.usersOf(node));
    if (!seen.insert(*spec.target).second) return;
    if (!mutations.newValues(spec).empty()) all.addWritten(*spec.target);
    for (const OutputSpec* written : mutations.newValues(spec)) {
      auto found = results.find(written->arg.name);
      all.addNewValue(found == results.end() ? nullptr : found->second, written->arg.name);
    }
  });
  forEachWritten(program, mutations, [&](const Node& node, const InputSpec& spec) {
    if (spec.kind != InputKind::Buffer) return;
    const BufferTag& all = memories.find(mutations.memory(spec))->second;
    if (!all.tag().empty()) {
      tags.tag(node, all.tag());
      return;
    }
    tags.untag(node);
    if (all.anyTagged()) {
      tags.reject(node, fmt::format("buffer '{}' is written by the program: {}", *spec.target, all.reason()));
    }
  });
}

void tagUnusedConstants(const ExportedProgram& program, Tags& tags, std::string_view tag) {
  const Mutations mutations(program);
  forEachStored(program, [&](const Node& node, const InputSpec& spec) {
    if (node.numUsers() == 0 && !mutations.writes(node, spec) && !tags.isTagged(node)) tags.tag(node, tag);
  });
}

}  // namespace edgefx
