#include <edgefx/ir/node_queries.h>
#include <edgefx/program/check_shapes.h>

#include "ir/describe_same.h"
#include "program/delegate_programs.h"

#include <fmt/format.h>

#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace edgefx {
namespace {

using SymbolRanges = std::unordered_map<std::string_view, std::pair<int64_t, int64_t>>;

int64_t numberInside(const SymbolRanges& ranges, std::string_view symbol, int64_t wanted) {
  const auto found = ranges.find(symbol);
  if (found == ranges.end()) return wanted;
  const auto [least, most] = found->second;
  if (wanted < least) return least;
  if (wanted <= most) return wanted;
  const uint64_t count = static_cast<uint64_t>(most) - static_cast<uint64_t>(least) + 1;
  return least + static_cast<int64_t>(static_cast<uint64_t>(wanted) % count);
}

// "float32[2, 4] with strides [1, 2]": strides only where they tell tensors apart.
std::string describeValue(const ValueMeta& value, bool withLayout) {
  std::string out = value.text();
  const TensorMeta* const tensor = value.tensor();
  if (tensor == nullptr || !withLayout) return out;
  out += " with strides [";
  for (size_t i = 0; i < tensor->strides.size(); ++i) out += (i == 0 ? "" : ", ") + tensor->strides[i].text();
  return out + "] on " + text(tensor->device);
}

Diagnostic shapeFinding(const Node& node, std::string message) {
  Diagnostic diagnostic(std::move(message));
  diagnostic.node = node.name();
  diagnostic.nodeText = node.text();
  return diagnostic;
}

std::string differenceText(const Node& node, const ValueMeta& inferred) {
  const bool looksSame = inferred.text() == node.value()->text();
  return fmt::format("the call of '{}' gives {}, but its recorded value is {}", node.target().name(),
                     describeValue(inferred, looksSame), describeValue(*node.value(), looksSame));
}

void checkModuleShapes(const GraphModule& module, const std::string& path, const ShapeRules* own,
                       const detail::Assignments& assignments, std::vector<Diagnostic>& found) {
  for (const Node& node : module.graph().nodes()) {
    if (!node.isCall() || node.value() == nullptr) continue;
    try {
      const ValueRef inferred = inferValue(node, own);
      if (!inferred || detail::describeSame(inferred.get(), node.value(), assignments)) continue;
      found.push_back(shapeFinding(node, differenceText(node, *inferred)));
    } catch (const UsageError& error) {
      found.push_back(error.diagnostics().front());
    }
    found.back().graph = path;
  }
}

// One program without its delegates; `owner` is its path.
void checkProgramShapes(const ExportedProgram& program, const std::string& owner, const ShapeRules* own,
                        std::vector<Diagnostic>& found) {
  SymbolRanges ranges;
  for (const RangeConstraint& range : program.rangeConstraints) {
    const int64_t least = range.min.value_or(std::numeric_limits<int64_t>::min());
    const int64_t most = range.max.value_or(std::numeric_limits<int64_t>::max());
    if (least <= most) ranges.emplace(range.symbol, std::pair(least, most));
  }
  detail::Assignments assignments;
  assignments.limit = [&](std::string_view symbol, int64_t wanted) {
    return numberInside(ranges, symbol, wanted);
  };

  std::unordered_set<const GraphModule*> otherwise;  // where operators give other types
  for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
    if (otherwise.contains(nested.module)) {
      for (const GraphModule::Child& child : nested.module->children()) otherwise.insert(child.module.get());
      continue;
    }
    for (const Node& node : nested.module->graph().nodes()) {
      if (!node.isCall("higher_order.wrap_with_autocast")) continue;
      for (const GraphModule* branch : branchesOf(node, *nested.module)) otherwise.insert(branch);
    }
    checkModuleShapes(*nested.module, childPath(owner, nested.path), own, assignments, found);
  }
}

}  // namespace

std::vector<Diagnostic> checkShapes(const ExportedProgram& program, const ShapeRules* own) {
  std::vector<Diagnostic> found;
  detail::forEachProgram(program, [&](const ExportedProgram& at, const std::string& path) {
    checkProgramShapes(at, path, own, found);
  });
  return found;
}

}  // namespace edgefx
