#include "ir/name_table.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <unordered_set>

namespace edgefx::detail {
namespace {

__extension__ using Product = unsigned __int128;

constexpr size_t kMostDigits = 18;  // longer numbers at the end of a name count as part of its base

bool isNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

// Python's keywords, the names of its builtins module, and FX's own. 'None' is not here: FX's check misses
// it.
bool isReservedWord(std::string_view word) {
  static const auto& words = *new std::unordered_set<std::string_view>{"ArithmeticError",
                                                                       "AssertionError",
                                                                       "AttributeError",
                                                                       "BaseException",
                                                                       "BaseExceptionGroup",
                                                                       "BlockingIOError",
                                                                       "BrokenPipeError",
                                                                       "BufferError",
                                                                       "BytesWarning",
                                                                       "ChildProcessError",
                                                                       "ConnectionAbortedError",
                                                                       "ConnectionError",
                                                                       "ConnectionRefusedError",
                                                                       "ConnectionResetError",
                                                                       "DeprecationWarning",
                                                                       "EOFError",
                                                                       "EncodingWarning",
                                                                       "EnvironmentError",
                                                                       "Exception",
                                                                       "ExceptionGroup",
                                                                       "FileExistsError",
                                                                       "FileNotFoundError",
                                                                       "FloatingPointError",
                                                                       "FutureWarning",
                                                                       "GeneratorExit",
                                                                       "IOError",
                                                                       "ImportError",
                                                                       "ImportWarning",
                                                                       "IndentationError",
                                                                       "IndexError",
                                                                       "InterruptedError",
                                                                       "IsADirectoryError",
                                                                       "KeyError",
                                                                       "KeyboardInterrupt",
                                                                       "LookupError",
                                                                       "MemoryError",
                                                                       "ModuleNotFoundError",
                                                                       "NameError",
                                                                       "NotADirectoryError",
                                                                       "NotImplementedError",
                                                                       "OSError",
                                                                       "OverflowError",
                                                                       "PendingDeprecationWarning",
                                                                       "PermissionError",
                                                                       "ProcessLookupError",
                                                                       "PythonFinalizationError",
                                                                       "RecursionError",
                                                                       "ReferenceError",
                                                                       "ResourceWarning",
                                                                       "RuntimeError",
                                                                       "RuntimeWarning",
                                                                       "StopAsyncIteration",
                                                                       "StopIteration",
                                                                       "SyntaxError",
                                                                       "SyntaxWarning",
                                                                       "SystemError",
                                                                       "SystemExit",
                                                                       "TabError",
                                                                       "TimeoutError",
                                                                       "TypeError",
                                                                       "UnboundLocalError",
                                                                       "UnicodeDecodeError",
                                                                       "UnicodeEncodeError",
                                                                       "UnicodeError",
                                                                       "UnicodeTranslateError",
                                                                       "UnicodeWarning",
                                                                       "UserWarning",
                                                                       "ValueError",
                                                                       "Warning",
                                                                       "ZeroDivisionError",
                                                                       "_IncompleteInputError",
                                                                       "Ellipsis",
                                                                       "False",
                                                                       "NotImplemented",
                                                                       "True",
                                                                       "__build_class__",
                                                                       "__debug__",
                                                                       "__doc__",
                                                                       "__import__",
                                                                       "__loader__",
                                                                       "__name__",
                                                                       "__package__",
                                                                       "__spec__",
                                                                       "abs",
                                                                       "aiter",
                                                                       "all",
                                                                       "and",
                                                                       "anext",
                                                                       "any",
                                                                       "as",
                                                                       "ascii",
                                                                       "assert",
                                                                       "async",
                                                                       "await",
                                                                       "bin",
                                                                       "bool",
                                                                       "break",
                                                                       "breakpoint",
                                                                       "bytearray",
                                                                       "bytes",
                                                                       "callable",
                                                                       "chr",
                                                                       "class",
                                                                       "classmethod",
                                                                       "compile",
                                                                       "complex",
                                                                       "continue",
                                                                       "copyright",
                                                                       "credits",
                                                                       "def",
                                                                       "del",
                                                                       "delattr",
                                                                       "dict",
                                                                       "dir",
                                                                       "divmod",
                                                                       "elif",
                                                                       "else",
                                                                       "enumerate",
                                                                       "eval",
                                                                       "except",
                                                                       "exec",
                                                                       "exit",
                                                                       "filter",
                                                                       "finally",
                                                                       "float",
                                                                       "for",
                                                                       "format",
                                                                       "from",
                                                                       "frozenset",
                                                                       "getattr",
                                                                       "global",
                                                                       "globals",
                                                                       "hasattr",
                                                                       "hash",
                                                                       "help",
                                                                       "hex",
                                                                       "id",
                                                                       "if",
                                                                       "import",
                                                                       "in",
                                                                       "input",
                                                                       "int",
                                                                       "is",
                                                                       "isinstance",
                                                                       "issubclass",
                                                                       "iter",
                                                                       "lambda",
                                                                       "len",
                                                                       "license",
                                                                       "list",
                                                                       "locals",
                                                                       "map",
                                                                       "max",
                                                                       "memoryview",
                                                                       "min",
                                                                       "next",
                                                                       "nonlocal",
                                                                       "not",
                                                                       "object",
                                                                       "oct",
                                                                       "open",
                                                                       "or",
                                                                       "ord",
                                                                       "pass",
                                                                       "pow",
                                                                       "print",
                                                                       "property",
                                                                       "quit",
                                                                       "raise",
                                                                       "range",
                                                                       "repr",
                                                                       "return",
                                                                       "reversed",
                                                                       "round",
                                                                       "set",
                                                                       "setattr",
                                                                       "slice",
                                                                       "sorted",
                                                                       "staticmethod",
                                                                       "str",
                                                                       "sum",
                                                                       "super",
                                                                       "try",
                                                                       "tuple",
                                                                       "type",
                                                                       "vars",
                                                                       "while",
                                                                       "with",
                                                                       "yield",
                                                                       "zip",
                                                                       "inf",
                                                                       "nan",
                                                                       "NoneType",
                                                                       "torch",
                                                                       "device",
                                                                       "fx_pytree",
                                                                       "pytree"};
  return words.contains(word);
}

// Length of the base of "base_12": the shortest base of at least one character; the whole text if it has no
// number.
size_t baseLength(std::string_view name) {
  size_t digits = 0;
  while (digits < name.size() && isDigit(name[name.size() - 1 - digits])) ++digits;
  size_t base = name.size() - digits;
  bool numbered = digits > 0 && digits <= kMostDigits && base >= 2 && name[base - 1] == '_';
  return numbered ? base - 1 : name.size();
}

uint64_t numberAt(std::string_view digits) {
  uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

}  // namespace

std::string_view NameTable::textOf(const Slot& slot) const {
  if ((slot.entry & kReservedBit) != 0) return reserved_[slot.entry & ~kReservedBit];
  return slabs_.at(slot.entry)->name();
}

size_t NameTable::slotOf(std::string_view name, uint32_t hash) const {
  size_t mask = slots_.size() - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    const Slot& slot = slots_[i];
    if (slot.entry == kNone || (slot.hash == hash && textOf(slot) == name)) return i;
  }
}

uint32_t NameTable::find(std::string_view name) const {
  if (slots_.empty()) return kNone;
  const Slot& slot = slots_[slotOf(name, hashOf(name))];
  return slot.entry == kNone || (slot.entry & kReservedBit) != 0 ? kNone : slot.entry;
}

void NameTable::grow() {
  std::vector<Slot> old = std::move(slots_);
  slots_.assign(std::max<size_t>(16, old.size() * 2), Slot());
  size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.entry == kNone) continue;
    size_t i = slot.hash & mask;
    while (slots_[i].entry != kNone) i = (i + 1) & mask;
    slots_[i] = slot;
  }
}

void NameTable::insert(std::string_view name, uint32_t hash, uint32_t entry) {
  if (used_ * 4 >= slots_.size() * 3) grow();
  Slot& slot = slots_[slotOf(name, hash)];
  if (slot.entry != kNone) {
    // A name that was reserved becomes a node's; a second node of one name leaves the first in place.
    if ((slot.entry & kReservedBit) != 0) {
      slot.entry = entry;
    } else if (slot.entry != entry) {
      auto found = shadowed_.find(name);
      if (found == shadowed_.end()) found = shadowed_.emplace(name, std::vector<uint32_t>()).first;
      found->second.push_back(entry);
    }
    return;
  }
  slot = {hash, entry};
  ++used_;
}

NameTable::Count* NameTable::findCount(std::string_view base) const {
  if (countSlots_.empty()) return nullptr;
  const size_t mask = countSlots_.size() - 1;
  for (size_t i = hashOf(base) & mask; countSlots_[i] != 0; i = (i + 1) & mask) {
    const auto& entry = counts_[countSlots_[i] - 1];
    if (entry.first == base) return const_cast<Count*>(&entry.second);
  }
  return nullptr;
}

// The text of a new base must live as long as the table.
NameTable::Count* NameTable::setCount(std::string_view base, uint64_t number) {
  Count* found = findCount(base);
  if (found == nullptr) {
    if (number == 0) return nullptr;
    counts_.emplace_back(base, Count());
    found = &counts_.back().second;
    const bool isFull = counts_.size() * 2 > countSlots_.size();
    if (isFull) countSlots_.assign(std::max<size_t>(16, countSlots_.size() * 2), 0);
    const size_t mask = countSlots_.size() - 1;
    for (size_t at = isFull ? 0 : counts_.size() - 1; at < counts_.size(); ++at) {
      size_t i = hashOf(counts_[at].first) & mask;
      while (countSlots_[i] != 0) i = (i + 1) & mask;
      countSlots_[i] = static_cast<uint32_t>(at + 1);
    }
  }
  found->number = number;
  return found;
}

void NameTable::add(const Node& node) {
  std::string_view name = node.name();
  insert(name, node.nameHash_, node.id());
  size_t base = baseLength(name);
  if (base < name.size()) setCount(name.substr(0, base), numberAt(name.substr(base + 1)));
}

void NameTable::makeUnique(std::string_view candidate) const {
  std::string& text = scratch_.text;
  text.clear();
  bool clean = !candidate.empty() && !isDigit(candidate[0]);
  for (size_t i = 0; clean && i < candidate.size(); ++i) clean = isNameChar(candidate[i]);
  if (clean) {
    text = candidate;
  } else {
    for (size_t i = 0; i < candidate.size(); ++i) {
      if (isNameChar(candidate[i])) {
        text += candidate[i];
      } else if (i == 0 || isNameChar(candidate[i - 1])) {
        text += '_';
      }
    }
    if (text.empty()) text = "_unnamed";
    if (isDigit(text[0])) text.insert(0, 1, '_');
  }

  auto isUsed = [this](const std::string& name) {
    scratch_.hash = hashOf(name);
    return !slots_.empty() && slots_[slotOf(name, scratch_.hash)].entry != kNone;
  };
  size_t base = baseLength(text);
  bool used = isUsed(text);
  Count count;
  uint64_t number;
  if (base == text.size() || used) {
    if (const Count* found = findCount(std::string_view(text).substr(0, base))) count = *found;
    number = count.number;
    if (isReservedWord(text)) {
      ++number;
      text.resize(base);
      text += '_';
      text += std::to_string(number);
      used = isUsed(text);
    }
  } else {
    number = numberAt(std::string_view(text).substr(base + 1));
  }
  scratch_.firstTried = number + 1;
  while (used) {
    ++number;
    if (number >= count.firstTaken && number <= count.lastTaken) number = count.lastTaken + 1;
    text.resize(base);
    text += '_';
    text += std::to_string(number);
    used = isUsed(text);
  }
  scratch_.baseLength = base;
  scratch_.number = number;
}

std::string_view NameTable::unique(std::string_view candidate) const {
  makeUnique(candidate);
  return scratch_.text;
}

NameTable::Reserved NameTable::reserve(std::string_view candidate, const Node& node, TextPages& text) {
  makeUnique(candidate);
  const uint64_t first = scratch_.firstTried, last = scratch_.number;
  const std::string_view stored = text.store(scratch_.text);
  Count* count = setCount(stored.substr(0, scratch_.baseLength), last);
  if (count != nullptr && first <= last) {
    const bool touches = first <= count->lastTaken + 1 && count->firstTaken <= last + 1;
    count->firstTaken = touches ? std::min(first, count->firstTaken) : first;
    count->lastTaken = touches ? std::max(last, count->lastTaken) : last;
  }
  insert(stored, scratch_.hash, node.id());
  return {stored, scratch_.hash};
}

void NameTable::keepReserved(const Node& node) {
  std::string_view name = node.name();
  if (slots_.empty()) return;
  Slot& slot = slots_[slotOf(name, node.nameHash_)];
  if (slot.entry != node.id()) return;
  if (auto found = shadowed_.find(name); found != shadowed_.end()) {
    std::vector<uint32_t>& others = found->second;
    while (!others.empty()) {
      const Node& other = *slabs_.at(others.back());
      others.pop_back();
      if (&other == &node || other.isErased() || other.name() != name) continue;
      slot.entry = other.id();
      return;
    }
  }
  slot.entry = kReservedBit | static_cast<uint32_t>(reserved_.size());
  reserved_.push_back(name);
}

size_t NameTable::bytes() const {
  return slots_.capacity() * sizeof(Slot) + reserved_.capacity() * sizeof(std::string_view);
}

}  // namespace edgefx::detail
