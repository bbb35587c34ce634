#pragma once

#include <edgefx/program/exported_program.h>
#include <edgefx/program/tensor_table.h>

#include "serialization/json_reader.h"
#include "serialization/load_caches.h"
#include "serialization/mapped_file.h"
#include "serialization/zip_reader.h"

#include <memory>
#include <string>
#include <string_view>

namespace edgefx::detail {

// The bytes of a record with what keeps them alive: a view of the mapped file if the record is stored, else
// inflated. The checksum is compared if `check`, and always for inflated records.
SharedBytes recordBytes(const std::shared_ptr<const MappedFile>& file, const ZipReader& zip,
                        const ZipRecord& record, bool check);

// Reads tensors of an archive: the state dict or the constants of one model.
class WeightReader {
 public:
  // `root` is the archive's root folder with its slash.
  WeightReader(std::shared_ptr<const MappedFile> file, const ZipReader& zip, std::string root,
               bool checkBytes)
      : file_(std::move(file)), zip_(zip), root_(std::move(root)), checkBytes_(checkBytes) {}

  // A payload config: {"config": {name: PayloadMeta}}; blobs lie in `folder` ("data/weights/"). Unknown
  // members go to program.unknownMembers under `unknownPath`[name].
  TensorTable readConfig(JsonValue config, std::string_view record, std::string_view folder,
                         std::string_view unknownPath, ExportedProgram& program, LoadCaches& caches);

  // torch.save of a dict of tensors. An empty record is an empty table.
  TensorTable readPickled(const ZipRecord& record);

 private:
  std::shared_ptr<const MappedFile> file_;
  const ZipReader& zip_;
  std::string root_;
  bool checkBytes_;
};

}  // namespace edgefx::detail
