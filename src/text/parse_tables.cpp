#include <edgefx/program/tensor_table.h>

#include "support/base64.h"
#include "support/fail.h"
#include "support/strided_extent.h"
#include "text/parsed_storages.h"
#include "text/program_parser.h"
#include "text/table_elements.h"
#include "text/text_words.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace edgefx::detail {
namespace {

SharedBytes sharedBytes(std::string bytes) {
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  return {owner, std::as_bytes(std::span(*owner))};
}

// Pages that nobody reads take no memory.
SharedBytes zeroBytes(size_t count) {
  if (count == 0) return {};
  std::shared_ptr<void> owner(std::calloc(count, 1), std::free);
  if (owner == nullptr) throw std::bad_alloc();
  return {owner, std::span(static_cast<const std::byte*>(owner.get()), count)};
}

bool isSymbolicSize(const SymInt& size) {
  return size.isSymbolic();
}

}  // namespace

void ProgramParser::parseTable(TensorTable& table) {
  in_.expect('{', "before tensors");
  while (!in_.accept('}')) {
    in_.peek();
    const size_t start = in_.position();
    std::string name = in_.string("the name of a tensor or '}'");
    if (table.contains(name)) in_.fail(start, fmt::format("expected one tensor '{}', found a second", name));
    in_.expect('=', "after the name of a tensor");
    parseEntry(table, std::move(name), start);
  }
}

void ProgramParser::parseEntry(TensorTable& table, std::string name, size_t start) {
  const bool isParameter = in_.acceptWord("parameter");
  if (in_.acceptWord("opaque")) {
    std::string prefix = in_.string("the prefix of a record");
    std::optional<TensorMeta> meta;
    if (in_.accept(':')) meta = parseTensorMeta();
    SharedBytes record = parseBytes();
    at(start, [&] {
      table.set(name,
                StoredTensor::opaque(std::move(record), std::move(prefix), std::move(meta), isParameter));
    });
    return;
  }
  const bool isRaw = in_.acceptWord("raw");
  in_.peek();
  const size_t typeAt = in_.position();
  const TensorMeta meta = parseTensorMeta();
  SharedStorage own;
  SharedStorage* storage = &own;
  bool isKnown = false;
  if (in_.accept('@')) {
    const int64_t number = in_.integer("the number of a storage");
    auto [known, isNew] = storages_->byNumber.try_emplace(number);
    storage = &known->second;
    isKnown = !isNew;
  }
  const bool hasElements = in_.peek() == '[';
  if (!isKnown) storage->bytes = hasElements ? parseElements(meta) : parseBytes();

  const bool hasSymbols = std::ranges::any_of(meta.sizes, isSymbolicSize) ||
                          std::ranges::any_of(meta.strides, isSymbolicSize) ||
                          meta.storageOffset.isSymbolic();
  const bool isPlain = !hasSymbols && meta.layout == Layout::Strided && elementSize(meta.dtype) != 0;
  if (isRaw) {
    table.set(name, StoredTensor::raw(storage->bytes, meta, isParameter));
    return;
  }
  if (!isPlain) in_.fail(typeAt, "expected a strided tensor of plain sizes; others are written 'raw'");
  const bool isShape = meta.device.type == "meta" && storage->bytes.empty();
  if (!isShape) {
    uint64_t needed = 0;
    try {
      needed = storageBytesNeeded(plainNumbers(meta.sizes), plainNumbers(meta.strides),
                                  meta.storageOffset.value(), elementSize(meta.dtype));
    } catch (const ParseError& error) {
      failFor(typeAt, error);
    }
    if (needed > storage->bytes.size()) {
      in_.fail(typeAt,
               fmt::format("expected at most the {} bytes of the storage, found a tensor that needs {}",
                           storage->bytes.size(), needed));
    }
  }
  at(start, [&] { table.set(name, makeTensor(*storage, meta, isParameter)); });
}

SharedBytes ProgramParser::parseElements(const TensorMeta& meta) {
  const size_t start = in_.position();
  const std::optional<uint64_t> expected = elementBytes(meta);
  if (!expected)
    in_.fail(start, "expected the bytes of the storage: only contiguous tensors can have numbers");
  in_.expect('[', "before the elements of a tensor");
  std::string bytes;
  while (!in_.accept(']')) {
    in_.peek();
    const size_t at = in_.position();
    std::string_view text = in_.numberText();
    if (text.empty()) text = in_.word();
    if (!appendElementOf(bytes, meta.dtype, text))
      in_.fail(at, fmt::format("expected an element of dtype {}, or ']'", textWord(meta.dtype)));
    if (in_.peek() != ']') in_.expect(',', "or ']' after an element");
  }
  if (bytes.size() != *expected) {
    const size_t size = elementSize(meta.dtype);
    in_.fail(start, fmt::format("expected {} elements, found {}", *expected / size, bytes.size() / size));
  }
  return sharedBytes(std::move(bytes));
}

SharedBytes ProgramParser::parseBytes(bool dropsElided) {
  in_.peek();
  const size_t start = in_.position();
  if (in_.acceptWord("elided")) {
    const int64_t count = in_.integer("the number of bytes that were left out");
    if (!options_.elidedAreZeros) {
      in_.fail(start,
               fmt::format("{} bytes were left out when this was written; they can be read as zeros only "
                           "(ParseTextOptions::elidedAreZeros)",
                           count));
    }
    if (dropsElided) return {};
    if (count < 0 || static_cast<uint64_t>(count) > options_.mostZeros - zeros_)
      in_.fail(start,
               fmt::format("expected at most {} bytes that were left out, in all", options_.mostZeros));
    zeros_ += static_cast<size_t>(count);
    return zeroBytes(static_cast<size_t>(count));
  }
  if (!in_.acceptWord("base64"))
    in_.expected("'base64' and strings, 'elided' or, for a tensor, its elements");
  std::string bytes;
  while (in_.peek() == '"') {
    const size_t at = in_.position();
    const std::optional<std::string> part = bytesOfBase64(in_.string("base64"));
    if (in_.peek() == '=') {  // the name of the next entry
      in_.moveTo(at);
      break;
    }
    if (!part) in_.fail(at, "expected base64");
    bytes += *part;
  }
  return bytes.empty() ? SharedBytes() : sharedBytes(std::move(bytes));
}

}  // namespace edgefx::detail
