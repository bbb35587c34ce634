#pragma once

#include <edgefx/program/tensor_table.h>
#include <edgefx/serialization/pt2.h>

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

// What a file must bring back.
namespace edgefx::test {

std::string textOf(const NodeMeta& meta);

// Which earlier entry of the tables shares memory with each entry.
std::vector<size_t> sharingOf(const std::vector<const TensorTable*>& tables);

// Report failures of the running test. Delegates and the sharing between all tables included; the schema
// version of `after` must be the one that edgefx writes.
void expectEqualPrograms(const ExportedProgram& before, const ExportedProgram& after);
void expectEqualArchives(const Archive& before, const Archive& after);

// The records of a file by name, without the root folder of the archive layout.
std::map<std::string, std::string> recordsOf(const std::filesystem::path& path);

}  // namespace edgefx::test
