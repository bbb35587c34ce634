#pragma once

#include <edgefx/ir/dtype.h>
#include <edgefx/ir/sym_expr.h>
#include <edgefx/support/ref.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace edgefx {

// Text that many owners share and nobody changes. Never null in a NodeMeta entry.
using SharedText = std::shared_ptr<const std::string>;

// The number a symbolic value had when the program was exported; unbacked symbols have none.
using SymHint = std::variant<std::monostate, int64_t, bool, double>;

// A symbolic number: its expression and, for backed ones, its value at export time.
struct Symbolic {
  SymExpr expression;
  SymHint hint;
};

// An integer of a shape: a number, or a symbolic expression.
class SymInt {
 public:
  SymInt() = default;
  SymInt(int64_t value) : value_(value) {}  // NOLINT: shapes are written as numbers
  explicit SymInt(Symbolic symbolic) : symbolic_(std::make_shared<const Symbolic>(std::move(symbolic))) {}
  explicit SymInt(std::shared_ptr<const Symbolic> symbolic) : symbolic_(std::move(symbolic)) {}

  bool isSymbolic() const { return symbolic_ != nullptr; }
  // The number; 0 if symbolic.
  int64_t value() const { return value_; }
  // Null unless symbolic.
  const Symbolic* symbolic() const { return symbolic_.get(); }
  // "4", or Python's text of the expression.
  std::string text() const;

  // Same number or same expression; hints are not compared.
  friend bool operator==(const SymInt& a, const SymInt& b);

 private:
  int64_t value_ = 0;
  std::shared_ptr<const Symbolic> symbolic_;
};

struct DeviceSpec {
  std::string type = "cpu";
  std::optional<int64_t> index;

  bool operator==(const DeviceSpec&) const = default;
};

// "cpu", "cuda:1".
std::string text(const DeviceSpec& device);
// Throws ParseError if the text after ':' is no index.
DeviceSpec parseDevice(std::string_view text);

struct TensorMeta {
  Dtype dtype = Dtype::Float32;
  Layout layout = Layout::Strided;
  bool requiresGrad = false;
  DeviceSpec device;
  std::vector<SymInt> sizes;
  std::vector<SymInt> strides;  // in elements
  SymInt storageOffset;         // in elements

  bool operator==(const TensorMeta&) const = default;
};

// A contiguous tensor of the given sizes on the CPU. Strides of symbolic sizes are products, as PyTorch has
// them. Throws UsageError if a stride does not fit 64 bits.
TensorMeta contiguousTensor(Dtype dtype, std::vector<SymInt> sizes);

using ConstantScalar = std::variant<std::monostate, bool, int64_t, double, std::string>;  // monostate is None

class ValueMeta;
using ValueRef = Ref<const ValueMeta>;

// What a node's value is. Immutable once given to a node, and shared between nodes and graphs.
class ValueMeta : public RefCounted {
 public:
  struct SymIntValue {
    SymInt value;
    bool operator==(const SymIntValue&) const = default;
  };
  // For SymFloat and SymBool: a plain number or bool, or an expression.
  struct SymFloatValue {
    std::variant<double, Symbolic> value;
  };
  struct SymBoolValue {
    std::variant<bool, Symbolic> value;
  };
  struct Token {};
  struct CustomObject {
    std::string className;
  };
  struct Constant {
    ConstantScalar value;
  };
  // The value of an operator with several results, or with a list result; elements may be null.
  struct Sequence {
    std::vector<ValueRef> elements;
    bool isList = false;
  };
  // The operator returns nothing.
  struct None {};

  using Data = std::variant<TensorMeta, SymIntValue, SymFloatValue, SymBoolValue, Token, CustomObject,
                            Constant, Sequence, None>;

  explicit ValueMeta(Data value) : data(std::move(value)) {}

  static ValueRef of(Data value) { return ValueRef::make(std::move(value)); }

  const TensorMeta* tensor() const { return std::get_if<TensorMeta>(&data); }
  const Sequence* sequence() const { return std::get_if<Sequence>(&data); }
  bool isSymbolicNumber() const {
    return std::holds_alternative<SymIntValue>(data) || std::holds_alternative<SymFloatValue>(data) ||
           std::holds_alternative<SymBoolValue>(data);
  }

  // "float32[2, s0]", "SymInt(s0)", "(float32[2], None)": for messages.
  std::string text() const;

  Data data;
};

struct ModuleStackEntry {
  std::string key;   // "L__self__linear"
  std::string path;  // "linear"
  std::string type;  // "torch.nn.modules.linear.Linear"
};

// Everything known of a node besides its value. Entries keep the order and text they had in the file, known
// or unknown; the accessors below read them. Value semantics: copying copies handles, never what others see.
class NodeMeta : public RefCounted {
 public:
  struct Entry {
    std::string key;
    SharedText text;
  };

  const std::vector<Entry>& entries() const { return entries_; }
  bool empty() const { return entries_.empty() && !delegationTag_; }

  // Null if there is no such entry. O(entries).
  const SharedText* find(std::string_view key) const;
  // Replaces the entry's text in place, or appends it.
  void set(std::string_view key, SharedText text);
  void set(std::string_view key, std::string text) {
    set(key, std::make_shared<const std::string>(std::move(text)));
  }
  // Appends an entry whose key is known to be new. O(1).
  void append(std::string key, SharedText text) { entries_.push_back({std::move(key), std::move(text)}); }
  // Room for that many entries.
  void reserve(size_t count) { entries_.reserve(count); }
  // Returns whether there was one.
  bool erase(std::string_view key);
  // A copy that lacks the entries with these keys; null if no entry has one of them. O(entries * keys).
  Ref<NodeMeta> without(std::span<const std::string_view> keys) const;

  std::string_view stackTrace() const { return textOf("stack_trace"); }
  // Outermost module first; empty if there is no such entry or it is malformed.
  std::vector<ModuleStackEntry> moduleStack() const;
  std::optional<int64_t> debugHandle() const;
  void setDebugHandle(int64_t handle);
  // The innermost "file.py:line in function" of the stack trace, for messages; empty if there is none.
  std::string sourceFrame() const;

  // Which delegate is to take the node. Not written to files.
  std::string_view delegationTag() const {
    return delegationTag_ ? std::string_view(*delegationTag_) : std::string_view();
  }
  void setDelegationTag(SharedText tag) { delegationTag_ = std::move(tag); }
  void clearDelegationTag() { delegationTag_.reset(); }

 private:
  std::string_view textOf(std::string_view key) const;

  std::vector<Entry> entries_;
  SharedText delegationTag_;
};

using MetaRef = Ref<const NodeMeta>;

}  // namespace edgefx
