#include "serialization/torch_save_archive.h"

#include <edgefx/support/error.h>

#include "serialization/byte_text.h"
#include "support/strided_extent.h"

#include <fmt/format.h>

#include <bit>
#include <utility>

namespace edgefx::detail {

TorchSaveArchive::TorchSaveArchive(std::span<const std::byte> bytes, std::string file, std::string record,
                                   PickledObjects objects)
    : file_(std::move(file)), record_(std::move(record)), zip_(bytes, file_, record_) {
  findRoot();
  checkByteOrder();
  const ZipRecord& pickle = rootRecord("data.pkl", "torch.load");
  const std::string label = record_.empty() ? pickle.name : record_ + "/" + pickle.name;
  try {
    value_ = readPickle(zip_.read(pickle).bytes(), label, objects);
  } catch (Error& error) {
    Diagnostic known;
    known.file = file_;
    error.fillIn(known);
    throw;
  }
}

void TorchSaveArchive::findRoot() {
  if (zip_.records().empty()) refuse({}, "expected the records of torch.save, found an empty archive");
  const std::string& first = zip_.records().front().name;
  root_ = first.substr(0, first.find('/') + 1);
  if (root_.empty()) refuse(first, "expected a root folder, found a record outside any");
  for (const ZipRecord& record : zip_.records()) {
    if (!record.name.starts_with(root_)) {
      refuse(record.name, fmt::format("the record lies outside the root folder '{}'", printable(root_)));
    }
  }
}

void TorchSaveArchive::checkByteOrder() const {
  const ZipRecord* record = zip_.find(root_ + "byteorder");
  if (record == nullptr) return;
  constexpr std::string_view kMachine = std::endian::native == std::endian::little ? "little" : "big";
  const RecordBytes content = zip_.read(*record);
  if (content.text() != kMachine) {
    refuse(record->name,
           fmt::format("byte order '{}', this machine's is '{}'", printable(content.text()), kMachine));
  }
}

const ZipRecord& TorchSaveArchive::storage(const PickledTensor& tensor) const {
  const ZipRecord& record = rootRecord("data/" + tensor.storageKey, "a tensor of data.pkl");
  uint64_t needed = 0;
  try {
    needed = storageBytesNeeded(tensor.sizes, tensor.strides, tensor.offset, elementSize(tensor.dtype));
  } catch (Error& error) {
    Diagnostic known;
    known.file = file_;
    known.record = record_;
    error.fillIn(known);
    throw;
  }
  if (needed > tensor.storageBytes) {
    refuse(record.name,
           fmt::format("the tensor needs {} bytes, its storage has {}", needed, tensor.storageBytes));
  }
  if (tensor.storageBytes > record.size) {
    refuse(record.name, fmt::format("the tensor needs {} bytes of a storage of {}, the record has {}", needed,
                                    tensor.storageBytes, record.size));
  }
  return record;
}

const ZipRecord& TorchSaveArchive::rootRecord(std::string_view name, std::string_view neededBy) const {
  return zip_.record(root_ + std::string(name), neededBy);
}

void TorchSaveArchive::refuse(std::string_view record, std::string message) const {
  Diagnostic diagnostic(std::move(message));
  diagnostic.file = file_;
  diagnostic.record = record_;
  if (!record_.empty() && !record.empty()) diagnostic.record += '/';
  diagnostic.record += printable(record);
  throw ParseError(std::move(diagnostic));
}

}  // namespace edgefx::detail
