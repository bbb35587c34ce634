#pragma once

#include <edgefx/ir/target.h>

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace edgefx::detail {

// Operators as options list them: "aten.linear.default", or "aten.linear" for every overload, of either
// dialect.
class OperatorNames {
 public:
  // Throws UsageError for names that are none.
  explicit OperatorNames(const std::vector<std::string>& names) {
    for (const std::string& name : names) names_.emplace(Target(name).name());
  }

  // O(log names).
  bool lists(Target target) const {
    if (names_.empty()) return false;
    const std::string_view name = target.name();
    if (names_.contains(name)) return true;
    return target.isOperator() &&
           names_.contains(name.substr(0, target.ns().size() + 1 + target.op().size()));
  }

 private:
  std::set<std::string, std::less<>> names_;
};

}  // namespace edgefx::detail
