#include "serialization/torch_save_writer.h"

#include "serialization/pickle_opcode.h"
#include "serialization/zip_format.h"
#include "serialization/zip_writer.h"
#include "support/fail.h"

#include <bit>
#include <limits>
#include <map>
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

class TorchSaveWriter {
 public:
  std::string write(const TensorTable& table) {
    op(PickleOp::Proto);
    pickle_ += '\x02';
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
    op(PickleOp::Stop);

    std::string archive;
    ZipWriter zip(&archive, "archive");
    zip.add("data.pkl", std::as_bytes(std::span(pickle_)));
    const std::string_view order = std::endian::native == std::endian::little ? "little" : "big";
    zip.add("byteorder", std::as_bytes(std::span(order)));
    for (size_t i = 0; i < storages_.size(); ++i) zip.add(fmt::format("data/{}", i), storages_[i]);
    const std::string_view version = "3\n";
    zip.add("version", std::as_bytes(std::span(version)));
    zip.finish();
    return archive;
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
};

}  // namespace

std::string torchSave(const TensorTable& table) {
  return TorchSaveWriter().write(table);
}

}  // namespace edgefx::detail
