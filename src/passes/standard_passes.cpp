#include <edgefx/passes/standard.h>
#include <edgefx/support/error.h>

#include "support/fail.h"

#include <fmt/ranges.h>

#include <iterator>
#include <utility>

namespace edgefx {
namespace {

constexpr std::pair<std::string_view, PassRef (*)()> kStandardPasses[] = {
    {"common-subexpressions", commonSubexpressionsPass},
    {"constant-propagation", [] { return constantPropagationPass(); }},
    {"dead-code", deadCodePass},
    {"debug-handles", debugHandlesPass},
    {"fold-dequantize-quantize", foldDequantizeQuantizePass},
    {"fuse-views", fuseViewsPass},
    {"lift-attributes", liftAttributesPass},
    {"no-ops", noOpsPass},
    {"unused-inputs", unusedInputsPass},
};

}  // namespace

std::vector<std::string> standardPassNames() {
  std::vector<std::string> names;
  for (const auto& [name, make] : kStandardPasses) names.emplace_back(name);
  return names;
}

PassRef makePass(std::string_view name) {
  for (const auto& [known, make] : kStandardPasses) {
    if (known == name) return make();
  }
  detail::fail<UsageError>("there is no pass '{}'; known are '{}'", name,
                           fmt::join(standardPassNames(), "', '"));
}

}  // namespace edgefx
