#pragma once

#include <edgefx/ir/graph_module.h>

#include "ir/graph_builder.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace edgefx::detail {

// Reads the arguments on a line of FX text.
class FxValueReader {
 public:
  FxValueReader(std::string_view text, std::string_view fileName, size_t at, size_t end, Graph& graph,
                GraphBuilder& builder)
      : text_(text), fileName_(fileName), at_(at), end_(end), graph_(graph), builder_(builder) {}

  // Whose arguments these are: says which of them are devices or operators.
  void setCallee(Target target) { callee_ = target; }

  struct Arguments {
    Argument* first = nullptr;
    size_t numArgs = 0, numKwargs = 0;
  };
  // "(args = (...), kwargs = {...})"
  Arguments callArguments();
  // What Python's str() gives: the returned value, a default.
  Argument standalone();
  void expectEnd();

 private:
  // Fx: nodes have a '%', strings no quotes. Repr: the other way round.
  enum class Style { Fx, Repr };
  // Which argument of the call is read, for words that mean something there.
  struct Place {
    std::string_view name;      // empty if it is not known
    bool isBareString = false;  // out: the value was a string without quotes
  };

  Argument value(Style style, Place& place, int depth);
  Argument list(Style style, char close, ArgumentKind kind, const Place& place, int depth);
  Argument dict(Style style, int depth);
  void items(Style style, char close, bool areArguments, const Place& outer, int depth);
  Argument three(ArgumentKind kind, int depth);
  Argument word(Style style, Place& place);
  Argument reprWord(std::string_view text, size_t start);
  Argument fxWord(std::string_view text, size_t start, Place& place);
  bool commonWord(std::string_view text, Argument& out);
  bool number(std::string_view text, Argument& out);
  Argument quoted();
  Argument deviceRepr();
  Argument operatorRepr();
  Argument take(ArgumentKind kind, size_t base, size_t count);
  std::string_view bare();
  std::string_view argumentName(size_t index) const;
  bool startsWith(std::string_view prefix) const { return text_.substr(at_, end_ - at_).starts_with(prefix); }
  bool accept(std::string_view what);
  void expect(std::string_view what);
  [[noreturn]] void refuse(size_t at, std::string_view message) const;

  std::string_view text_;
  std::string_view fileName_;
  size_t at_;
  size_t end_;
  Graph& graph_;
  GraphBuilder& builder_;
  std::optional<Target> callee_;
  std::vector<Argument> stack_;
};

}  // namespace edgefx::detail
