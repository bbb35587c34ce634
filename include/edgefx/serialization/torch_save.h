#pragma once

#include <edgefx/support/shared_bytes.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace c10 {
struct IValue;
}

// Files of torch.save as trees of values: tensors, None, bool, int, float, str, devices, lists, tuples and
// dicts with keys of text or numbers. Include <ATen/core/ivalue.h> to use these.
namespace edgefx {

// Reads what torch.save wrote. Values that the file shares are shared in the tree, as are the storages of
// tensors: walking every path through a tree may take exponential time. Tensors are in host memory whatever
// their device was, and need no gradient. A named tuple becomes a tuple, an OrderedDict a dict. The tensors
// use the mapped file's pages, privately: writing to them changes neither the file nor other readings.
// Cutting the file short while they live is fatal, replacing it by another is harmless. Throws ParseError for
// damaged files and for objects that only Python can make, UnsupportedError for values that no IValue holds,
// such as tensors of a dtype that this LibTorch lacks. O(bytes).
c10::IValue loadTorchSave(const std::filesystem::path& file);

// The same of bytes in memory, such as ExportedProgram::exampleInputs; the tensors are copies. `record` names
// the bytes in errors.
c10::IValue parseTorchSave(const SharedBytes& bytes, std::string_view record = {});

// Writes a file that torch.load reads, with its default weights_only=True too, replacing an existing one only
// when all is written. Every storage is written once, and whole. Throws UnsupportedError, naming the place in
// the tree, for other values than those above, for a container that lies in itself and for nesting deeper
// than 500 levels; Error if the file cannot be written. O(bytes).
void saveTorchSave(const std::filesystem::path& file, const c10::IValue& value);

// The bytes of such a file.
std::string torchSaveBytes(const c10::IValue& value);

}  // namespace edgefx
