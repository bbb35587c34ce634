#include "ir/name_table.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <iterator>

namespace edgefx::detail {
namespace {

// Longer numbers at the end of a name count as part of its base.
constexpr size_t kMostDigits = 18;
constexpr uint64_t kNumberBound = 1'000'000'000'000'000'000;

constexpr std::array<bool, 256> kNameChars = [] {
  std::array<bool, 256> known{};
  for (int c = 'a'; c <= 'z'; ++c) known[static_cast<size_t>(c)] = true;
  for (int c = 'A'; c <= 'Z'; ++c) known[static_cast<size_t>(c)] = true;
  for (int c = '0'; c <= '9'; ++c) known[static_cast<size_t>(c)] = true;
  known['_'] = true;
  return known;
}();

bool isNameChar(char c) {
  return kNameChars[static_cast<unsigned char>(c)];
}

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

// Python's keywords, the names of its builtins module, and FX's own. 'None' is not here: FX's check misses
// it.
constexpr std::string_view kReservedWords[] = {"ArithmeticError",
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

bool isReservedWord(std::string_view word, uint32_t hash) {
  struct Words {
    std::array<uint16_t, 512> slots{};  // positions plus one
    Words() {
      for (uint16_t i = 0; i < std::size(kReservedWords); ++i) {
        size_t at = hashText(kReservedWords[i]) % slots.size();
        while (slots[at] != 0) at = (at + 1) % slots.size();
        slots[at] = static_cast<uint16_t>(i + 1);
      }
    }
  };
  static const Words words;
  for (size_t at = hash % words.slots.size(); words.slots[at] != 0; at = (at + 1) % words.slots.size()) {
    if (kReservedWords[words.slots[at] - 1] == word) return true;
  }
  return false;
}

// "base_12" with the shortest base of at least one character.
struct NameParts {
  std::string_view base;  // the whole name if there is no number
  uint64_t number = 0;
  bool isNumbered = false;
};

NameParts split(std::string_view name) {
  const size_t lowest = name.size() > kMostDigits ? name.size() - kMostDigits : 0;
  size_t at = name.size();
  while (at > lowest && isDigit(name[at - 1])) --at;
  if (at == name.size() || at < 2 || name[at - 1] != '_') return {name};
  uint64_t number = 0;
  for (size_t i = at; i < name.size(); ++i) number = number * 10 + static_cast<uint64_t>(name[i] - '0');
  return {name.substr(0, at - 1), number, true};
}

uint32_t hashBase(std::string_view base) {
  return static_cast<uint32_t>(hashText(base));
}
uint32_t hashNumber(uint64_t number) {
  return static_cast<uint32_t>(hashWord(number));
}

// What FX makes of a candidate before it is made unique.
void clean(std::string_view candidate, std::string& text) {
  if (!candidate.empty() && !isDigit(candidate[0]) && std::ranges::all_of(candidate, isNameChar)) {
    text = candidate;
    return;
  }
  text.clear();
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

}  // namespace

uint32_t NameTable::hashOf(std::string_view name) {
  const NameParts parts = split(name);
  const uint32_t base = hashBase(parts.base);
  return parts.isNumbered ? base ^ hashNumber(parts.number) : base;
}

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

void NameTable::reserve(size_t names) {
  if (names * 4 >= slots_.size() * 3) resize(std::bit_ceil(std::max<size_t>(16, 2 * names)));
}

void NameTable::resize(size_t slots) {
  std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots));
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.entry == kNone) continue;
    size_t i = slot.hash & mask;
    while (slots_[i].entry != kNone) i = (i + 1) & mask;
    slots_[i] = slot;
  }
}

void NameTable::insert(std::string_view name, uint32_t hash, uint32_t entry) {
  if (isFull()) resize(std::max<size_t>(16, 2 * slots_.size()));
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

NameTable::Count* NameTable::findCount(std::string_view base, uint32_t hash) const {
  if (countSlots_.empty()) return nullptr;
  const size_t mask = countSlots_.size() - 1;
  for (size_t i = hash & mask; countSlots_[i] != 0; i = (i + 1) & mask) {
    const Count& count = counts_[countSlots_[i] - 1];
    if (count.hash == hash && count.base == base) return const_cast<Count*>(&count);
  }
  return nullptr;
}

// `found` is what findCount says of the base. The text of a new base must live as long as the table.
NameTable::Count* NameTable::setCount(Count* found, std::string_view base, uint32_t hash, uint64_t number) {
  if (found == nullptr) {
    if (number == 0) return nullptr;
    counts_.push_back({base, hash});
    found = &counts_.back();
    const bool isFull = counts_.size() * 2 > countSlots_.size();
    if (isFull) countSlots_.assign(std::max<size_t>(16, countSlots_.size() * 2), 0);
    const size_t mask = countSlots_.size() - 1;
    for (size_t at = isFull ? 0 : counts_.size() - 1; at < counts_.size(); ++at) {
      size_t i = counts_[at].hash & mask;
      while (countSlots_[i] != 0) i = (i + 1) & mask;
      countSlots_[i] = static_cast<uint32_t>(at + 1);
    }
  }
  found->number = number;
  return found;
}

void NameTable::add(const Node& node) {
  insert(node.name(), node.nameHash_, node.id());
  const NameParts parts = split(node.name());
  if (!parts.isNumbered) return;
  const uint32_t hash = node.nameHash_ ^ hashNumber(parts.number);
  setCount(findCount(parts.base, hash), parts.base, hash, parts.number);
}

bool NameTable::isUsed(Candidate& candidate) const {
  if (slots_.empty()) return false;
  candidate.slot = slotOf(candidate.text, candidate.hash);
  return slots_[candidate.slot].entry != kNone;
}

void NameTable::Candidate::setNumber(uint64_t number) {
  char digits[20];
  const char* const end = std::to_chars(digits, std::end(digits), number).ptr;
  text.resize(baseLength);
  text += '_';
  text.append(digits, static_cast<size_t>(end - digits));
  hash = number < kNumberBound ? baseHash ^ hashNumber(number) : hashOf(text);
}

// Returns what findCount says of the base.
NameTable::Count* NameTable::makeUnique(std::string_view candidate) const {
  Candidate& made = scratch_;
  NameParts parts;
  if (!made.asked.empty() && made.asked == candidate) {  // passes ask for the same name again and again
    made.text.resize(made.baseLength);
    parts.base = made.text;
  } else {
    made.asked.clear();
    clean(candidate, made.text);
    parts = split(made.text);
    if (!parts.isNumbered) made.asked = candidate;
    made.baseLength = parts.base.size();
    made.baseHash = hashBase(parts.base);
  }
  made.hash = parts.isNumbered ? made.baseHash ^ hashNumber(parts.number) : made.baseHash;
  bool used = isUsed(made);
  Count* const found = findCount(parts.base, made.baseHash);
  const Count count = found != nullptr && (!parts.isNumbered || used) ? *found : Count();
  uint64_t number = parts.number;
  if (!parts.isNumbered || used) {
    number = count.number;
    if (!parts.isNumbered && isReservedWord(made.text, made.hash)) {
      made.setNumber(++number);
      used = isUsed(made);
    }
  }
  made.firstTried = number + 1;
  while (used) {
    ++number;
    if (number >= count.firstTaken && number <= count.lastTaken) number = count.lastTaken + 1;
    made.setNumber(number);
    used = isUsed(made);
  }
  made.number = number;
  return found;
}

std::string_view NameTable::unique(std::string_view candidate) const {
  makeUnique(candidate);
  return scratch_.text;
}

NameTable::Reserved NameTable::reserve(std::string_view candidate, const Node& node, TextPages& text) {
  Count* const found = makeUnique(candidate);
  const uint64_t first = scratch_.firstTried, last = scratch_.number;
  const std::string_view stored = text.store(scratch_.text);
  Count* count = setCount(found, stored.substr(0, scratch_.baseLength), scratch_.baseHash, last);
  if (count != nullptr && first <= last) {
    const bool touches = first <= count->lastTaken + 1 && count->firstTaken <= last + 1;
    count->firstTaken = touches ? std::min(first, count->firstTaken) : first;
    count->lastTaken = touches ? std::max(last, count->lastTaken) : last;
  }
  if (isFull()) {
    insert(stored, scratch_.hash, node.id());
  } else {
    slots_[scratch_.slot] = {scratch_.hash, node.id()};
    ++used_;
  }
  return {stored, scratch_.hash};
}

void NameTable::keepReserved(const Node& node) {
  std::string_view name = node.name();
  if (slots_.empty()) return;
  Slot& slot = slots_[slotOf(name, node.nameHash_)];
  if (slot.entry != node.id()) return;
  if (auto found = shadowed_.empty() ? shadowed_.end() : shadowed_.find(name); found != shadowed_.end()) {
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
