#include "serialization/torch_save_writer.h"

#include "serialization/pickle_opcode.h"
#include "serialization/tree_place.h"
#include "serialization/zip_format.h"
#include "support/fail.h"

#include <ATen/core/ivalue.h>

#include <bit>
#include <limits>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace edgefx::detail {
namespace {

// The class of storages of a dtype; empty for those that torch keeps in storages without type.
std::string_view storageClass(Dtype dtype) {
  switch (dtype) {
    case Dtype::UInt8:
      return "ByteStorage";
    case Dtype::Int8:
      return "CharStorage";
    case Dtype::Int16:
      return "ShortStorage";
    case Dtype::Int32:
      return "IntStorage";
    case Dtype::Int64:
      return "LongStorage";
    case Dtype::Float16:
      return "HalfStorage";
    case Dtype::Float32:
      return "FloatStorage";
    case Dtype::Float64:
      return "DoubleStorage";
    case Dtype::Complex64:
      return "ComplexFloatStorage";
    case Dtype::Complex128:
      return "ComplexDoubleStorage";
    case Dtype::Bool:
      return "BoolStorage";
    case Dtype::BFloat16:
      return "BFloat16Storage";
    default:
      return {};
  }
}

// Deep enough for every tree that readers take.
constexpr int kMaxDepth = 500;

class TorchSaveWriter {
 public:
  TorchSaveWriter() {
    op(PickleOp::Proto);
    pickle_ += '\x02';
  }

  void writeTable(const TensorTable& table) {
    op(PickleOp::EmptyDict);
    op(PickleOp::Mark);
    for (const TensorTable::Entry& entry : table) {
      try {
        text(entry.name);
        writeEntry(entry.value);
      } catch (Error& error) {
        error.addNote(fmt::format("in entry '{}'", entry.name));
        throw;
      }
    }
    op(PickleOp::SetItems);
  }

  void writeValue(const c10::IValue& value, const TreePlace& place, int depth = 1) {
    if (value.isNone()) return op(PickleOp::None);
    if (value.isBool()) return boolean(value.toBool());
    if (value.isInt()) return integer(value.toInt());
    if (value.isDouble()) return real(value.toDouble());
    if (value.isString()) return text(value.toStringRef());
    if (value.isTensor()) return writeTensorValue(value.toTensor(), place);
    if (value.isDevice()) return device(value.toDevice());
    if (value.isTuple() || value.isList() || value.isGenericDict())
      return writeContainer(value, place, depth);
    refuse(place, "a value of kind '{}' cannot be written", value.tagKind());
  }

  void finish(ZipWriter& zip) {
    op(PickleOp::Stop);
    zip.add("data.pkl", std::as_bytes(std::span(pickle_)));
    const std::string_view order = std::endian::native == std::endian::little ? "little" : "big";
    zip.add("byteorder", std::as_bytes(std::span(order)));
    for (size_t i = 0; i < storages_.size(); ++i) zip.add(fmt::format("data/{}", i), storages_[i]);
    const std::string_view version = "3\n";
    zip.add("version", std::as_bytes(std::span(version)));
    zip.finish();
  }

 private:
  void op(PickleOp code) { pickle_ += static_cast<char>(code); }
  void boolean(bool value) { op(value ? PickleOp::NewTrue : PickleOp::NewFalse); }
  void text(std::string_view value) {
    op(PickleOp::BinUnicode);
    zip::append(pickle_, static_cast<uint32_t>(value.size()));
    pickle_ += value;
  }
  void integer(int64_t value) {
    if (value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max()) {
      op(PickleOp::BinInt);
      zip::append(pickle_, static_cast<uint32_t>(static_cast<int32_t>(value)));
    } else {
      op(PickleOp::Long1);
      pickle_ += '\x08';
      zip::append(pickle_, static_cast<uint64_t>(value));
    }
  }
  void global(std::string_view module, std::string_view name) {
    op(PickleOp::Global);
    pickle_.append(module).append("\n").append(name).append("\n");
  }
  void real(double value) {
    op(PickleOp::BinFloat);
    const auto bits = std::bit_cast<uint64_t>(value);
    for (int shift = 56; shift >= 0; shift -= 8) pickle_ += static_cast<char>(bits >> shift & 0xff);
  }
  void device(const c10::Device& value) {
    global("torch", "device");
    text(c10::DeviceTypeName(value.type(), true));
    if (value.has_index()) integer(value.index());
    op(value.has_index() ? PickleOp::Tuple2 : PickleOp::Tuple1);
    op(PickleOp::Reduce);
  }
  void memoize(uint32_t index) {
    op(PickleOp::LongBinPut);
    zip::append(pickle_, index);
  }
  void integers(const std::vector<SymInt>& values) {
    op(PickleOp::Mark);
    for (const SymInt& value : values) {
      if (value.isSymbolic())
        fail<UnsupportedError>("a stored tensor has the symbolic size '{}'", value.text());
      integer(value.value());
    }
    op(PickleOp::Tuple);
  }
  // OrderedDict(), which stands where hooks would.
  void noHooks() {
    global("collections", "OrderedDict");
    op(PickleOp::EmptyTuple);
    op(PickleOp::Reduce);
  }

  template <typename... Args>
  [[noreturn]] static void refuse(const TreePlace& place, fmt::format_string<Args...> format,
                                  Args&&... args) {
    fail<UnsupportedError>("{}: {}", place.text(), fmt::format(format, std::forward<Args>(args)...));
  }

  // A container that several others share is written once, as Python does.
  void writeContainer(const c10::IValue& value, const TreePlace& place, int depth) {
    if (depth > kMaxDepth) refuse(place, "values nest more than {} levels deep", kMaxDepth);
    const auto [known, isNew] = memo_.emplace(value.internalToPointer(), std::nullopt);
    if (!isNew) {
      if (!known->second) refuse(place, "a container lies in itself");
      op(PickleOp::LongBinGet);
      zip::append(pickle_, *known->second);
      return;
    }
    const auto index = static_cast<uint32_t>(memo_.size() - 1);
    auto write = [&](const c10::IValue& item, std::string step) {
      writeValue(item, TreePlace{&place, std::move(step)}, depth + 1);
    };
    if (value.isTuple()) {
      op(PickleOp::Mark);
      size_t i = 0;
      for (const c10::IValue& item : value.toTupleRef().elements()) write(item, fmt::format("[{}]", i++));
      op(PickleOp::Tuple);
      memoize(index);
    } else if (value.isList()) {
      op(PickleOp::EmptyList);
      memoize(index);
      op(PickleOp::Mark);
      size_t i = 0;
      for (const c10::IValue& item : value.toListRef()) write(item, fmt::format("[{}]", i++));
      op(PickleOp::Appends);
    } else {
      op(PickleOp::EmptyDict);
      memoize(index);
      op(PickleOp::Mark);
      for (const auto& entry : value.toGenericDict()) {
        const c10::IValue& key = entry.key();
        if (!key.isString() && !key.isInt() && !key.isBool() && !key.isDouble())
          refuse(place, "a key of kind '{}' cannot be written", key.tagKind());
        write(key, " key");
        write(entry.value(), key.isString() ? fmt::format("['{}']", key.toStringRef()) : "[...]");
      }
      op(PickleOp::SetItems);
    }
    known->second = index;
  }

  void writeTensorValue(const at::Tensor& tensor, const TreePlace& place) {
    try {
      kept_.emplace_back(tensor);
      writeEntry(kept_.back());
    } catch (Error& error) {
      error.addNote(fmt::format("in {}", place.text()));
      throw;
    }
  }

  void writeEntry(const StoredTensor& stored) {
    if (stored.isOpaque())
      fail<UnsupportedError>("the entry is an object of Python, which cannot be written");
    if (stored.meta() == nullptr) fail<UsageError>("the entry is empty");
    const TensorMeta& meta = *stored.meta();
    if (meta.device.type == "meta") fail<UnsupportedError>("the tensor is on the device 'meta'");
    if (meta.storageOffset.isSymbolic()) fail<UnsupportedError>("a stored tensor has a symbolic offset");
    if (!stored.isParameter) {
      writeTensor(stored, meta, meta.requiresGrad);
      return;
    }
    global("torch._utils", "_rebuild_parameter");
    writeTensor(stored, meta, false);
    boolean(meta.requiresGrad);
    noHooks();
    op(PickleOp::Tuple3);
    op(PickleOp::Reduce);
  }

  void writeTensor(const StoredTensor& stored, const TensorMeta& meta, bool requiresGrad) {
    const bool isTyped = !storageClass(meta.dtype).empty();
    global("torch._utils", isTyped ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
    op(PickleOp::Mark);
    writeStorage(stored, meta);
    integer(meta.storageOffset.value());
    integers(meta.sizes);
    integers(meta.strides);
    boolean(requiresGrad);
    noHooks();
    if (!isTyped) global("torch", fxText(meta.dtype).substr(std::string_view("torch.").size()));
    op(PickleOp::Tuple);
    op(PickleOp::Reduce);
  }

  void writeStorage(const StoredTensor& stored, const TensorMeta& meta) {
    const std::span<const std::byte> bytes = stored.storage();
    size_t key = storages_.size();
    if (bytes.empty()) {
      storages_.emplace_back();
    } else {
      key = keys_.emplace(std::pair(bytes.data(), meta.dtype), key).first->second;
      if (key == storages_.size()) storages_.push_back(bytes);
    }
    if (bytes.size() != storages_[key].size())
      fail<UnsupportedError>("storages of {} and of {} bytes begin at one address", bytes.size(),
                             storages_[key].size());
    const std::string_view name = storageClass(meta.dtype);
    op(PickleOp::Mark);
    text("storage");
    if (name.empty()) {
      global("torch.storage", "UntypedStorage");
    } else {
      global("torch", name);
    }
    text(std::to_string(key));
    text(edgefx::text(meta.device));
    integer(static_cast<int64_t>(name.empty() ? bytes.size() : bytes.size() / elementSize(meta.dtype)));
    op(PickleOp::Tuple);
    op(PickleOp::BinPersId);
  }

  std::string pickle_;
  std::vector<std::span<const std::byte>> storages_;           // by key
  std::map<std::pair<const std::byte*, Dtype>, size_t> keys_;  // looked up only, never iterated
  std::list<StoredTensor> kept_;                               // tensors that storages_ point into
  // Containers, with their index once they are complete. Looked up only, never iterated.
  std::map<const void*, std::optional<uint32_t>> memo_;
};

}  // namespace

std::string torchSave(const TensorTable& table) {
  TorchSaveWriter writer;
  writer.writeTable(table);
  std::string archive;
  ZipWriter zip(&archive, "archive");
  writer.finish(zip);
  return archive;
}

void torchSave(const c10::IValue& value, ZipWriter& zip) {
  TorchSaveWriter writer;
  writer.writeValue(value, TreePlace{nullptr, "value"});
  writer.finish(zip);
}

}  // namespace edgefx::detail
