#include "serialization/upgrade_json.h"

#include <edgefx/support/warning.h>

#include "serialization/json_upgrader.h"

namespace edgefx::detail {

std::string upgradeProgramJson(simdjson::dom::element program, int64_t major, const NameSet& stateDict,
                               std::vector<ExirDelegate>* delegates) {
  JsonUpgrader upgrader(major, stateDict);
  upgrader.program(program);
  if (!upgrader.lost().empty()) warn({"schema", upgrader.lost()});
  if (delegates != nullptr) *delegates = upgrader.takeDelegates();
  return upgrader.take();
}

}  // namespace edgefx::detail
