#include <edgefx/partition/tag_constants.h>
#include <edgefx/program/signature.h>

#include "partition/mutations.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace edgefx {

using detail::forEachStored;
using detail::Mutations;

namespace {

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
