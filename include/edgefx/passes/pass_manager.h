#pragma once

#include <edgefx/passes/pass.h>
#include <edgefx/support/error.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace edgefx {

// A pass that is about to run, or has run.
struct PassEvent {
  std::string_view pass;
  size_t index;             // of the pass among those of the manager
  std::string_view method;  // empty if it is not known
  const ExportedProgram& program;
  bool changed;  // what the pass said; false before it runs
};

struct PassFailure {
  std::string_view method;
  std::vector<std::string> passes;  // names of the one that failed and of those that were to follow
  const ExportedProgram& program;   // as it was before the pass that failed
  const Error& error;
};

// Functions that are called while passes run; each may be empty.
struct PassObserver {
  std::function<void(const PassEvent& event)> beforePass{};
  // Called when the program has been checked. What it throws counts as a failure of the pass.
  std::function<void(const PassEvent& event)> afterPass{};
  // To write a reproducer, say. Costs a copy of the graphs for every pass. What it throws is noted on the
  // error of the pass.
  std::function<void(const PassFailure& failure)> onFailure{};
};

// Passes in the order in which they run, and who watches them. A value; running it does not change it.
class PassManager {
 public:
  PassManager() = default;
  // As add() does it.
  explicit PassManager(std::vector<PassRef> passes);

  // One pass may be added several times. Throws UsageError if it is null or has no name.
  PassManager& add(PassRef pass);
  // Observers are asked in the order in which they were added.
  PassManager& observe(PassObserver observer);
  // Whether the program is checked after every pass (see checkProgram); it is unless this switches it off.
  PassManager& setChecking(bool checks);

  std::vector<std::string> names() const;

  // Runs the passes on a copy that shares the weights; the program given never changes. Returns the program
  // given if it still is what it was, else the copy.
  //
  // An error names the pass, and the method if it is given, and keeps its class; what is no Error is nested
  // in a LoweringError (std::rethrow_if_nested gives it back). VerificationError if a pass leaves a program
  // that does not hold together, or a placeholder that reads what another one did. UsageError for a null
  // program and for one that was moved from. O(nodes + specs + entries) for each pass, beside what it takes
  // itself.
  std::shared_ptr<const ExportedProgram> run(std::shared_ptr<const ExportedProgram> program,
                                             std::string_view method = {}) const;
  // The same for a program by itself, which becomes what the passes made of it, or stays as it is if one of
  // them fails. Returns whether it is another than before.
  bool run(ExportedProgram& program, std::string_view method = {}) const;

 private:
  // Null if nothing changed.
  std::unique_ptr<ExportedProgram> runOnCopy(const ExportedProgram& program, std::string_view method) const;

  std::vector<PassRef> passes_;
  std::vector<PassObserver> observers_;
  bool checks_ = true;
};

}  // namespace edgefx
