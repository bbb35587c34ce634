#include "serialization/lowered_record.h"

#include "serialization/byte_text.h"
#include "serialization/program_records.h"
#include "support/base64.h"
#include "support/json_writer.h"

#include <array>

namespace edgefx::detail {

void writeCompileSpecs(JsonWriter& json, const std::vector<CompileSpec>& specs) {
  json.key("compile_specs");
  json.beginArray();
  for (const CompileSpec& spec : specs) {
    json.beginObject();
    json.key("key");
    json.string(spec.key);
    json.key("value");
    json.string(base64Of(spec.value));
    json.endObject();
  }
  json.endArray();
}

namespace {

constexpr std::array<std::string_view, 4> kLoweredMembers = {"backend_id", "compile_specs",
                                                             "debug_handle_map", "named_data"};
constexpr std::array<std::string_view, 2> kLoweredSpecMembers = {"key", "value"};
constexpr std::array<std::string_view, 4> kNamedDataMembers = {"key", "record", "alignment", "external_tag"};
constexpr JsonStruct kLowered{"delegate", kLoweredMembers};
constexpr JsonStruct kLoweredSpec{"compile spec", kLoweredSpecMembers};
constexpr JsonStruct kNamedData{"named data", kNamedDataMembers};

std::string moduleJson(const LoweredModule& module, const std::vector<std::string>& dataRecords) {
  JsonWriter json;
  json.beginObject();
  json.key("backend_id");
  json.string(module.backendId);
  writeCompileSpecs(json, module.compileSpecs);
  json.key("debug_handle_map");
  json.beginArray();
  for (const auto& [id, handles] : module.debugHandleMap) {
    json.beginArray();
    if (const auto* number = std::get_if<int64_t>(&id)) {
      json.integer(*number);
    } else {
      json.string(std::get<std::string>(id));
    }
    json.beginArray();
    for (int64_t handle : handles) json.integer(handle);
    json.endArray();
    json.endArray();
  }
  json.endArray();
  json.key("named_data");
  json.beginArray();
  for (size_t i = 0; i < module.namedData.size(); ++i) {
    const NamedData& data = module.namedData[i];
    json.beginObject();
    json.key("key");
    json.string(data.key);
    json.key("record");
    json.string(std::string_view(dataRecords[i]).substr(kLoweredFolder.size()));
    json.key("alignment");
    json.integer(data.alignment);
    json.key("external_tag");
    json.string(data.externalTag);
    json.endObject();
  }
  json.endArray();
  json.endObject();
  return json.take();
}

class LoweredReader {
 public:
  LoweredReader(std::string_view record, LoweredModule& into,
                const std::function<SharedBytes(const std::string& name)>& bytesOf)
      : into_(into), bytesOf_(bytesOf) {
    json_.place.record = record;
  }

  void read(JsonValue value) {
    const uint32_t seen = json_.members(
        value, kLowered,
        [&](size_t i, JsonValue member) {
          if (i == 0) {
            into_.backendId = json_.string(member, "backend_id");
          } else if (i == 1) {
            for (JsonValue item : json_.array(member, "compile_specs")) readSpec(item);
          } else if (i == 2) {
            for (JsonValue item : json_.array(member, "debug_handle_map")) readHandles(item);
          } else {
            for (JsonValue item : json_.array(member, "named_data")) readData(item);
          }
        },
        kIgnore);
    json_.require(kLowered, seen, kLoweredMembers.size());
  }

 private:
  void readSpec(JsonValue value) {
    CompileSpec& spec = into_.compileSpecs.emplace_back();
    const uint32_t seen = json_.members(
        value, kLoweredSpec,
        [&](size_t i, JsonValue member) {
          std::string_view text = json_.string(member, kLoweredSpecMembers[i]);
          if (i == 0) {
            spec.key = text;
            return;
          }
          std::optional<std::string> bytes = bytesOfBase64(text);
          if (!bytes)
            json_.fail(
                fmt::format("the value of a compile spec must be base64, found '{}'", printable(text)));
          spec.value = std::move(*bytes);
        },
        kIgnore);
    json_.require(kLoweredSpec, seen, kLoweredSpecMembers.size());
  }

  // [id, [handle, ...]]
  void readHandles(JsonValue value) {
    simdjson::dom::array pair = json_.array(value, "debug_handle_map item");
    JsonValue id, handles;
    if (pair.size() != 2 || pair.at(0).get(id) != simdjson::SUCCESS ||
        pair.at(1).get(handles) != simdjson::SUCCESS) {
      json_.fail(fmt::format("expected an identifier and its debug handles, found {} items", pair.size()));
    }
    auto& [key, numbers] = into_.debugHandleMap.emplace_back();
    if (id.is_string()) {
      key = std::string(json_.string(id, "identifier"));
    } else {
      key = json_.integer(id, "identifier");
    }
    for (JsonValue handle : json_.array(handles, "debug handles"))
      numbers.push_back(json_.integer(handle, "debug handle"));
  }

  void readData(JsonValue value) {
    NamedData& data = into_.namedData.emplace_back();
    const uint32_t seen = json_.members(
        value, kNamedData,
        [&](size_t i, JsonValue member) {
          if (i == 0) {
            data.key = json_.string(member, "key");
          } else if (i == 1) {
            data.bytes = bytesOf_(fmt::format("{}{}", kLoweredFolder, json_.string(member, "record")));
          } else if (i == 2) {
            data.alignment = json_.integer(member, "alignment");
            if (data.alignment < 1)
              json_.fail(fmt::format("an alignment must be at least 1, found {}", data.alignment));
          } else {
            data.externalTag = json_.string(member, "external_tag");
          }
        },
        kIgnore);
    json_.require(kNamedData, seen, kNamedDataMembers.size());
  }

  JsonReader json_;
  LoweredModule& into_;
  const std::function<SharedBytes(const std::string& name)>& bytesOf_;
};

}  // namespace

void LoweredWriter::write(const LoweredModule& module, size_t number) {
  add_(loweredRecord(number, "payload"), module.processedBytes.bytes());
  std::vector<std::string> records;
  for (const NamedData& data : module.namedData) {
    const std::span<const std::byte> bytes = data.bytes.bytes();
    // Delegates may share large blobs.
    std::string& record = data_[{bytes.empty() ? nullptr : bytes.data(), bytes.size()}];
    if (record.empty()) {
      record = loweredRecord(number, fmt::format("data_{}", records.size()));
      add_(record, bytes);
    }
    records.push_back(record);
  }
  const std::string json = moduleJson(module, records);
  add_(loweredRecord(number, "module.json"), std::as_bytes(std::span(json)));
}

void readLoweredRecord(JsonValue json, std::string_view record, LoweredModule& into,
                       const std::function<SharedBytes(const std::string& name)>& bytesOf) {
  LoweredReader(record, into, bytesOf).read(json);
}

}  // namespace edgefx::detail
