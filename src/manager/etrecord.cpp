#include <edgefx/manager/etrecord.h>

#include "support/fail.h"

#include <algorithm>

namespace edgefx {

void EtRecord::record(std::string_view stage, std::string_view method, const ExportedProgram& program) {
  if (!program.isValid())
    detail::fail<UsageError>("expected a program to record, got one that was moved from");
  if (find(stage, method) != nullptr) {
    detail::fail<UsageError>("stage '{}' of method '{}' is recorded already", stage, method);
  }
  entries_.push_back(
      {std::string(stage), std::string(method), std::make_shared<const ExportedProgram>(program.clone())});
}

const ExportedProgram* EtRecord::find(std::string_view stage, std::string_view method) const {
  auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.stage == stage && entry.method == method;
  });
  return found == entries_.end() ? nullptr : found->program.get();
}

}  // namespace edgefx
