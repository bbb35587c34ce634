#pragma once

#include <edgefx/program/check_program.h>

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace edgefx::detail {

// Keeps the first kMostProgramFindings diagnostics and counts the others.
class Findings {
 public:
  // Whether the next one will be kept; if not, it is counted already.
  bool wantsNext() {
    if (kept_.size() < kMostProgramFindings) return true;
    ++dropped_;
    return false;
  }
  void add(Diagnostic diagnostic) { kept_.push_back(std::move(diagnostic)); }
  void add(std::vector<Diagnostic> diagnostics) {
    for (Diagnostic& diagnostic : diagnostics) {
      if (wantsNext()) add(std::move(diagnostic));
    }
  }

  std::vector<Diagnostic> take() && {
    if (dropped_ != 0) kept_.emplace_back(fmt::format("found {} more violations, not shown", dropped_));
    return std::move(kept_);
  }

 private:
  std::vector<Diagnostic> kept_;
  size_t dropped_ = 0;
};

}  // namespace edgefx::detail
