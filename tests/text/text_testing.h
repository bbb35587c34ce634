#pragma once

#include <edgefx/program/compare_programs.h>
#include <edgefx/text/program_text.h>

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <string_view>

namespace edgefx::test {

inline const ProgramTextOptions kAllBytes{.mostBytes = std::numeric_limits<size_t>::max()};

// Prints, reads and prints again: the programs and the texts must be the same. Returns the text.
inline std::string expectTextRoundTrip(const ExportedProgram& program) {
  const std::string text = programText(program, kAllBytes);
  try {
    const ExportedProgram again = parseProgram(text, "printed");
    const std::optional<Diagnostic> difference = findContentDifference(program, again);
    EXPECT_FALSE(difference.has_value()) << difference->render();
    EXPECT_EQ(programText(again, kAllBytes), text);
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
  }
  return text;
}

// Expects the text to be refused, and returns the message.
template <typename Read>
std::string refusalOfText(Read&& read) {
  try {
    read();
  } catch (const ParseError& error) {
    return error.diagnostics().front().message;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace edgefx::test
