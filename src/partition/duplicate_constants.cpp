#include "partition/duplicate_constants.h"

#include <edgefx/support/error.h>

#include "partition/memory_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace edgefx::detail {
namespace {

struct ConstantCopies {
  std::vector<std::string>
      names;  // of the new placeholders, in the order in which they stand before the old one
};

// Targets that an output of the program writes.
std::set<std::string_view> writtenTargets(const GraphSignature& signature) {
  std::set<std::string_view> targets;
  for (const OutputSpec& spec : signature.outputs) {
    if (writesState(spec.kind) && spec.target) targets.insert(*spec.target);
  }
  return targets;
}

bool hasForeignUser(const Node& node, const Tags& tags) {
  for (const Node& user : node.users()) {
    if (!tags.sameTag(node, user)) return true;
  }
  return false;
}

[[noreturn]] void refuseCopy(const Node& node, const PartitionResult& result, size_t spec) {
  Diagnostic diagnostic;
  diagnostic.backend = result.specs()[spec].second.backendId;
  diagnostic.node = node.name();
  std::string users;
  for (const Node& user : node.users()) {
    users +=
        fmt::format("{}'%{}' ({})", users.empty() ? "" : ", ", user.name(),
                    result.tags.isTagged(user) ? fmt::format("tag '{}'", result.tags.tagOf(user)) : "no tag");
  }
  diagnostic.message = fmt::format("the constant tagged '{}' must not be copied, but its users are {}",
                                   result.specs()[spec].first, users);
  throw LoweringError(std::move(diagnostic));
}

void takeTagOfUsers(Node& node, Tags& tags) {
  const Node* const first = node.numUsers() == 0 ? nullptr : &node.users().front();
  if (first != nullptr && tags.isTagged(*first)) {
    tags.tag(node, std::string(tags.tagOf(*first)));
  } else {
    tags.untag(node);
  }
}

ConstantCopies duplicate(Node& node, Tags& tags) {
  ConstantCopies copies;
  std::vector<Node*> users = node.usersSnapshot();
  auto keeper = std::find_if(users.begin(), users.end(), [](const Node* user) { return user->isOutput(); });
  if (keeper == users.end()) keeper = users.begin();
  users.erase(keeper);
  InsertionGuard guard(node.graph(), before(node));
  for (size_t i = 0; i < users.size(); ++i) {
    const std::string wanted = fmt::format("{}_copy_{}", node.name(), i);
    Node& copy = node.graph().placeholder(node.graph().uniqueName(wanted), wanted);
    copy.setValue(node.valueRef());
    copy.setMeta(node.metaRef());
    users[i]->replaceInput(node, copy);
    takeTagOfUsers(copy, tags);
    copies.names.emplace_back(copy.name());
  }
  takeTagOfUsers(node, tags);
  return copies;
}

}  // namespace

void duplicateConstants(ExportedProgram& program, PartitionResult& result, const FusingOrder& order) {
  const std::set<std::string_view> written = writtenTargets(program.signature);
  const SignatureIndex index(program.signature);

  const MemoryUses uses(program.graphModule());
  std::vector<std::vector<Node*>> candidates(result.specs().size());
  for (Node* node : program.graph().placeholders()) {
    const uint32_t rank = order.rankOf(*node, result.tags);
    const InputSpec* const input = index.findInput(node->name());
    if (rank == FusingOrder::kNone || input == nullptr || !input->target || written.contains(*input->target))
      continue;
    if (!hasForeignUser(*node, result.tags) || uses.of(*node).isWritten) continue;
    candidates[order.specs[rank]].push_back(node);
  }

  std::unordered_map<std::string_view, ConstantCopies> copies;  // by the name of the placeholder
  for (size_t spec : order.specs) {
    for (Node* node : candidates[spec]) {
      if (result.tags.isNoCopy(*node)) refuseCopy(*node, result, spec);
      copies.emplace(node->name(), duplicate(*node, result.tags));
    }
  }
  if (copies.empty()) return;

  std::vector<InputSpec> inputs;
  for (InputSpec& spec : program.signature.inputs) {
    if (auto found = copies.find(spec.arg.name); found != copies.end()) {
      for (const std::string& name : found->second.names) {
        inputs.push_back(spec);
        inputs.back().arg.name = name;
      }
    }
    inputs.push_back(std::move(spec));
  }
  program.signature.inputs = std::move(inputs);
}

}  // namespace edgefx::detail
