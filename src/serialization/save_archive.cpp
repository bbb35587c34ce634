#include <edgefx/program/check_program.h>
#include <edgefx/serialization/pt2.h>

#include "serialization/byte_text.h"
#include "serialization/collect_delegates.h"
#include "serialization/edge_record.h"
#include "serialization/lowered_record.h"
#include "serialization/naming_file.h"
#include "serialization/program_records.h"
#include "serialization/write_program.h"
#include "serialization/write_weights.h"
#include "serialization/zip_format.h"
#include "serialization/zip_writer.h"
#include "support/fail.h"
#include "support/text_hash.h"

#include <bit>
#include <functional>
#include <memory>
#include <unordered_set>
#include <vector>

namespace edgefx {
namespace detail {
namespace {

struct SavedModel {
  std::string_view name;
  const ExportedProgram& program;
};

std::span<const std::byte> bytesOf(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// The archive's folder, which is the file's name without its last extension. Readers give it no meaning.
std::string rootFolder(const std::filesystem::path& path) {
  std::string stem = path.stem().string();
  bool isFit = isUtf8(stem) && zip::nameFault(stem).empty() && stem.find('/') == std::string::npos;
  return isFit ? stem : "archive";
}

// 64 bits that depend on everything mixed in and on its order.
class Fingerprint {
 public:
  void mix(std::string_view text) {
    for (char c : text) mixByte(static_cast<unsigned char>(c));
    mixByte(0xff);  // in no UTF-8 text: ends the name
  }
  void mix(uint32_t number) {
    for (int i = 0; i < 4; ++i) mixByte(static_cast<unsigned char>(number >> (8 * i)));
  }
  uint64_t value() const { return hash_; }

 private:
  void mixByte(unsigned char byte) { hash_ = (hash_ ^ byte) * 0x100000001b3; }  // FNV-1a
  uint64_t hash_ = 0xcbf29ce484222325;
};

// The records of the archive, in order; keeps account of names and checksums.
class ArchiveWriter {
 public:
  ArchiveWriter(const std::filesystem::path& path) : zip_(path, rootFolder(path)) {}

  void add(std::string_view name, std::span<const std::byte> bytes) {
    if (!names_.emplace(name).second)
      fail<UsageError>("two records of the archive have the name '{}'", printable(name));
    fingerprintOfNames_.mix(name);
    fingerprintOfBytes_.mix(zip_.add(name, bytes));
  }
  void add(std::string_view name, std::string_view text) { add(name, bytesOf(text)); }

  // Makes the programs known that are to be added, before the first is.
  void survey(const SavedModel& model, bool verify);
  // With the delegates that no earlier model has.
  void addModel(const SavedModel& model);
  void addForeign(const Archive::Record& record);
  void finish();

 private:
  void addProgram(const ExportedProgram& program, const ProgramRecords& records);
  void addTable(const ExportedProgram& program, PayloadTable table, const ProgramRecords& records);
  void addEdgeRecord(const ExportedProgram& program, const ProgramRecords& records);

  ZipWriter zip_;
  std::unordered_set<std::string, TextHash, std::equal_to<>> names_;
  Fingerprint fingerprintOfNames_, fingerprintOfBytes_;
  PayloadWriter payloads_{
      [this](const std::string& name, std::span<const std::byte> bytes) { add(name, bytes); }};
  LoweredWriter lowered_{
      [this](const std::string& name, std::span<const std::byte> bytes) { add(name, bytes); }};
  DelegateCollector delegates_;
  std::vector<size_t> delegatesUpTo_;  // by model: number of delegates of it and those before it
  size_t addedModels_ = 0, addedDelegates_ = 0;
};

// Runs `write`; errors that pass through are told the record.
template <typename Write>
void writingRecord(const std::string& record, Write&& write) {
  try {
    write();
  } catch (Error& error) {
    Diagnostic known;
    known.record = record;
    error.fillIn(known);
    throw;
  }
}

constexpr std::string_view kLastRecords[] = {"archive_format", "archive_version", ".data/version",
                                             "byteorder", ".data/serialization_id"};

void ArchiveWriter::survey(const SavedModel& model, bool verify) {
  payloads_.survey(model.program);
  const size_t known = delegates_.all().size();
  delegates_.add(model.program, verify);
  for (size_t i = known; i < delegates_.all().size(); ++i) payloads_.survey(delegates_.all()[i]->program);
  delegatesUpTo_.push_back(delegates_.all().size());
}

void ArchiveWriter::addTable(const ExportedProgram& program, PayloadTable table,
                             const ProgramRecords& records) {
  const std::string& record = table == PayloadTable::Weights ? records.weights : records.constants;
  writingRecord(record, [&] { add(record, payloads_.write(program, table, records.hasLongPaths)); });
}

void ArchiveWriter::addProgram(const ExportedProgram& program, const ProgramRecords& records) {
  addTable(program, PayloadTable::Weights, records);
  addTable(program, PayloadTable::Constants, records);
  writingRecord(records.json, [&] {
    JsonWriter json;
    writeProgram(json, program);
    add(records.json, json.text());
  });
  add(records.inputs, program.exampleInputs.bytes());
  addEdgeRecord(program, records);
}

void ArchiveWriter::addEdgeRecord(const ExportedProgram& program, const ProgramRecords& records) {
  if (!needsEdgeRecord(program)) return;
  writingRecord(records.edge, [&] { add(records.edge, edgeRecord(program, delegates_.numbers())); });
}

void ArchiveWriter::addModel(const SavedModel& model) {
  addProgram(model.program, recordsOfModel(model.name));
  for (; addedDelegates_ < delegatesUpTo_[addedModels_]; ++addedDelegates_) {
    const LoweredModule& module = *delegates_.all()[addedDelegates_];
    writingRecord(loweredRecord(addedDelegates_, "module.json"),
                  [&] { lowered_.write(module, addedDelegates_); });
    addProgram(module.program, recordsOfLowered(addedDelegates_));
  }
  ++addedModels_;
}

void ArchiveWriter::addForeign(const Archive::Record& record) {
  for (std::string_view own : kLastRecords) {
    if (record.name == own) fail<UsageError>("record '{}' is one that saving makes", own);
  }
  add(record.name, record.bytes.bytes());
}

void ArchiveWriter::finish() {
  const std::string_view texts[] = {"pt2", "0", "6\n",
                                    std::endian::native == std::endian::little ? "little" : "big"};
  for (size_t i = 0; i < std::size(texts); ++i) add(kLastRecords[i], texts[i]);
  add(kLastRecords[4], fmt::format("{:020}{:020}", fingerprintOfNames_.value(), fingerprintOfBytes_.value()));
  zip_.finish();
}

void checkModel(const SavedModel& model, bool verify) {
  if (!model.program.isValid()) fail<UsageError>("model '{}' was moved from", printable(model.name));
  if (model.name.empty()) fail<UsageError>("a model has no name");
  if (!isUtf8(model.name)) fail<UsageError>("model name '{}' is not UTF-8", printable(model.name));
  if (verify) verifyProgram(model.program);
}

// Runs `use`; errors that pass through are told the model.
template <typename Use>
void namingModel(const SavedModel& model, Use&& use) {
  try {
    use();
  } catch (Error& error) {
    Diagnostic known;
    known.method = model.name;
    error.fillIn(known);
    throw;
  }
}

void save(std::span<const SavedModel> models, std::span<const Archive::Record> foreign,
          const std::filesystem::path& path, const SaveOptions& options) {
  namingFile(path, [&] {
    if (models.empty()) fail<UsageError>("the archive has no model");
    for (const SavedModel& model : models) {
      namingModel(model, [&] { checkModel(model, options.verify); });
    }
    ArchiveWriter writer(path);
    for (const SavedModel& model : models) {
      namingModel(model, [&] { writer.survey(model, options.verify); });
    }
    for (const SavedModel& model : models) writer.addModel(model);
    for (const Archive::Record& record : foreign) writer.addForeign(record);
    writer.finish();
  });
}

}  // namespace
}  // namespace detail

void saveArchive(const Archive& archive, const std::filesystem::path& path, const SaveOptions& options) {
  std::vector<detail::SavedModel> models;
  for (const Archive::Model& model : archive.models) models.push_back({model.name, model.program});
  detail::save(models, archive.foreign, path, options);
}

void saveProgram(const ExportedProgram& program, const std::filesystem::path& path,
                 const SaveOptions& options) {
  const detail::SavedModel model{"model", program};
  detail::save({&model, 1}, {}, path, options);
}

}  // namespace edgefx
