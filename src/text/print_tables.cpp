#include <edgefx/program/tensor_table.h>
#include <edgefx/support/python_text.h>

#include "support/base64.h"
#include "support/fail.h"
#include "text/program_printer.h"
#include "text/table_elements.h"

#include <string>

namespace edgefx::detail {
namespace {

std::string_view textOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::pair<const void*, size_t> storageKey(const StoredTensor& stored) {
  return {stored.storage().data(), stored.storage().size()};
}

bool hasOwnMemory(const StoredTensor& stored) {
  return !stored.isOpaque() && !stored.storage().empty();
}

}  // namespace

void ProgramPrinter::countStorages(const ExportedProgram& program) {
  for (const TensorTable* table : {&program.stateDict(), &program.constants()}) {
    for (const TensorTable::Entry& entry : *table) {
      if (hasOwnMemory(entry.value)) ++storages_[storageKey(entry.value)].uses;
    }
  }
}

void ProgramPrinter::appendTable(const TensorTable& table, std::string_view section) {
  if (table.empty()) return;
  out_ += fmt::format("{} {{\n", section);
  for (const auto& [name, stored] : table) {
    out_ += "  ";
    appendQuoted(out_, name);
    out_ += " =";
    if (stored.isParameter) out_ += " parameter";
    if (stored.isOpaque()) {
      out_ += " opaque ";
      appendQuoted(out_, stored.opaquePrefix());
      if (stored.meta() != nullptr) {
        out_ += " : ";
        appendTensorMeta(*stored.meta());
      }
      out_ += ' ';
      appendBytes(stored.opaqueRecord().text());
      out_ += '\n';
      continue;
    }
    if (stored.meta() == nullptr) fail<UnsupportedError>("'{}' of the {} is empty", name, section);
    if (stored.isRaw() && toScalarType(stored.meta()->dtype)) out_ += " raw";
    out_ += ' ';
    appendTensorMeta(*stored.meta());
    bool isWritten = false;
    if (hasOwnMemory(stored)) {
      Storage& storage = storages_.at(storageKey(stored));
      isWritten = storage.isWritten;
      if (storage.uses > 1) {
        if (!isWritten) storage.number = numShared_++;
        out_ += fmt::format(" @{}", storage.number);
      }
      storage.isWritten = true;
    }
    if (!isWritten) {
      out_ += ' ';
      if (!appendElements(stored)) appendBytes(textOf(stored.storage()));
    }
    out_ += '\n';
  }
  out_ += "}\n";
}

// The bytes in lines of a length that can be read.
void ProgramPrinter::appendBytes(std::string_view bytes) {
  if (bytes.size() > options_.mostBytes) {
    out_ += fmt::format("elided {}", bytes.size());
    return;
  }
  constexpr size_t kBytesPerLine = 72;
  out_ += "base64";
  for (size_t at = 0; at < bytes.size(); at += kBytesPerLine) {
    out_ += bytes.size() <= kBytesPerLine ? " \"" : "\n    \"";
    out_ += base64Of(bytes.substr(at, kBytesPerLine));
    out_ += '"';
  }
}

// Few elements are written out as numbers, if these say all there is.
bool ProgramPrinter::appendElements(const StoredTensor& stored) {
  constexpr size_t kMostElements = 32;
  const TensorMeta& meta = *stored.meta();
  const size_t size = elementSize(meta.dtype);
  const std::string_view bytes = textOf(stored.storage());
  if (bytes.size() > options_.mostBytes || size == 0 || bytes.size() / size > kMostElements) return false;
  if (elementBytes(meta) != bytes.size()) return false;
  std::string elements;
  if (!appendElementTexts(elements, meta.dtype, bytes)) return false;
  out_ += '[' + elements + ']';
  return true;
}

}  // namespace edgefx::detail
