#pragma once

#include <edgefx/ir/dtype.h>
#include <edgefx/ir/sym_expr.h>
#include <edgefx/ir/target.h>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace edgefx {

class Argument;
class Graph;
class Node;

enum class ArgumentKind : uint8_t {
  None,
  Bool,
  Int,
  Float,
  Complex,
  String,
  Node,
  List,
  Tuple,
  Dict,
  Slice,  // three items: start, stop, step
  Range,  // three items: start, stop, step
  Ellipsis,
  Symbolic,  // a symbolic number written out, not a node
  Dtype,
  Layout,
  MemoryFormat,
  Device,
  Operator,  // an operator used as a value
};

std::string_view name(ArgumentKind kind);

// Element kind that a file recorded for a list. An FX list does not say it when it is empty or holds symbolic
// and plain numbers alike; it is kept so that saving writes the same kind. Any marks a list built in memory.
enum class ListHint : uint8_t {
  Any,
  Tensors,
  OptionalTensors,
  NestedTensors,
  Ints,
  SymInts,
  IntLists,
  Floats,
  SymFloats,
  FloatLists,
  Bools,
  SymBools,
  Strings
};

// Keyed arguments (kwargs, dict items) as a range of {key, value}, in insertion order.
class KeyedArguments;

// A node's argument: an immutable tree owned by the graph of its node. 16 bytes; references stay valid until
// the node's args or kwargs are set again. Asking for the wrong kind throws UsageError.
class Argument {
 public:
  using Kind = ArgumentKind;

  Argument() = default;

  Kind kind() const { return kind_; }
  bool isNone() const { return kind_ == Kind::None; }
  bool isNode() const { return kind_ == Kind::Node; }
  bool isInt() const { return kind_ == Kind::Int; }
  bool isString() const { return kind_ == Kind::String; }
  // A list or a tuple: files keep no difference for operands, and passes seldom care.
  bool isSequence() const { return kind_ == Kind::List || kind_ == Kind::Tuple; }

  bool asBool() const { return expect(Kind::Bool).value_.boolean; }
  int64_t asInt() const { return expect(Kind::Int).value_.integer; }
  double asFloat() const { return expect(Kind::Float).value_.number; }
  std::pair<double, double> asComplex() const {
    const double* parts = expect(Kind::Complex).value_.complex;
    return {parts[0], parts[1]};
  }
  std::string_view asString() const { return expect(Kind::String).textView(); }
  // "cpu", "cuda:1".
  std::string_view asDevice() const { return expect(Kind::Device).textView(); }
  Node& asNode() const { return *expect(Kind::Node).value_.node; }
  Node* findNode() const { return isNode() ? value_.node : nullptr; }
  Dtype asDtype() const { return static_cast<Dtype>(expect(Kind::Dtype).value_.integer); }
  Layout asLayout() const { return static_cast<Layout>(expect(Kind::Layout).value_.integer); }
  MemoryFormat asMemoryFormat() const {
    return static_cast<MemoryFormat>(expect(Kind::MemoryFormat).value_.integer);
  }
  Target asOperator() const { return Target(expect(Kind::Operator).value_.target); }
  const SymExpr& asSymbolic() const { return *expect(Kind::Symbolic).value_.symbolic; }

  // Items of a list, tuple, slice or range; empty for everything else.
  std::span<const Argument> items() const {
    bool hasItems = isSequence() || kind_ == Kind::Slice || kind_ == Kind::Range;
    return hasItems ? std::span<const Argument>(value_.items, length_) : std::span<const Argument>();
  }
  KeyedArguments asDict() const;
  ListHint listHint() const { return hint_; }

  // Equal structure and leaves; nodes are equal if they are the same node, floats if they have the same bits.
  friend bool operator==(const Argument& a, const Argument& b);

 private:
  friend class Graph;
  friend class Node;
  friend class KeyedArguments;
  friend class ArgumentWriter;

  const Argument& expect(Kind wanted) const {
    if (kind_ != wanted) wrongKind(wanted);
    return *this;
  }
  [[noreturn]] void wrongKind(Kind wanted) const;
  std::string_view textView() const { return {value_.text, length_}; }

  Kind kind_ = Kind::None;
  ListHint hint_ = ListHint::Any;
  uint32_t length_ = 0;  // items, keyed items, or bytes of text
  union {
    bool boolean;
    int64_t integer;
    double number;
    const double* complex;
    const char* text;
    Node* node;
    Argument* items;
    const Target::Info* target;
    const SymExpr* symbolic;
  } value_ = {.integer = 0};
};

struct KeyedArgument {
  std::string_view key;
  const Argument& value;
};

class KeyedArguments {
 public:
  class Iterator {
   public:
    using value_type = KeyedArgument;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    explicit Iterator(const Argument* at) : at_(at) {}
    KeyedArgument operator*() const { return {at_[0].textView(), at_[1]}; }
    Iterator& operator++() {
      at_ += 2;
      return *this;
    }
    Iterator operator++(int) {
      Iterator old = *this;
      ++*this;
      return old;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const Argument* at_ = nullptr;
  };

  KeyedArguments() = default;
  KeyedArguments(const Argument* pairs, size_t count) : pairs_(pairs), count_(count) {}

  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  Iterator begin() const { return Iterator(pairs_); }
  Iterator end() const { return Iterator(pairs_ + 2 * count_); }
  // Null if there is no such key. O(size).
  const Argument* find(std::string_view key) const;

 private:
  const Argument* pairs_ = nullptr;  // key, value, key, value, ...
  size_t count_ = 0;
};

// A value to be given to a node: converts from nodes, numbers, text, enums, operators, existing arguments
// (borrowed until the call returns) and nested braces, which make a list. The graph copies it into its own
// storage.
class Arg {
 public:
  using List = std::vector<Arg>;
  using Items = std::vector<std::pair<std::string, Arg>>;

  Arg() = default;                                      // None
  Arg(std::nullptr_t) {}                                // NOLINT
  Arg(Node& node) : value_(&node) {}                    // NOLINT
  Arg(Node* node) : value_(node) {}                     // NOLINT
  Arg(const Argument& existing) : value_(&existing) {}  // NOLINT
  template <std::same_as<bool> Bool>
  Arg(Bool value) : value_(value) {}  // NOLINT
  template <std::integral Int>
  requires(!std::same_as<Int, bool>) Arg(Int value) : value_(static_cast<int64_t>(value)) {}  // NOLINT
  template <std::floating_point Float>
  Arg(Float value) : value_(static_cast<double>(value)) {}                                  // NOLINT
  Arg(const char* text) : value_(std::string(text)) {}                                      // NOLINT
  Arg(std::string_view text) : value_(std::string(text)) {}                                 // NOLINT
  Arg(std::string text) : value_(std::move(text)) {}                                        // NOLINT
  Arg(Dtype dtype) : value_(dtype) {}                                                       // NOLINT
  Arg(Layout layout) : value_(layout) {}                                                    // NOLINT
  Arg(MemoryFormat format) : value_(format) {}                                              // NOLINT
  Arg(Target target) : value_(target) {}                                                    // NOLINT
  Arg(SymExpr expression) : value_(std::move(expression)) {}                                // NOLINT
  Arg(std::initializer_list<Arg> items) : value_(Sequence{Argument::Kind::List, items}) {}  // NOLINT

  static Arg list(List items) { return Arg(Sequence{Argument::Kind::List, std::move(items)}); }
  static Arg tuple(List items) { return Arg(Sequence{Argument::Kind::Tuple, std::move(items)}); }
  static Arg slice(Arg start, Arg stop, Arg step) {
    return Arg(Sequence{Argument::Kind::Slice, List{std::move(start), std::move(stop), std::move(step)}});
  }
  static Arg range(Arg start, Arg stop, Arg step) {
    return Arg(Sequence{Argument::Kind::Range, List{std::move(start), std::move(stop), std::move(step)}});
  }
  static Arg dict(Items items) { return Arg(Dict{std::move(items)}); }
  static Arg complex(double real, double imaginary) { return Arg(Complex{real, imaginary}); }
  static Arg device(std::string text) { return Arg(Device{std::move(text)}); }
  static Arg ellipsis() { return Arg(EllipsisTag{}); }

 private:
  friend class ArgumentWriter;

  struct Sequence {
    Argument::Kind kind;
    List items;
  };
  struct Dict {
    Items items;
  };
  struct Complex {
    double real, imaginary;
  };
  struct Device {
    std::string text;
  };
  struct EllipsisTag {};
  using Value =
      std::variant<std::monostate, bool, int64_t, double, Complex, std::string, Node*, const Argument*, Dtype,
                   Layout, MemoryFormat, Device, Target, SymExpr, EllipsisTag, Sequence, Dict>;
  template <typename T>
  requires(std::same_as<T, Sequence> || std::same_as<T, Dict> || std::same_as<T, Complex> ||
           std::same_as<T, Device> || std::same_as<T, EllipsisTag>) explicit Arg(T value)
      : value_(std::move(value)) {}

  Value value_;
};

using Args = std::vector<Arg>;
using Kwargs = std::vector<std::pair<std::string_view, Arg>>;

}  // namespace edgefx
