#pragma once

#include <edgefx/program/check_program.h>
#include <edgefx/text/program_text.h>

#include <string>
#include <string_view>

namespace edgefx::test {

// The program of a text in the middle of a test: `body` is what follows the name of the method. It must hold
// together, so that a test begins with what it means to begin with.
inline ExportedProgram programFromText(std::string_view body) {
  ExportedProgram program = parseProgram("edgefx text 1\nmethod \"forward\"" + std::string(body), "test");
  verifyProgram(program);
  return program;
}

}  // namespace edgefx::test
