#include <edgefx/backend/lower_program.h>
#include <edgefx/program/check_program.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/support/warning.h>

#include "program/taken_targets.h"
#include "support/fail.h"
#include "support/guarded_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <mutex>
#include <string>
#include <typeindex>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace edgefx {
namespace {

void warnOfFirstUse(const OpBackend& backend) {
  static std::mutex mutex;
  static auto& used = *new std::unordered_set<std::type_index>();
  {
    std::lock_guard lock(mutex);
    if (!used.insert(typeid(backend)).second) return;
  }
  warn({"experimental",
        fmt::format("operator backends are experimental, and their interface may change (backend '{}')",
                    backend.name())});
}

std::string placeholderNote(const ExportedProgram& program) {
  static constexpr size_t kMostNames = 12;
  const auto placeholders = program.graph().placeholders();
  std::string note = "placeholders of the graph returned:";
  for (size_t i = 0; i < std::min(placeholders.size(), kMostNames); ++i) {
    note += fmt::format("{} %{}", i == 0 ? "" : ",", placeholders[i]->name());
  }
  if (placeholders.empty()) return note + " none";
  if (placeholders.size() > kMostNames)
    note += fmt::format(", and {} more", placeholders.size() - kMostNames);
  return note;
}

// Tells of each violation whether it is the signature's, so that the placeholders help, and whether the
// backend was given the fault.
void addNotes(std::vector<Diagnostic>& violations, const ExportedProgram& before,
              const ExportedProgram& after) {
  auto textsOf = [](const std::vector<Diagnostic>& diagnostics) {
    std::unordered_set<std::string> texts;
    for (const Diagnostic& diagnostic : diagnostics) texts.insert(diagnostic.render());
    return texts;
  };
  const auto signatureFaults = textsOf(checkSignature(after));
  const auto oldFaults = textsOf(checkProgram(before));
  const std::string placeholders = placeholderNote(after);
  for (Diagnostic& violation : violations) {
    const std::string text = violation.render();
    if (signatureFaults.count(text) != 0) violation.notes.push_back(placeholders);
    if (oldFaults.count(text) != 0)
      violation.notes.emplace_back("the program given to the backend has this fault, too");
  }
}

void checkLowered(const ExportedProgram& before, const ExportedProgram& after, const Diagnostic& place) {
  if (!after.isValid()) {
    Diagnostic diagnostic = place;
    diagnostic.message = "the backend must return a program, got one that was moved from";
    throw LoweringError(std::move(diagnostic));
  }

  std::vector<Diagnostic> violations = checkProgram(after);
  if (!violations.empty()) addNotes(violations, before, after);
  std::vector<Diagnostic> taken = detail::findTakenTargets(before, after);
  std::move(taken.begin(), taken.end(), std::back_inserter(violations));
  if (violations.empty()) return;

  LoweringError error(std::move(violations));
  error.fillIn(place);
  throw error;
}

}  // namespace

ExportedProgram lowerProgram(const ExportedProgram& program, const OpBackend& backend,
                             std::string_view methodName) {
  if (!program.isValid())
    detail::fail<UsageError>("expected a program to lower, got one that was moved from");
  Diagnostic place;
  place.backend = backend.name();
  place.method = methodName;

  warnOfFirstUse(backend);
  ExportedProgram lowered =
      detail::guardedCall(place, "the backend", [&] { return backend.lower(program.clone(), methodName); });
  checkLowered(program, lowered, place);
  return lowered;
}

}  // namespace edgefx
