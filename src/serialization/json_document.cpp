#include "serialization/json_document.h"

#include "serialization/json_fault.h"
#include "support/json_writer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace edgefx::detail {
namespace {

constexpr size_t kLongText = size_t{1} << 22;

// A hint: what lies in whole pages inside is backed by large ones, if the system has any.
void preferLargePages(void* memory, size_t bytes) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(memory) + page - 1) / page * page;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(memory) + bytes) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

}  // namespace

// The parser's buffers for a long text are fresh memory, of which it touches about twice the text's size. As
// small pages their faults would take as long as the parsing.
void JsonDocument::makeRoom(size_t bytes) {
  if (bytes < kLongText || bytes <= parser_.doc.capacity()) return;
  // The parser reports for itself if memory is short.
  if (parser_.doc.allocate(bytes) != simdjson::SUCCESS) return;
  if (parser_.allocate(bytes, parser_.max_depth()) != simdjson::SUCCESS) return;
  preferLargePages(parser_.doc.tape.get(), bytes * sizeof(uint64_t));
  preferLargePages(parser_.doc.string_buf.get(), bytes);
  preferLargePages(parser_.implementation->structural_indexes.get(), bytes * sizeof(uint32_t));
}

JsonValue JsonDocument::parse(std::string_view text, std::string_view record, bool isPadded) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  simdjson::error_code error = simdjson::SUCCESS;
  JsonValue root;
  makeRoom(text.size());
  if (text.empty() || text.starts_with(kByteOrderMark)) {
    error = simdjson::TAPE_ERROR;  // the parser crashes on empty text
  } else if (isPadded) {
    error = parser_.parse(reinterpret_cast<const uint8_t*>(text.data()), text.size(), false).get(root);
  } else {
    copy_ = simdjson::padded_string(text);
    error = parser_.parse(copy_).get(root);
  }
  // Only parsing needs them: a byte for each byte of text, commonly.
  if (text.size() >= kLongText) parser_.implementation.reset();
  if (error == simdjson::SUCCESS) return root;
  if (text.find("NaN") != std::string_view::npos || text.find("Infinity") != std::string_view::npos) {
    copy_ = simdjson::padded_string(quoteBareNonFinite(text));
    if (parser_.parse(copy_).get(root) == simdjson::SUCCESS) return root;
  }
  Diagnostic diagnostic(jsonErrorText(text, simdjson::error_message(error), kDeepest));
  diagnostic.record = record;
  throw ParseError(std::move(diagnostic));
}

}  // namespace edgefx::detail
