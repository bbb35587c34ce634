#pragma once

#include <edgefx/serialization/pt2.h>

#include <filesystem>

namespace edgefx {

// Writes a program as the `serialize` module of Python's ExecuTorch does (executorch.exir.serde, schema 5.4),
// so that it can be loaded there: edge operators under their own names, delegates in place of the arguments
// that name them. loadArchive and loadProgram read the form, too.
//
// The form has no place for some things. Left out: which arguments were given by name where both would do,
// metadata of graph modules, argument names of forward, field names of named tuples, guards, offsets in
// described tensors, assumptions about symbols, debug handle maps, and that delegates share weights with the
// program around them. Throws UnsupportedError for what cannot be left out, such as lists of lists or
// symbolic floats, VerificationError if the program or that of a delegate does not hold together, Error if
// the file cannot be written.
void saveExir(const ExportedProgram& program, const std::filesystem::path& path,
              const SaveOptions& options = {});

// The same for an archive of one model, whose foreign records are written, too.
void saveExir(const Archive& archive, const std::filesystem::path& path, const SaveOptions& options = {});

}  // namespace edgefx
