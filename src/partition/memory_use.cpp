#include "partition/memory_use.h"

#include <edgefx/ir/node_queries.h>
#include <edgefx/ir/operators.h>

#include "program/memory_order.h"

#include <algorithm>
#include <unordered_set>

namespace edgefx::detail {
namespace {

bool holds(const Argument& argument, const Node& node) {
  if (argument.findNode() == &node) return true;
  return std::ranges::any_of(argument.items(),
                             [&](const Argument& item) { return item.findNode() == &node; });
}

struct CallUse {
  bool isWritten = false;
  bool givesView = false;
};

CallUse callUse(const Node& call, const Node& used, const std::vector<bool>& isWriter) {
  CallUse use;
  if (getitemIndex(call)) return {false, true};  // of one of several views
  if (!isWriter.empty() && call.target().kind() == TargetKind::HigherOrder)
    return {isWriter[call.id()], true};
  for (size_t i = 0; i < call.args().size(); ++i) {
    if (holds(call.args()[i], used) && writesUndeclared(call, i)) use.isWritten = true;
  }
  const OperatorInfo* info = call.target().isOperator() ? findOperator(call.target()) : nullptr;
  const auto keepsHold = [](const OperatorArgument& argument) {
    return argument.isWritten || argument.isAlias;
  };
  if (info == nullptr || std::ranges::none_of(info->arguments, keepsHold)) return use;
  auto look = [&](const Argument& argument, const OperatorArgument* declared) {
    if (declared == nullptr || !holds(argument, used)) return;
    use.isWritten = use.isWritten || declared->isWritten;
    use.givesView = use.givesView || declared->isWritten || declared->isAlias;
  };
  for (size_t i = 0; i < std::min(call.args().size(), info->arguments.size()); ++i) {
    look(call.args()[i], &info->arguments[i]);
  }
  for (auto [key, value] : call.kwargs()) look(value, info->findArgument(key));
  return use;
}

MemoryUse findUse(const Node& placeholder, const std::vector<bool>& isWriter) {
  MemoryUse found;
  std::vector<const Node*> views{&placeholder};
  std::unordered_set<const Node*> reached{&placeholder};
  while (!views.empty()) {
    const Node& view = *views.back();
    views.pop_back();
    for (const Node& user : view.users()) {
      found.users.push_back(&user);
      if (!user.isCall()) continue;
      const CallUse use = callUse(user, view, isWriter);
      found.isWritten = found.isWritten || use.isWritten;
      if (use.givesView && reached.insert(&user).second) views.push_back(&user);
    }
  }
  return found;
}

}  // namespace

MemoryUses::MemoryUses(const GraphModule& owner) : isWriter_(inPlaceWriters(owner)) {}

MemoryUse MemoryUses::of(const Node& placeholder) const {
  return findUse(placeholder, isWriter_);
}

}  // namespace edgefx::detail
