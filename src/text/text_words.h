#pragma once

#include <edgefx/ir/argument.h>
#include <edgefx/ir/meta.h>
#include <edgefx/ir/target.h>
#include <edgefx/program/signature.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Words of the program text, for those who write it and those who read it.
namespace edgefx::detail {

inline constexpr std::string_view kEdgeWord = "edge.";
inline constexpr int kDeepestText = 64;   // nesting of arguments and of values
inline constexpr int kDeepestPath = 512;  // nesting of graph modules

// "f32", "strided", "channels_last", "tensors"; numbers outside of the enum as "dtype77", "layout77",
// "memory_format77".
std::string textWord(Dtype dtype);
std::string textWord(Layout layout);
std::string textWord(MemoryFormat format);
std::string_view textWord(ListHint hint);
std::string textWord(InputKind kind);
std::string textWord(OutputKind kind);
std::string_view textWord(SpecArgKind kind);

std::optional<Dtype> dtypeOfWord(std::string_view word);
std::optional<Layout> layoutOfWord(std::string_view word);
std::optional<MemoryFormat> memoryFormatOfWord(std::string_view word);
std::optional<ListHint> listHintOfWord(std::string_view word);
std::optional<InputKind> inputKindOfWord(std::string_view word);
std::optional<OutputKind> outputKindOfWord(std::string_view word);
std::optional<SpecArgKind> specArgKindOfWord(std::string_view word);

// A word of letters, digits and '_', which does not begin with a digit.
bool isPlainWord(std::string_view text);

// The unquoted form of a target; empty if it has none.
std::string targetWord(Target target);
// What an unquoted target names. Throws UsageError for what is none.
Target targetOfWord(std::string_view word);
// Whether a word with dots stands for a target, not for a dtype, layout or memory format in Python's form.
bool isTargetWord(std::string_view word);

// Whether an expression in Python's form can stand among sizes as it is.
bool isPlainExpression(std::string_view form);
// What a form stands for where no symbols section says it. Throws ParseError for what is no expression.
SymExpr expressionOfForm(std::string_view form);

// Strides that are left out: those of a contiguous tensor. Nothing for sizes that overflow, or that make long
// expressions, whose strides are always written.
std::optional<std::vector<SymInt>> usualStrides(const std::vector<SymInt>& sizes);

// What a signature says of a node by its value alone; as specArgOf, but knows constants.
SpecArg plainSpecArg(const Node& node);
// What it says of a returned item; nothing if the item is neither a node nor a constant.
std::optional<SpecArg> plainSpecArg(const Argument& item);

}  // namespace edgefx::detail
