#pragma once

#include "serialization/pickle_reader.h"
#include "serialization/pickle_value.h"
#include "serialization/zip_reader.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace edgefx::detail {

// What torch.save wrote: an archive of its own, usually inside a record of another, holding a pickle and the
// storages of its tensors. `bytes` must outlive it. All members throw ParseError with the outer and the inner
// record's name.
class TorchSaveArchive {
 public:
  // `file` and `record` say in errors where the bytes come from; either may be empty.
  TorchSaveArchive(std::span<const std::byte> bytes, std::string file, std::string record,
                   PickledObjects objects = PickledObjects::Refuse);

  const PickleValue& value() const { return value_; }

  // The record of the tensor's storage, known to hold all that the tensor's sizes and strides reach. Equal
  // keys give the same record: read it once for all tensors that share it, with zip().read(), or map it with
  // zip().mapped().
  const ZipRecord& storage(const PickledTensor& tensor) const;
  const ZipReader& zip() const { return zip_; }

 private:
  [[noreturn]] void refuse(std::string_view record, std::string message) const;
  void findRoot();
  void checkByteOrder() const;
  const ZipRecord& rootRecord(std::string_view name, std::string_view neededBy) const;

  std::string file_;
  std::string record_;
  ZipReader zip_;
  std::string root_;  // with the slash
  PickleValue value_;
};

}  // namespace edgefx::detail
