#include "serialization/read_weights.h"

#include "serialization/byte_text.h"
#include "serialization/read_values.h"
#include "serialization/torch_save_archive.h"
#include "support/fail.h"
#include "support/json_writer.h"
#include "support/strided_extent.h"

#include <algorithm>
#include <array>

namespace edgefx::detail {

namespace {

constexpr std::array<std::string_view, 4> kPayloadMembers = {"path_name", "is_param", "use_pickle",
                                                             "tensor_meta"};
constexpr std::array<std::string_view, 1> kConfigMembers = {"config"};
constexpr JsonStruct kPayload{"PayloadMeta", kPayloadMembers};
constexpr JsonStruct kConfig{"PayloadConfig", kConfigMembers};

// The record's name without its number: "weight_3" gives "weight_".
std::string prefixOf(std::string_view pathName) {
  size_t end = pathName.size();
  while (end > 0 && pathName[end - 1] >= '0' && pathName[end - 1] <= '9') --end;
  return std::string(pathName.substr(0, end));
}

void checkExtent(const JsonReader& json, const TensorMeta& meta, std::string_view record, size_t bytesThere) {
  uint64_t needed = 0;
  try {
    needed = storageBytesNeeded(plainNumbers(meta.sizes), plainNumbers(meta.strides),
                                meta.storageOffset.value(), elementSize(meta.dtype));
  } catch (const ParseError& error) {
    json.fail(error.diagnostics().front().message);
  }
  if (needed > bytesThere && !(meta.device.type == "meta" && bytesThere == 0)) {
    json.fail(fmt::format("the tensor needs {} bytes, record '{}' has {}", needed, record, bytesThere));
  }
}

}  // namespace

WeightReader::WeightReader(std::shared_ptr<const MappedFile> file, const ZipReader& zip, std::string root,
                           bool checkBytes)
    : file_(std::move(file)), zip_(zip), root_(std::move(root)), checkBytes_(checkBytes) {}

SharedBytes recordBytes(const std::shared_ptr<const MappedFile>& file, const ZipReader& zip,
                        const ZipRecord& record, bool check) {
  if (!record.deflated) {
    if (check) zip.checkCrc(record);
    return {file, zip.mapped(record)};
  }
  auto content = std::make_shared<const RecordBytes>(zip.read(record));
  return {content, content->bytes()};
}

TensorTable WeightReader::readConfig(JsonValue config, std::string_view record, std::string_view folder,
                                     std::string_view unknownPath, ExportedProgram& program,
                                     LoadCaches& caches) {
  JsonReader json;
  json.place.record = record;
  json.place.section = "config";
  std::optional<JsonValue> entries;
  uint32_t seen = json.members(
      config, kConfig, [&](size_t, JsonValue member) { entries = member; }, kIgnore);
  json.require(kConfig, seen, 1);

  ValueReader values(json, caches);
  const bool hasLongPaths = folder == "data/";
  TensorTable table;
  for (auto field : json.object(*entries, "config")) {
    json.place.item = field.key;
    if (table.contains(field.key)) json.fail("the tensor has an entry already");
    auto keepUnknown = [&](std::string_view key, JsonValue value) {
      appendMember(program.unknownMembers[fmt::format("{}[{}]", unknownPath, field.key)], key, value);
    };
    std::string pathName;
    bool isParameter = false, usePickle = false;
    std::optional<TensorMeta> meta;
    uint32_t found = json.members(
        field.value, kPayload,
        [&](size_t i, JsonValue member) {
          if (i == 0) {
            pathName = json.string(member, "path_name");
          } else if (i == 1) {
            isParameter = json.boolean(member, "is_param");
          } else if (i == 2) {
            usePickle = json.boolean(member, "use_pickle");
          } else if (!member.is_null()) {
            meta = values.tensorMeta(member, kIgnore);
          }
        },
        keepUnknown);
    json.require(kPayload, found, kPayloadMembers.size());

    // What follows the folder of the table.
    std::string_view blobName = pathName;
    for (std::string_view inner : {"weights/", "constants/"}) {
      if (hasLongPaths && pathName.starts_with(inner)) blobName.remove_prefix(inner.size());
    }
    if (blobName.empty() || blobName.find_first_of("/\\") != std::string::npos ||
        blobName.starts_with("..") || (hasLongPaths && blobName.size() == pathName.size())) {
      json.fail(fmt::format("path_name '{}' is no name of a record in '{}'", printable(pathName), folder));
    }
    const ZipRecord* blob = zip_.find(fmt::format("{}{}{}", root_, folder, pathName));
    if (blob == nullptr) {
      json.fail(fmt::format("path_name '{}' names no record: '{}{}' is missing", printable(pathName), folder,
                            printable(pathName)));
    }
    bool isObject = blobName.starts_with("custom_obj_") || blobName.starts_with("opaque_obj_");
    if (isObject || usePickle) {
      SharedBytes bytes = recordBytes(file_, zip_, *blob, checkBytes_);
      table.set(field.key,
                StoredTensor::opaque(std::move(bytes), prefixOf(blobName), std::move(meta), isParameter));
      continue;
    }
    if (!meta) json.fail("a tensor needs its tensor_meta, found null");
    auto symbolic = [](const SymInt& number) { return number.isSymbolic(); };
    if (std::any_of(meta->sizes.begin(), meta->sizes.end(), symbolic) ||
        std::any_of(meta->strides.begin(), meta->strides.end(), symbolic) ||
        meta->storageOffset.isSymbolic()) {
      json.fail("sizes, strides and offset of a stored tensor must be as_int, found as_expr");
    }
    if (meta->layout != Layout::Strided) {
      json.fail(fmt::format("layout {} cannot be read: only strided tensors can", fxText(meta->layout)));
    }
    checkExtent(json, *meta, pathName, blob->size);
    SharedStorage& shared = storages_.of(blob, [&] { return recordBytes(file_, zip_, *blob, checkBytes_); });
    table.set(field.key, makeTensor(shared, *meta, isParameter));
  }
  return table;
}

TensorTable WeightReader::readPickled(const ZipRecord& record) {
  if (record.size == 0) return {};
  return readPickled(recordBytes(file_, zip_, record, true), record.name);
}

TensorTable WeightReader::readPickled(const SharedBytes& bytes, std::string_view record) {
  TensorTable table;
  if (bytes.empty()) return table;
  TorchSaveArchive archive(bytes.bytes(), "", std::string(record));
  JsonReader place;  // for messages only
  place.place.record = record;
  const PickleDict* dict = archive.value().dict();
  if (dict == nullptr)
    place.fail(fmt::format("expected a dict of tensors, found {}", archive.value().kindName()));

  StorageCache storages;
  for (const auto& [key, value] : dict->entries) {
    const std::string* name = key.string();
    if (name == nullptr)
      place.fail(fmt::format("expected names of tensors, found a key of type {}", key.kindName()));
    const PickledTensor* tensor = value.tensor();
    if (tensor == nullptr) {
      place.fail(fmt::format("'{}' must be a tensor, found {}", printable(*name), value.kindName()));
    }
    if (table.contains(*name)) place.fail(fmt::format("'{}' occurs twice", printable(*name)));
    try {
      const StorageUse use = checkBytes_ ? StorageUse::MapChecked : StorageUse::Map;
      table.set(*name, pickledTensor(archive, *tensor, bytes, use, storages));
    } catch (Error& error) {
      error.addNote(fmt::format("while reading tensor '{}'", printable(*name)));
      throw;
    }
  }
  return table;
}

}  // namespace edgefx::detail
