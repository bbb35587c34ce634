#include "serialization/upgrade_json.h"

#include <edgefx/support/warning.h>

#include "serialization/json_upgrader.h"

namespace edgefx::detail {

std::string upgradeProgramJson(simdjson::dom::element program, int64_t major, const NameSet& stateDict) {
  JsonUpgrader upgrader(major, stateDict);
  upgrader.program(program);
  if (!upgrader.lost().empty()) warn({"schema", upgrader.lost()});
  return upgrader.take();
}

}  // namespace edgefx::detail
