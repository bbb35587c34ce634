#pragma once

#include <edgefx/program/tensor_table.h>

#include "serialization/zip_writer.h"

#include <string>

namespace edgefx::detail {

// The table as torch.save writes a dict of tensors: an archive of its own, with each storage once. Throws
// UnsupportedError, naming the entry, for what needs Python to be written: subclasses of tensors, objects,
// tensors without memory of their own on the device "meta". O(bytes).
std::string torchSave(const TensorTable& table);

// The same for a tree of values: adds the records and finishes the archive. See saveTorchSave for errors.
void torchSave(const c10::IValue& value, ZipWriter& zip);

}  // namespace edgefx::detail
