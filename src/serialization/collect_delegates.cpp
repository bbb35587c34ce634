#include "serialization/collect_delegates.h"

#include <edgefx/program/check_program.h>

#include "serialization/program_records.h"
#include "support/fail.h"

#include <algorithm>

namespace edgefx::detail {

void DelegateCollector::add(const ExportedProgram& program, bool verify) {
  depthBelow(program, verify, 0);
}

// The number of delegates, each inside the one before, that the program holds.
size_t DelegateCollector::depthBelow(const ExportedProgram& program, bool verify, size_t above) {
  size_t deepest = 0;
  for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
    for (const GraphModule::Delegate& delegate : nested.module->delegates()) {
      const LoweredModule& lowered = *delegate.module;
      auto known = numbers_.find(&lowered);
      if (known == numbers_.end()) {
        if (above >= kDeepestDelegate)
          fail<UnsupportedError>("delegates nested deeper than {} levels", kDeepestDelegate);
        size_t depth = 0;
        try {
          if (!lowered.program.isValid()) fail<UsageError>("the delegate's program was moved from");
          if (verify) verifyProgram(lowered.program);
          depth = 1 + depthBelow(lowered.program, verify, above + 1);
        } catch (Error& error) {
          error.addNote(fmt::format("in delegate '{}{}{}' of backend '{}'", nested.path,
                                    nested.path.empty() ? "" : ".", delegate.name, lowered.backendId));
          throw;
        }
        known = numbers_.emplace(&lowered, all_.size()).first;
        all_.push_back(&lowered);
        depths_.push_back(depth);
      }
      deepest = std::max(deepest, depths_[known->second]);
      if (above + deepest > kDeepestDelegate)
        fail<UnsupportedError>("delegates nested deeper than {} levels", kDeepestDelegate);
    }
  }
  return deepest;
}

}  // namespace edgefx::detail
