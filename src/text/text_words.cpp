#include "text/text_words.h"

#include <edgefx/ir/node.h>
#include <edgefx/support/error.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

namespace edgefx::detail {
namespace {

template <typename Kind>
struct KindWord {
  std::string_view word;
  Kind kind;
};

constexpr KindWord<Dtype> kDtypeWords[] = {
    {"u8", Dtype::UInt8},
    {"i8", Dtype::Int8},
    {"i16", Dtype::Int16},
    {"i32", Dtype::Int32},
    {"i64", Dtype::Int64},
    {"f16", Dtype::Float16},
    {"f32", Dtype::Float32},
    {"f64", Dtype::Float64},
    {"c32", Dtype::Complex32},
    {"c64", Dtype::Complex64},
    {"c128", Dtype::Complex128},
    {"bool", Dtype::Bool},
    {"bf16", Dtype::BFloat16},
    {"u16", Dtype::UInt16},
    {"u32", Dtype::UInt32},
    {"u64", Dtype::UInt64},
    {"f8e4m3fn", Dtype::Float8E4M3FN},
    {"f8e5m2", Dtype::Float8E5M2},
    {"f8e4m3fnuz", Dtype::Float8E4M3FNUZ},
    {"f8e5m2fnuz", Dtype::Float8E5M2FNUZ},
    {"f8e8m0fnu", Dtype::Float8E8M0FNU},
};
constexpr KindWord<Layout> kLayoutWords[] = {
    {"strided", Layout::Strided},      {"sparse_coo", Layout::SparseCoo}, {"sparse_csr", Layout::SparseCsr},
    {"sparse_csc", Layout::SparseCsc}, {"sparse_bsr", Layout::SparseBsr}, {"sparse_bsc", Layout::SparseBsc},
    {"mkldnn", Layout::Mkldnn},
};
constexpr KindWord<MemoryFormat> kMemoryFormatWords[] = {
    {"contiguous_format", MemoryFormat::Contiguous},
    {"channels_last", MemoryFormat::ChannelsLast},
    {"channels_last_3d", MemoryFormat::ChannelsLast3d},
    {"preserve_format", MemoryFormat::Preserve},
};
constexpr KindWord<ListHint> kListHintWords[] = {
    {"tensors", ListHint::Tensors},
    {"optional_tensors", ListHint::OptionalTensors},
    {"nested_tensors", ListHint::NestedTensors},
    {"ints", ListHint::Ints},
    {"sym_ints", ListHint::SymInts},
    {"int_lists", ListHint::IntLists},
    {"floats", ListHint::Floats},
    {"sym_floats", ListHint::SymFloats},
    {"float_lists", ListHint::FloatLists},
    {"bools", ListHint::Bools},
    {"sym_bools", ListHint::SymBools},
    {"strings", ListHint::Strings},
};
constexpr KindWord<SpecArgKind> kSpecArgWords[] = {
    {"tensor", SpecArgKind::Tensor},      {"sym_int", SpecArgKind::SymInt},
    {"sym_float", SpecArgKind::SymFloat}, {"sym_bool", SpecArgKind::SymBool},
    {"token", SpecArgKind::Token},        {"object", SpecArgKind::CustomObject},
    {"constant", SpecArgKind::Constant},
};
constexpr InputKind kInputKinds[] = {InputKind::UserInput,      InputKind::Parameter,    InputKind::Buffer,
                                     InputKind::ConstantTensor, InputKind::CustomObject, InputKind::Token};
constexpr OutputKind kOutputKinds[] = {OutputKind::UserOutput,          OutputKind::LossOutput,
                                       OutputKind::BufferMutation,      OutputKind::ParameterMutation,
                                       OutputKind::GradientToParameter, OutputKind::GradientToUserInput,
                                       OutputKind::UserInputMutation,   OutputKind::Token};

template <typename Table, typename Kind>
std::string wordOf(const Table& table, Kind kind, std::string_view what) {
  for (const auto& entry : table) {
    if (entry.kind == kind) return std::string(entry.word);
  }
  return std::string(what) + std::to_string(static_cast<int>(kind));
}

template <typename Kind, typename Table>
std::optional<Kind> findWord(const Table& table, std::string_view word) {
  for (const auto& entry : table) {
    if (entry.word == word) return entry.kind;
  }
  return std::nullopt;
}

// Numbers that no enum has are kept all the same.
template <typename Kind, typename Table>
std::optional<Kind> numberedWord(const Table& table, std::string_view word, std::string_view what) {
  if (auto known = findWord<Kind>(table, word)) return known;
  if (!word.starts_with(what) || word.size() == what.size()) return std::nullopt;
  unsigned number = 0;
  const char* const end = word.data() + word.size();
  const auto [at, error] = std::from_chars(word.data() + what.size(), end, number);
  if (error != std::errc() || at != end || number > 255) return std::nullopt;
  const Kind kind = static_cast<Kind>(number);
  return wordOf(table, kind, what) == word ? std::optional(kind) : std::nullopt;
}

std::string lowerCase(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

// "a.b.c" of plain words.
bool isDottedWord(std::string_view text) {
  while (true) {
    const size_t dot = text.find('.');
    if (!isPlainWord(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

}  // namespace

std::string textWord(Dtype dtype) {
  return wordOf(kDtypeWords, dtype, "dtype");
}
std::string textWord(Layout layout) {
  return wordOf(kLayoutWords, layout, "layout");
}
std::string textWord(MemoryFormat format) {
  return wordOf(kMemoryFormatWords, format, "memory_format");
}
std::string_view textWord(ListHint hint) {
  for (const auto& entry : kListHintWords) {
    if (entry.kind == hint) return entry.word;
  }
  return {};
}
std::string textWord(InputKind kind) {
  return lowerCase(name(kind));
}
std::string textWord(OutputKind kind) {
  return lowerCase(name(kind));
}
std::string_view textWord(SpecArgKind kind) {
  for (const auto& entry : kSpecArgWords) {
    if (entry.kind == kind) return entry.word;
  }
  return {};
}

std::optional<Dtype> dtypeOfWord(std::string_view word) {
  return numberedWord<Dtype>(kDtypeWords, word, "dtype");
}
std::optional<Layout> layoutOfWord(std::string_view word) {
  return numberedWord<Layout>(kLayoutWords, word, "layout");
}
std::optional<MemoryFormat> memoryFormatOfWord(std::string_view word) {
  return numberedWord<MemoryFormat>(kMemoryFormatWords, word, "memory_format");
}
std::optional<ListHint> listHintOfWord(std::string_view word) {
  return findWord<ListHint>(kListHintWords, word);
}
std::optional<SpecArgKind> specArgKindOfWord(std::string_view word) {
  return findWord<SpecArgKind>(kSpecArgWords, word);
}
std::optional<InputKind> inputKindOfWord(std::string_view word) {
  for (InputKind kind : kInputKinds) {
    if (textWord(kind) == word) return kind;
  }
  return std::nullopt;
}
std::optional<OutputKind> outputKindOfWord(std::string_view word) {
  for (OutputKind kind : kOutputKinds) {
    if (textWord(kind) == word) return kind;
  }
  return std::nullopt;
}

bool isPlainWord(std::string_view text) {
  if (text.empty() || isDigit(text.front())) return false;
  return std::ranges::all_of(text, [](char c) { return isLetter(c) || isDigit(c); });
}

bool isTargetWord(std::string_view word) {
  return word.find('.') != std::string_view::npos && !dtypeFromFxText(word) && !layoutFromFxText(word) &&
         !memoryFormatFromFxText(word);
}

Target targetOfWord(std::string_view word) {
  return word.starts_with(kEdgeWord) ? Target::edge(word.substr(kEdgeWord.size())) : Target(word);
}

std::string targetWord(Target target) {
  std::string word(target.name());
  if (target.kind() == TargetKind::EdgeOperator) word.insert(0, kEdgeWord);
  if (target.kind() == TargetKind::HigherOrder) word.insert(0, "higher_order.");
  if (!isDottedWord(word) || !isTargetWord(word)) return {};
  // "edge.f" and the like would be read as something else.
  if (target.kind() != TargetKind::EdgeOperator && word.starts_with(kEdgeWord)) return {};
  return targetOfWord(word) == target ? word : std::string();
}

bool isPlainExpression(std::string_view form) {
  constexpr std::string_view kSigns = "_ +-*/().,<>=&|~!%^";
  if (form.empty() || form.front() == ' ' || form.back() == ' ') return false;
  // Would be something else.
  double number = 0;
  const auto parsed = std::from_chars(form.data(), form.data() + form.size(), number);
  if (parsed.ptr == form.data() + form.size() || form == "True" || form == "False") return false;
  if (form.starts_with("sym(")) return false;
  int depth = 0;
  for (char c : form) {
    if (!isLetter(c) && !isDigit(c) && kSigns.find(c) == std::string_view::npos) return false;
    if (c == '(') ++depth;
    if (c == ')' && --depth < 0) return false;
    if (c == ',' && depth == 0) return false;
  }
  return depth == 0;
}

SymExpr expressionOfForm(std::string_view form) {
  return isPlainWord(form) ? SymExpr::symbol(form) : SymExpr::parse(form);
}

std::optional<std::vector<SymInt>> usualStrides(const std::vector<SymInt>& sizes) {
  // A stride repeats the expressions of the sizes after it.
  constexpr size_t kMostSymbolic = 8, kLongestExpression = 256;
  size_t numSymbolic = 0;
  for (const SymInt& size : sizes) {
    if (!size.isSymbolic()) continue;
    const bool isLong = size.symbolic()->expression.text().size() > kLongestExpression;
    if (isLong || ++numSymbolic > kMostSymbolic) return std::nullopt;
  }
  try {
    return contiguousTensor(Dtype::Float32, sizes).strides;
  } catch (const Error&) {
    return std::nullopt;
  }
}

SpecArg plainSpecArg(const Node& node) {
  SpecArg arg = specArgOf(node);
  if (node.value() == nullptr) return arg;
  if (const auto* constant = std::get_if<ValueMeta::Constant>(&node.value()->data)) {
    arg.kind = SpecArgKind::Constant;
    arg.value = constant->value;
  }
  return arg;
}

std::optional<SpecArg> plainSpecArg(const Argument& item) {
  SpecArg arg;
  arg.kind = SpecArgKind::Constant;
  switch (item.kind()) {
    case ArgumentKind::Node:
      return plainSpecArg(item.asNode());
    case ArgumentKind::None:
      return arg;
    case ArgumentKind::Bool:
      arg.value = item.asBool();
      return arg;
    case ArgumentKind::Int:
      arg.value = item.asInt();
      return arg;
    case ArgumentKind::Float:
      arg.value = item.asFloat();
      return arg;
    case ArgumentKind::String:
      arg.value = std::string(item.asString());
      return arg;
    default:
      return std::nullopt;
  }
}

}  // namespace edgefx::detail
