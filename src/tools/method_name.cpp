#include "tools/command.h"

#include <string_view>

namespace edgefx::tools {

std::string methodName(const Archive& archive, const Archive::Model& model) {
  constexpr std::string_view kOnlyModel = "model";
  constexpr std::string_view kOnlyMethod = "forward";
  const bool isOnly = archive.models.size() == 1 && model.name == kOnlyModel;
  return isOnly ? std::string(kOnlyMethod) : model.name;
}

}  // namespace edgefx::tools
