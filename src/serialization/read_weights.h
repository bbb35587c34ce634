#pragma once

#include <edgefx/program/exported_program.h>
#include <edgefx/program/tensor_table.h>

#include "serialization/json_reader.h"
#include "serialization/load_caches.h"
#include "serialization/mapped_file.h"
#include "serialization/shared_storage.h"
#include "serialization/zip_reader.h"

#include <memory>
#include <string>
#include <string_view>

namespace edgefx::detail {

// The bytes of a record with what keeps them alive: a view of the mapped file if the record is stored, else
// inflated. The checksum is compared if `check`, and always for inflated records.
SharedBytes recordBytes(const std::shared_ptr<const MappedFile>& file, const ZipReader& zip,
                        const ZipRecord& record, bool check);

// Reads the tables of tensors of an archive's programs. Tensors over one record share one storage, in
// whatever tables they are.
class WeightReader {
 public:
  // `root` is the archive's root folder with its slash.
  WeightReader(std::shared_ptr<const MappedFile> file, const ZipReader& zip, std::string root,
               bool checkBytes);

  // A payload config: {"config": {name: PayloadMeta}}; blobs lie in `folder` ("data/weights/"), or in the
  // folders of tensors below it if that is "data/". Unknown members go to program.unknownMembers under
  // `unknownPath`[name].
  TensorTable readConfig(JsonValue config, std::string_view record, std::string_view folder,
                         std::string_view unknownPath, ExportedProgram& program, LoadCaches& caches);

  // torch.save of a dict of tensors. An empty record is an empty table.
  TensorTable readPickled(const ZipRecord& record);
  // `record` names the bytes in errors.
  TensorTable readPickled(const SharedBytes& bytes, std::string_view record);

 private:
  std::shared_ptr<const MappedFile> file_;
  const ZipReader& zip_;
  std::string root_;
  bool checkBytes_;
  StorageCache storages_;
};

}  // namespace edgefx::detail
