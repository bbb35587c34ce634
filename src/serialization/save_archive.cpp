#include <edgefx/program/check_program.h>
#include <edgefx/serialization/pt2.h>

#include "serialization/byte_text.h"
#include "serialization/edge_record.h"
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

  void addModel(const SavedModel& model);
  void addForeign(const Archive::Record& record);
  void finish();

 private:
  ZipWriter zip_;
  std::unordered_set<std::string, TextHash, std::equal_to<>> names_;
  Fingerprint fingerprintOfNames_, fingerprintOfBytes_;
  PayloadWriter payloads_{
      [this](const std::string& name, std::span<const std::byte> bytes) { add(name, bytes); }};
};

constexpr std::string_view kLastRecords[] = {"archive_format", "archive_version", ".data/version",
                                             "byteorder", ".data/serialization_id"};

void ArchiveWriter::addModel(const SavedModel& model) {
  std::string record;
  try {
    for (PayloadTable table : {PayloadTable::Weights, PayloadTable::Constants}) {
      record = table == PayloadTable::Weights
                   ? fmt::format("data/weights/{}_weights_config.json", model.name)
                   : fmt::format("data/constants/{}_constants_config.json", model.name);
      std::string config = payloads_.write(model.program, table);
      add(record, config);
    }
    record = fmt::format("models/{}.json", model.name);
    JsonWriter json;
    writeProgram(json, model.program);
    add(record, json.text());
  } catch (Error& error) {
    Diagnostic known;
    known.record = record;
    error.fillIn(known);
    throw;
  }
  add(fmt::format("data/sample_inputs/{}.pt", model.name), model.program.exampleInputs.bytes());
  if (model.program.dialect == Dialect::Edge) {
    add(edgeRecordName(model.name), edgeRecord(model.program));
  }
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

void save(std::span<const SavedModel> models, std::span<const Archive::Record> foreign,
          const std::filesystem::path& path, const SaveOptions& options) {
  try {
    if (models.empty()) fail<UsageError>("the archive has no model");
    for (const SavedModel& model : models) {
      try {
        checkModel(model, options.verify);
      } catch (Error& error) {
        Diagnostic known;
        known.method = model.name;
        error.fillIn(known);
        throw;
      }
    }
    ArchiveWriter writer(path);
    for (const SavedModel& model : models) writer.addModel(model);
    for (const Archive::Record& record : foreign) writer.addForeign(record);
    writer.finish();
  } catch (Error& error) {
    Diagnostic known;
    known.file = path.string();
    error.fillIn(known);
    throw;
  }
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
