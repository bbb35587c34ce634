#include "serialization/write_weights.h"

#include "serialization/json_writer.h"
#include "serialization/strided_extent.h"
#include "serialization/write_values.h"
#include "support/fail.h"

#include <unordered_map>
#include <vector>

namespace edgefx::detail {
namespace {

// Tensors over one storage, of one dtype: readers give the bytes of a record one dtype.
struct Group {
  const std::byte* address;
  Dtype dtype;
  bool operator==(const Group&) const = default;
};
struct GroupHash {
  size_t operator()(const Group& group) const {
    return std::hash<const void*>()(group.address) * 31 + static_cast<size_t>(group.dtype);
  }
};

struct Blob {
  std::span<const std::byte> bytes;
  std::string name;
};

bool isObjectPrefix(std::string_view prefix) {
  return prefix == "custom_obj_" || prefix == "opaque_obj_";
}

std::vector<int64_t> numbers(const std::vector<SymInt>& shape) {
  std::vector<int64_t> values;
  for (const SymInt& value : shape) {
    if (value.isSymbolic())
      fail<UnsupportedError>("a stored tensor has the symbolic size '{}'", value.text());
    values.push_back(value.value());
  }
  return values;
}

void checkExtent(const StoredTensor& stored) {
  const TensorMeta& meta = *stored.meta();
  if (meta.storageOffset.isSymbolic()) fail<UnsupportedError>("a stored tensor has a symbolic offset");
  // Tensors of the meta device are shapes without memory.
  if (meta.device.type == "meta" && stored.storage().empty()) return;
  uint64_t needed = storageBytesNeeded(numbers(meta.sizes), numbers(meta.strides), meta.storageOffset.value(),
                                       elementSize(meta.dtype));
  if (needed > stored.storage().size()) {
    fail<UsageError>("the recorded shape needs {} bytes of storage, which has {}", needed,
                     stored.storage().size());
  }
}

// Runs `use`; errors that pass through are told the entry's name.
template <typename Use>
void naming(const TensorTable::Entry& entry, Use&& use) {
  try {
    use();
  } catch (Error& error) {
    error.addNote(fmt::format("in entry '{}'", entry.name));
    throw;
  }
}

}  // namespace

std::string PayloadWriter::nextName(std::string_view folder, const std::string& prefix) {
  return fmt::format("{}{}{}", folder, prefix, next_[prefix]++);
}

std::string PayloadWriter::write(const ExportedProgram& program, PayloadTable table) {
  bool isWeights = table == PayloadTable::Weights;
  const TensorTable& tensors = isWeights ? program.stateDict() : program.constants();
  const std::string_view folder = isWeights ? "data/weights/" : "data/constants/";
  const std::string tensorPrefix = isWeights ? "weight_" : "tensor_";

  // Opaque entries first, then the storages in order of first use, as torch numbers them.
  std::unordered_map<const StoredTensor*, std::string> opaqueNames;
  std::unordered_map<Group, size_t, GroupHash> groups;
  std::vector<Blob> blobs;
  std::vector<size_t> blobOf;
  for (const TensorTable::Entry& entry : tensors) {
    const StoredTensor& stored = entry.value;
    blobOf.push_back(0);
    if (stored.isOpaque()) {
      naming(entry, [&] {
        bool isObject = stored.meta() == nullptr;
        if (isObject && (isWeights || !isObjectPrefix(stored.opaquePrefix()))) {
          fail<UnsupportedError>("a {} cannot hold an object of the kind '{}'",
                                 isWeights ? "state dict" : "table of constants", stored.opaquePrefix());
        }
        // A tensor moved from the state dict to the constants is numbered among those.
        std::string name = nextName(folder, isObject ? stored.opaquePrefix() : tensorPrefix);
        add_(name, stored.opaqueRecord().bytes());
        opaqueNames.emplace(&stored, std::move(name));
      });
      continue;
    }
    naming(entry, [&] {
      if (stored.meta() == nullptr) fail<UsageError>("the entry is empty");
      checkExtent(stored);
    });
    std::span<const std::byte> bytes = stored.storage();
    const Group group{bytes.empty() ? nullptr : bytes.data(), stored.meta()->dtype};
    auto [found, isNew] = groups.emplace(group, blobs.size());
    if (isNew) blobs.push_back({bytes, {}});
    blobOf.back() = found->second;
    // Storages that begin at one address are views of one memory: the longest holds them all.
    Blob& blob = blobs[found->second];
    if (bytes.size() > blob.bytes.size()) blob.bytes = bytes;
  }
  for (Blob& blob : blobs) {
    blob.name = nextName(folder, tensorPrefix);
    add_(blob.name, blob.bytes);
  }

  JsonWriter json;
  json.beginObject();
  json.key("config");
  json.beginObject();
  size_t index = 0;
  for (const TensorTable::Entry& entry : tensors) {
    const StoredTensor& stored = entry.value;
    std::string_view record = stored.isOpaque() ? opaqueNames.at(&stored) : blobs[blobOf[index]].name;
    ++index;
    json.key(entry.name);
    json.beginObject();
    json.key("path_name");
    json.string(record.substr(folder.size()));
    json.key("is_param");
    json.boolean(stored.isParameter);
    json.key("use_pickle");
    json.boolean(stored.isOpaque());
    json.key("tensor_meta");
    if (stored.meta() != nullptr) {
      openTensorMeta(json, *stored.meta());
      json.endObject();
    } else {
      json.null();
    }
    if (!program.unknownMembers.empty()) {
      auto found = program.unknownMembers.find(
          fmt::format("{}[{}]", isWeights ? "weights_config" : "constants_config", entry.name));
      if (found != program.unknownMembers.end() && !found->second.empty()) json.raw(found->second);
    }
    json.endObject();
  }
  json.endObject();
  json.endObject();
  return json.take();
}

}  // namespace edgefx::detail
