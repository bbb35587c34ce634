#pragma once

#include <edgefx/program/exported_program.h>

#include "support/test_data.h"

#include <filesystem>
#include <optional>
#include <set>
#include <string>

// What PyTorch computed for the programs of the corpus.
namespace edgefx::test {

// The file of torch.save with the results of a program, null if there is none. Programs before and after
// decomposition may share one.
std::optional<std::filesystem::path> expectedResults(const CorpusProgram& program);

// Programs that this LibTorch cannot run, and why: Python functions for batching that have no counterpart in
// it, and dtypes that LibTorch has from 2.3 on.
const std::set<std::string>& cannotRunHere();

}  // namespace edgefx::test
