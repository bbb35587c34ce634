#include "rewrite/input_place.h"

#include <algorithm>
#include <vector>

namespace edgefx::detail {

InputPlace placeOfStoredInputs(ExportedProgram& program) {
  const std::vector<InputSpec>& specs = program.signature.inputs;
  const std::vector<Node*> placeholders = program.graph().placeholders();
  const auto user = std::ranges::find(specs, InputKind::UserInput, &InputSpec::kind);
  InputPlace place;
  place.position = std::min(static_cast<size_t>(user - specs.begin()), placeholders.size());
  Node* const behind = place.position < placeholders.size() ? placeholders[place.position]
                       : placeholders.empty()               ? program.graph().front()
                                                            : placeholders.back()->next();
  if (behind != nullptr) place.point = before(*behind);
  return place;
}

}  // namespace edgefx::detail
