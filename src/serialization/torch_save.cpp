#include <edgefx/serialization/torch_save.h>

#include "serialization/byte_text.h"
#include "serialization/mapped_file.h"
#include "serialization/naming_file.h"
#include "serialization/shared_storage.h"
#include "serialization/torch_save_archive.h"
#include "serialization/torch_save_writer.h"
#include "serialization/tree_place.h"
#include "support/fail.h"

#include <ATen/core/ivalue.h>

#include <unordered_map>

namespace edgefx {
namespace detail {
namespace {

// Makes IValues of the values of an archive. Each value that others share is made once.
class ValueTreeReader {
 public:
  ValueTreeReader(const TorchSaveArchive& archive, const SharedBytes& bytes, StorageUse use)
      : archive_(archive), bytes_(bytes), use_(use) {}

  c10::IValue value(const PickleValue& pickled, const TreePlace& place) {
    if (pickled.isNone()) return {};
    if (const bool* flag = pickled.boolean()) return *flag;
    if (const int64_t* number = pickled.integer()) return *number;
    if (const double* number = pickled.number()) return *number;
    if (const std::string* text = pickled.string()) return once(text, [&] { return c10::IValue(*text); });
    if (const PickledTensor* tensor = pickled.tensor())
      return once(tensor, [&] { return c10::IValue(readTensor(*tensor, place)); });
    if (const PickleList* list = pickled.list()) return once(list, [&] { return readList(*list, place); });
    if (const PickleTuple* tuple = pickled.tuple())
      return once(tuple, [&] { return readTuple(*tuple, place); });
    if (const PickleDict* dict = pickled.dict()) return once(dict, [&] { return readDict(*dict, place); });
    if (const PickledDevice* device = pickled.device()) return readDevice(*device, place);
    if (const Dtype* dtype = pickled.dtype()) refuse(place, "the dtype {} cannot be read", fxText(*dtype));
    refuse(place, "a {} cannot be read", pickled.kindName());
  }

 private:
  template <typename... Args>
  [[noreturn]] static void refuse(const TreePlace& place, fmt::format_string<Args...> format,
                                  Args&&... args) {
    fail<UnsupportedError>("{}: {}", place.text(), fmt::format(format, std::forward<Args>(args)...));
  }

  template <typename Make>
  c10::IValue once(const void* shared, Make&& make) {
    if (const auto found = made_.find(shared); found != made_.end()) return found->second;
    c10::IValue value = make();
    made_.emplace(shared, value);
    return value;
  }

  at::Tensor readTensor(const PickledTensor& pickled, const TreePlace& place) {
    try {
      const StoredTensor stored = pickledTensor(archive_, pickled, bytes_, use_, storages_);
      if (!stored.isTensor() && pickled.device == "meta")
        fail<UnsupportedError>("a tensor on the device 'meta' cannot be read");
      return stored.tensor();
    } catch (Error& error) {
      error.addNote(fmt::format("in {}", place.text()));
      throw;
    }
  }

  c10::IValue readList(const PickleList& pickled, const TreePlace& place) {
    c10::impl::GenericList list(c10::AnyType::get());
    list.reserve(pickled.items.size());
    for (size_t i = 0; i < pickled.items.size(); ++i)
      list.push_back(value(pickled.items[i], TreePlace{&place, fmt::format("[{}]", i)}));
    return list;
  }

  c10::IValue readTuple(const PickleTuple& pickled, const TreePlace& place) {
    std::vector<c10::IValue> items;
    items.reserve(pickled.items.size());
    for (size_t i = 0; i < pickled.items.size(); ++i)
      items.push_back(value(pickled.items[i], TreePlace{&place, fmt::format("[{}]", i)}));
    return c10::ivalue::Tuple::create(std::move(items));
  }

  c10::IValue readDict(const PickleDict& pickled, const TreePlace& place) {
    c10::impl::GenericDict dict(keyType(pickled, place), c10::AnyType::get());
    dict.reserve(pickled.entries.size());
    for (const auto& [key, item] : pickled.entries) {
      const std::string step = key.string() != nullptr    ? fmt::format("['{}']", printable(*key.string()))
                               : key.integer() != nullptr ? fmt::format("[{}]", *key.integer())
                                                          : "[...]";
      const TreePlace inner{&place, step};
      dict.insert_or_assign(value(key, inner), value(item, inner));
    }
    return dict;
  }

  // The type of all keys, or Any.
  static c10::TypePtr keyType(const PickleDict& dict, const TreePlace& place) {
    c10::TypePtr common = nullptr;
    bool isMixed = false;
    for (const auto& [key, item] : dict.entries) {
      c10::TypePtr type;
      if (key.string() != nullptr) {
        type = c10::StringType::get();
      } else if (key.integer() != nullptr) {
        type = c10::IntType::get();
      } else if (key.boolean() != nullptr) {
        type = c10::BoolType::get();
      } else if (key.number() != nullptr) {
        type = c10::FloatType::get();
      } else {
        refuse(place, "a dict with a key of kind {} cannot be read", key.kindName());
      }
      isMixed = isMixed || (common != nullptr && common->kind() != type->kind());
      common = std::move(type);
    }
    if (isMixed) return c10::AnyType::get();
    return common != nullptr ? common : c10::StringType::get();
  }

  static c10::IValue readDevice(const PickledDevice& pickled, const TreePlace& place) {
    try {
      return c10::Device(pickled.text);
    } catch (const std::exception&) {
      refuse(place, "this LibTorch knows no device '{}'", printable(pickled.text));
    }
  }

  const TorchSaveArchive& archive_;
  const SharedBytes& bytes_;
  const StorageUse use_;
  StorageCache storages_;
  std::unordered_map<const void*, c10::IValue> made_;  // looked up only, never iterated
};

c10::IValue readTorchSave(const SharedBytes& bytes, std::string file, std::string record, StorageUse use) {
  const TorchSaveArchive archive(bytes.bytes(), std::move(file), std::move(record), PickledObjects::Tuples);
  return ValueTreeReader(archive, bytes, use).value(archive.value(), TreePlace{nullptr, "value"});
}

}  // namespace
}  // namespace detail

c10::IValue loadTorchSave(const std::filesystem::path& file) {
  return detail::namingFile(file, [&] {
    const auto mapped = detail::MappedFile::open(file);
    const SharedBytes bytes(mapped, mapped->bytes());
    return detail::readTorchSave(bytes, file.string(), {}, detail::StorageUse::MapChecked);
  });
}

c10::IValue parseTorchSave(const SharedBytes& bytes, std::string_view record) {
  return detail::readTorchSave(bytes, {}, std::string(record), detail::StorageUse::Copy);
}

void saveTorchSave(const std::filesystem::path& file, const c10::IValue& value) {
  detail::namingFile(file, [&] {
    detail::ZipWriter zip(file, "archive");
    detail::torchSave(value, zip);
  });
}

std::string torchSaveBytes(const c10::IValue& value) {
  std::string bytes;
  detail::ZipWriter zip(&bytes, "archive");
  detail::torchSave(value, zip);
  return bytes;
}

}  // namespace edgefx
