#pragma once

#include <edgefx/program/exported_program.h>

#include <map>
#include <string>
#include <vector>

namespace edgefx::test {

// What a program computes, whatever the order and the names of its nodes and whichever parts were delegated:
// an expression's text is its outermost operator and a hash of all of it. Delegates count as the program they
// were made of, branches as functions. Stored tensors are known by their name and memory.
struct Computation {
  std::vector<std::string> outputs;  // of the user, constants included
  std::map<std::string, std::string>
      written;                       // new values of buffers, parameters and inputs, by kind and name
  std::vector<std::string> effects;  // calls without users, sorted; delegate calls not included
  std::vector<std::string> separatedBuffers;  // written ones that more than one program holds, which is wrong

  bool operator==(const Computation&) const = default;
};

// Throws std::runtime_error if a delegate cannot be found or called.
Computation computationOf(const ExportedProgram& program);

// Fails the test where `lowered` computes something else than `original`, or holds a written buffer twice.
void expectSameComputation(const ExportedProgram& original, const ExportedProgram& lowered);

}  // namespace edgefx::test
