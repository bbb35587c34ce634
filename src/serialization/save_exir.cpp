#include <edgefx/program/check_program.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/serialization/exir.h>

#include "serialization/collect_delegates.h"
#include "serialization/exir_json.h"
#include "serialization/naming_file.h"
#include "serialization/torch_save_writer.h"
#include "serialization/zip_writer.h"
#include "support/fail.h"

#include <span>

namespace edgefx {
namespace detail {
namespace {

constexpr std::string_view kExtra = "extra/";

void saveExirRecords(const ExportedProgram& program, std::span<const Archive::Record> foreign,
                     const std::filesystem::path& path, const SaveOptions& options) {
  if (!program.isValid()) fail<UsageError>("the program was moved from");
  if (options.verify) verifyProgram(program);
  DelegateCollector().add(program, options.verify);
  ZipWriter zip(path);
  auto add = [&](std::string_view name, std::string_view text) {
    zip.add(name, std::as_bytes(std::span(text)));
  };
  add("serialized_exported_program.json", exirJson(program));
  add("serialized_state_dict.pt", torchSave(program.stateDict()));
  add("serialized_constants.pt", torchSave(program.constants()));
  add("serialized_example_inputs.pt", program.exampleInputs.text());
  add("version", fmt::format("{}.{}", kExirSchema.major, kExirSchema.minor));
  for (const Archive::Record& record : foreign) {
    std::string_view name = record.name;
    if (name.starts_with(kExtra)) {
      add(fmt::format("extra_files/{}", name.substr(kExtra.size())), record.bytes.text());
    } else {
      add(name, record.bytes.text());
    }
  }
  zip.finish();
}

}  // namespace
}  // namespace detail

void saveExir(const ExportedProgram& program, const std::filesystem::path& path, const SaveOptions& options) {
  detail::namingFile(path, [&] { detail::saveExirRecords(program, {}, path, options); });
}

void saveExir(const Archive& archive, const std::filesystem::path& path, const SaveOptions& options) {
  detail::namingFile(path, [&] {
    if (archive.models.size() != 1) {
      detail::fail<UnsupportedError>("ExecuTorch's form holds one program, the archive has {}",
                                     archive.models.size());
    }
    detail::saveExirRecords(archive.models.front().program, archive.foreign, path, options);
  });
}

}  // namespace edgefx
