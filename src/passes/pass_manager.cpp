#include <edgefx/passes/pass_manager.h>
#include <edgefx/program/check_program.h>
#include <edgefx/program/compare_programs.h>
#include <edgefx/program/tensor_table.h>

#include "program/taken_targets.h"
#include "support/fail.h"
#include "support/guarded_call.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>

namespace edgefx {
namespace {

// Signature and tables, without the graph.
ExportedProgram booksOf(const ExportedProgram& program) {
  ExportedProgram books;
  books.signature = program.signature;
  books.stateDict() = program.stateDict();
  books.constants() = program.constants();
  return books;
}

// `given`: the program that the first pass was given, null for the passes after it.
void checkAfterPass(const ExportedProgram& program, const ExportedProgram& books,
                    const ExportedProgram* given) {
  std::vector<Diagnostic> violations = checkProgram(program);
  if (!violations.empty() && given != nullptr) {
    std::unordered_set<std::string> old;
    for (const Diagnostic& violation : checkProgram(*given)) old.insert(violation.render());
    for (Diagnostic& violation : violations) {
      if (old.contains(violation.render()))
        violation.notes.emplace_back("the program given to the pass has this fault, too");
    }
  }
  std::vector<Diagnostic> taken = detail::findTakenTargets(books, program);
  std::move(taken.begin(), taken.end(), std::back_inserter(violations));
  if (!violations.empty()) throw VerificationError(std::move(violations));
}

}  // namespace

PassManager::PassManager(std::vector<PassRef> passes) {
  for (PassRef& pass : passes) add(std::move(pass));
}

PassManager& PassManager::add(PassRef pass) {
  if (pass == nullptr) detail::fail<UsageError>("expected a pass, found null");
  if (pass->name().empty()) detail::fail<UsageError>("a pass needs a name, found an empty one");
  passes_.push_back(std::move(pass));
  return *this;
}

PassManager& PassManager::observe(PassObserver observer) {
  observers_.push_back(std::move(observer));
  return *this;
}

PassManager& PassManager::setChecking(bool checks) {
  checks_ = checks;
  return *this;
}

std::vector<std::string> PassManager::names() const {
  std::vector<std::string> names;
  for (const PassRef& pass : passes_) names.emplace_back(pass->name());
  return names;
}

std::unique_ptr<ExportedProgram> PassManager::runOnCopy(const ExportedProgram& program,
                                                        std::string_view method) const {
  if (!program.isValid()) detail::fail<UsageError>("expected a program, got one that was moved from");
  if (passes_.empty()) return nullptr;
  const bool isWatched = std::ranges::any_of(
      observers_, [](const PassObserver& observer) { return observer.onFailure != nullptr; });
  auto working = std::make_unique<ExportedProgram>(program.clone());
  for (size_t i = 0; i < passes_.size(); ++i) {
    const Pass& pass = *passes_[i];
    Diagnostic place;
    place.pass = pass.name();
    place.method = method;
    const ExportedProgram before = isWatched ? working->clone() : ExportedProgram();
    const auto notify = [&](auto hook, bool isChanged) {
      for (const PassObserver& observer : observers_) {
        if (!(observer.*hook)) continue;
        const PassEvent event{pass.name(), i, method, *working, isChanged};
        detail::guardedCall(place, "an observer of the pass", [&] { (observer.*hook)(event); });
      }
    };
    try {
      notify(&PassObserver::beforePass, false);
      const ExportedProgram books = checks_ ? booksOf(*working) : ExportedProgram();
      const bool isChanged = detail::guardedCall(place, "the pass", [&] { return pass.run(*working); });
      detail::guardedCall(place, "the check", [&] {
        if (!working->isValid())
          detail::fail<VerificationError>("the pass left a program that was moved from");
        if (checks_) checkAfterPass(*working, books, i == 0 ? &program : nullptr);
      });
      notify(&PassObserver::afterPass, isChanged);
    } catch (Error& error) {
      for (const PassObserver& observer : observers_) {
        if (!observer.onFailure) continue;
        const std::vector<std::string> all = names();
        try {
          observer.onFailure(
              {method, {all.begin() + static_cast<std::ptrdiff_t>(i), all.end()}, before, error});
        } catch (const std::exception& other) {
          error.addNote(std::string("an observer failed, too: ") + other.what());
        } catch (...) {
          error.addNote("an observer failed, too");
        }
      }
      throw;
    }
  }
  return findDifference(program, *working) ? std::move(working) : nullptr;
}

std::shared_ptr<const ExportedProgram> PassManager::run(std::shared_ptr<const ExportedProgram> program,
                                                        std::string_view method) const {
  if (program == nullptr) detail::fail<UsageError>("expected a program, found null");
  std::unique_ptr<ExportedProgram> made = runOnCopy(*program, method);
  return made == nullptr ? std::move(program) : std::shared_ptr<const ExportedProgram>(std::move(made));
}

bool PassManager::run(ExportedProgram& program, std::string_view method) const {
  std::unique_ptr<ExportedProgram> made = runOnCopy(program, method);
  if (made == nullptr) return false;
  program = std::move(*made);
  return true;
}

}  // namespace edgefx
