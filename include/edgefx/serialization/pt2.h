#pragma once

#include <edgefx/program/exported_program.h>
#include <edgefx/support/shared_bytes.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace edgefx {

// Paths of ExportedProgram::unknownMembers, by the object that held the members: "" the program;
// "graph_module"; G = "graph_module.graph", or "graph_module.graph/<dotted path>" of a nested graph; G +
// ".nodes[<name>]", that +
// ".inputs[<index>]"; G + ".tensor_values[<name>]"; "graph_module.signature", that + ".input_specs[<index>]"
// and
// ".output_specs[<index>]"; "graph_module.module_call_graph[<fqn>]", that + ".signature";
// "range_constraints[<symbol>]"; "schema_version"; "weights_config[<fqn>]", "constants_config[<fqn>]".

struct LoadOptions {
  // Compare the CRC-32 of weight records with the zip directory. Reads every byte of the weights, which are
  // otherwise mapped and not touched. The program and the small records are always checked.
  bool checkWeights = false;
  // Run checkProgram on each model and refuse it if there are violations.
  bool verify = true;
};

struct SaveOptions {
  // Run checkProgram on each model first.
  bool verify = true;
};

// What a .pt2 file holds: its models by name, and the records that edgefx does not make anew.
struct Archive {
  struct Model {
    std::string name;
    ExportedProgram program;
  };
  struct Record {
    std::string name;  // without the root folder
    SharedBytes bytes;
  };

  std::vector<Model> models;
  // User files ("extra/..."), compiled code, other tools' data: written back byte for byte, in order.
  std::vector<Record> foreign;

  // The model's program. Throws UsageError listing the names if there is no such model.
  ExportedProgram& program(std::string_view name);
  const ExportedProgram& program(std::string_view name) const {
    return const_cast<Archive*>(this)->program(name);
  }
};

// Reads a .pt2 file of torch 2.1 to 2.14 in any of its layouts. Weights are views of the mapped file where a
// record is stored uncompressed and its address fits the element size: they stay valid as long as any tensor
// of them lives, also when the file is replaced; writing to them does not reach the file. Nothing in the file
// is executed. Throws ParseError naming file, record and item if the file is damaged, not understood, or
// breaks a rule of the format, UnsupportedError for schema versions it cannot read, VerificationError if a
// model does not hold together.
Archive loadArchive(const std::filesystem::path& path, const LoadOptions& options = {});

// Reads one model: the one called `model`, or if that is empty the one called "model", or else the only one.
// Throws as loadArchive; UsageError listing the names if there is no such model.
ExportedProgram loadProgram(const std::filesystem::path& path, std::string_view model = {},
                            const LoadOptions& options = {});

// Writes the archive layout of torch 2.9 and later (schema 8.20), which torch.export.load of 2.14 reads:
// operators by their ATen names, also for edge programs, whose dialect goes into a record of edgefx's own.
// The bytes depend on nothing but the archive. The file appears under its name only when it is complete; an
// existing one is replaced. Throws VerificationError if a model does not hold together, UnsupportedError for
// what the format cannot hold, Error if the file cannot be written.
void saveArchive(const Archive& archive, const std::filesystem::path& path, const SaveOptions& options = {});
void saveProgram(const ExportedProgram& program, const std::filesystem::path& path,
                 const SaveOptions& options = {});

}  // namespace edgefx
