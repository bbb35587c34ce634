#pragma once

#include <edgefx/program/lowered_module.h>
#include <edgefx/serialization/pt2.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace edgefx {

// A delegate of a program, and where it hangs.
struct DelegatePayload {
  std::string method;
  std::string path;  // dotted: graph modules, delegates around it, its own name
  const LoweredModule* module;
};

// The delegates of a program in the order of the graph modules and of being added, each followed by those of
// its own program; one that hangs in several places comes with each. Valid as long as the program. Throws
// UnsupportedError if they are nested deeper than 32 levels.
std::vector<DelegatePayload> delegatePayloads(const ExportedProgram& program, std::string_view method);

// "METHOD.PATH.bin", in which every character of the method and the path but letters, digits, '_', '-' and
// the dots of the path is written as %XX: a plain file name, different for different delegates.
std::string payloadFileName(const DelegatePayload& payload);

// Writes each payload as it is to a file of that name in `folder`, which is made if it does not exist, with
// the models as methods. Returns the paths, in order. Throws Error if a file cannot be written.
std::vector<std::filesystem::path> exportPayloads(const Archive& archive,
                                                  const std::filesystem::path& folder);

}  // namespace edgefx
