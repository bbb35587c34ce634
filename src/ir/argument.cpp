#include <edgefx/ir/argument.h>

#include "ir/argument_writer.h"
#include "support/fail.h"

#include <bit>

namespace edgefx {

std::string_view name(ArgumentKind kind) {
  static constexpr std::string_view kNames[] = {
      "None",  "bool",   "int",           "float",  "complex", "string",   "node",
      "list",  "tuple",  "dict",          "slice",  "range",   "Ellipsis", "symbolic number",
      "dtype", "layout", "memory format", "device", "operator"};
  return kNames[static_cast<size_t>(kind)];
}

void Argument::wrongKind(Kind wanted) const {
  detail::fail<UsageError>("expected an argument of kind {}, found {}", edgefx::name(wanted),
                           edgefx::name(kind_));
}

KeyedArguments Argument::asDict() const {
  expect(Kind::Dict);
  return {value_.items, length_};
}

const Argument* KeyedArguments::find(std::string_view key) const {
  for (size_t i = 0; i < count_; ++i) {
    if (pairs_[2 * i].textView() == key) return &pairs_[2 * i + 1];
  }
  return nullptr;
}

bool operator==(const Argument& a, const Argument& b) {
  using Kind = Argument::Kind;
  if (a.kind_ != b.kind_ || a.length_ != b.length_) return false;
  if (a.value_.integer == b.value_.integer) return true;  // the same number, or shared
  switch (a.kind_) {
    case Kind::None:
    case Kind::Ellipsis:
      return true;
    case Kind::Bool:
      return a.value_.boolean == b.value_.boolean;
    case Kind::Int:
    case Kind::Dtype:
    case Kind::Layout:
    case Kind::MemoryFormat:
      return a.value_.integer == b.value_.integer;
    case Kind::Float:
      return std::bit_cast<uint64_t>(a.value_.number) == std::bit_cast<uint64_t>(b.value_.number);
    case Kind::Complex:
      return std::bit_cast<uint64_t>(a.value_.complex[0]) == std::bit_cast<uint64_t>(b.value_.complex[0]) &&
             std::bit_cast<uint64_t>(a.value_.complex[1]) == std::bit_cast<uint64_t>(b.value_.complex[1]);
    case Kind::String:
    case Kind::Device:
      return a.textView() == b.textView();
    case Kind::Node:
      return a.value_.node == b.value_.node;
    case Kind::Operator:
      return a.value_.target == b.value_.target;
    case Kind::Symbolic:
      return *a.value_.symbolic == *b.value_.symbolic;
    case Kind::List:
    case Kind::Tuple:
    case Kind::Slice:
    case Kind::Range:
    case Kind::Dict:
      break;
  }
  size_t count = a.kind_ == Kind::Dict ? size_t{2} * a.length_ : a.length_;
  for (size_t i = 0; i < count; ++i) {
    if (!(a.value_.items[i] == b.value_.items[i])) return false;
  }
  return true;
}

Argument ArgumentWriter::makeBool(bool value) {
  Argument out;
  out.kind_ = Argument::Kind::Bool;
  out.value_.boolean = value;
  return out;
}

Argument ArgumentWriter::makeInt(int64_t value) {
  return makeNumber(Argument::Kind::Int, value);
}

Argument ArgumentWriter::makeFloat(double value) {
  Argument out;
  out.kind_ = Argument::Kind::Float;
  out.value_.number = value;
  return out;
}

Argument ArgumentWriter::makeNode(Node& node) {
  Argument out;
  out.kind_ = Argument::Kind::Node;
  out.value_.node = &node;
  return out;
}

Argument ArgumentWriter::makeNumber(Argument::Kind kind, int64_t value) {
  Argument out;
  out.kind_ = kind;
  out.value_.integer = value;
  return out;
}

Argument ArgumentWriter::makeOperator(Target target) {
  Argument out;
  out.kind_ = Argument::Kind::Operator;
  out.value_.target = target.info_;
  return out;
}

Argument ArgumentWriter::makeItems(Argument::Kind kind, Argument* items, size_t count, ListHint hint) {
  Argument out;
  out.kind_ = kind;
  out.hint_ = hint;
  out.length_ = static_cast<uint32_t>(count);
  out.value_.items = items;
  return out;
}

Argument ArgumentWriter::makeStored(Argument::Kind kind, std::string_view stored) {
  Argument out;
  out.kind_ = kind;
  out.length_ = static_cast<uint32_t>(stored.size());
  out.value_.text = stored.data();
  return out;
}

Argument ArgumentWriter::makeComplex(double real, double imaginary) {
  auto* parts = arena_.allocate<double>(2);
  parts[0] = real;
  parts[1] = imaginary;
  Argument out;
  out.kind_ = Argument::Kind::Complex;
  out.value_.complex = parts;
  return out;
}

Argument ArgumentWriter::makeSymbolic(SymExpr expression) {
  symbolics_.push_back(std::make_shared<const SymExpr>(std::move(expression)));
  Argument out;
  out.kind_ = Argument::Kind::Symbolic;
  out.value_.symbolic = symbolics_.back().get();
  return out;
}

void ArgumentWriter::checkDepth(int depth) {
  if (depth > kDeepest) detail::fail<UsageError>("arguments nested deeper than {} levels", kDeepest);
}

Argument ArgumentWriter::writeNode(Node* node) {
  if (node == nullptr) detail::fail<UsageError>("an argument is a null node");
  if (&node->graph() != &graph_) {
    detail::fail<UsageError>("argument '%{}' is a node of another graph", node->name());
  }
  if (node->isErased()) detail::fail<UsageError>("argument '%{}' is an erased node", node->name());
  return makeNode(*node);
}

Argument ArgumentWriter::copy(const Argument& existing, int depth) {
  using Kind = Argument::Kind;
  checkDepth(depth);
  if (existing.kind_ == Kind::Node) return writeNode(existing.value_.node);
  if (existing.kind_ == Kind::String || existing.kind_ == Kind::Device) {
    return makeText(existing.kind_, existing.textView());
  }
  if (existing.kind_ == Kind::Complex)
    return makeComplex(existing.value_.complex[0], existing.value_.complex[1]);
  if (existing.kind_ == Kind::Symbolic) return makeSymbolic(*existing.value_.symbolic);
  if (!hasChildren(existing)) return existing;
  size_t count = children(existing).size();
  Argument* items = allocate(count);
  for (size_t i = 0; i < count; ++i) items[i] = copy(existing.value_.items[i], depth + 1);
  return makeItems(existing.kind_, items, existing.length_, existing.hint_);
}

Argument ArgumentWriter::write(const Arg& value, int depth) {
  using Kind = Argument::Kind;
  checkDepth(depth);
  return std::visit(
      [&]<typename T>(const T& held) -> Argument {
        if constexpr (std::is_same_v<T, std::monostate>) return Argument();
        if constexpr (std::is_same_v<T, bool>) return makeBool(held);
        if constexpr (std::is_same_v<T, int64_t>) return makeInt(held);
        if constexpr (std::is_same_v<T, double>) return makeFloat(held);
        if constexpr (std::is_same_v<T, Arg::Complex>) return makeComplex(held.real, held.imaginary);
        if constexpr (std::is_same_v<T, std::string>) return makeText(Kind::String, held);
        if constexpr (std::is_same_v<T, Node*>) return writeNode(held);
        if constexpr (std::is_same_v<T, const Argument*>) return copy(*held, depth);
        if constexpr (std::is_same_v<T, Dtype>) return makeNumber(Kind::Dtype, static_cast<int64_t>(held));
        if constexpr (std::is_same_v<T, Layout>) return makeNumber(Kind::Layout, static_cast<int64_t>(held));
        if constexpr (std::is_same_v<T, MemoryFormat>) {
          return makeNumber(Kind::MemoryFormat, static_cast<int64_t>(held));
        }
        if constexpr (std::is_same_v<T, Arg::Device>) return makeText(Kind::Device, held.text);
        if constexpr (std::is_same_v<T, Target>) return makeOperator(held);
        if constexpr (std::is_same_v<T, SymExpr>) return makeSymbolic(held);
        if constexpr (std::is_same_v<T, Arg::EllipsisTag>) return makeNumber(Kind::Ellipsis, 0);
        if constexpr (std::is_same_v<T, Arg::Sequence>) {
          Argument* items = allocate(held.items.size());
          for (size_t i = 0; i < held.items.size(); ++i) items[i] = write(held.items[i], depth + 1);
          return makeItems(held.kind, items, held.items.size());
        }
        if constexpr (std::is_same_v<T, Arg::Dict>) {
          Argument* pairs = allocate(2 * held.items.size());
          for (size_t i = 0; i < held.items.size(); ++i) {
            pairs[2 * i] = key(held.items[i].first);
            pairs[2 * i + 1] = write(held.items[i].second, depth + 1);
          }
          return makeItems(Kind::Dict, pairs, held.items.size());
        }
      },
      value.value_);
}

Argument* ArgumentWriter::copyMapped(const Argument* from, size_t count, std::span<Node* const> mapped) {
  if (count == 0) return nullptr;
  Argument* const to = allocate(count);
  for (size_t i = 0; i < count; ++i) {
    const Argument& source = from[i];
    if (source.kind_ == Argument::Kind::Node) {
      to[i] = makeNode(*mapped[source.value_.node->id()]);
    } else if (hasChildren(source)) {
      const std::span<const Argument> items = children(source);
      to[i] = makeItems(source.kind_, copyMapped(items.data(), items.size(), mapped), source.length_,
                        source.hint_);
    } else {
      to[i] = ownsMemory(source) ? copy(source, 0) : source;
    }
  }
  return to;
}

Argument* ArgumentWriter::relocate(const Argument* from, size_t count, detail::Arena& arena,
                                   const detail::NodeSlabs& nodes) {
  if (count == 0) return nullptr;
  auto* to = arena.allocate<Argument>(count);
  for (size_t i = 0; i < count; ++i) {
    const Argument& source = from[i];
    to[i] = source;
    if (source.kind_ == Argument::Kind::Node) {
      to[i].value_.node = nodes.at(source.value_.node->id());
    } else if (hasChildren(source)) {
      to[i].value_.items = relocate(source.value_.items, children(source).size(), arena, nodes);
    } else if (source.kind_ == Argument::Kind::Complex) {
      auto* parts = arena.allocate<double>(2);
      parts[0] = source.value_.complex[0];
      parts[1] = source.value_.complex[1];
      to[i].value_.complex = parts;
    }
  }
  return to;
}

}  // namespace edgefx
