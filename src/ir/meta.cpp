#include <edgefx/ir/meta.h>
#include <edgefx/support/python_text.h>

#include "support/fail.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace edgefx {

std::string SymInt::text() const {
  std::string out;
  if (symbolic_) {
    symbolic_->expression.appendPython(out);
  } else {
    appendRepr(out, value_);
  }
  return out;
}

bool operator==(const SymInt& a, const SymInt& b) {
  if (a.symbolic_ == b.symbolic_) return a.value_ == b.value_;
  if (!a.symbolic_ || !b.symbolic_) return false;
  return a.symbolic_->expression == b.symbolic_->expression;
}

std::string text(const DeviceSpec& device) {
  return device.index ? fmt::format("{}:{}", device.type, *device.index) : device.type;
}

DeviceSpec parseDevice(std::string_view text) {
  DeviceSpec device;
  size_t colon = text.find(':');
  device.type = text.substr(0, colon);
  if (colon == std::string_view::npos) return device;
  std::string_view digits = text.substr(colon + 1);
  int64_t index = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    detail::fail<ParseError>("device '{}': expected an index after ':', found '{}'", text, digits);
  }
  device.index = index;
  return device;
}

namespace {

SymInt product(const SymInt& a, const SymInt& b) {
  if (!a.isSymbolic() && !b.isSymbolic()) {
    int64_t value = 0;
    if (__builtin_mul_overflow(a.value(), b.value(), &value)) {
      detail::fail<UsageError>("strides of a tensor overflow: {} * {}", a.value(), b.value());
    }
    return SymInt(value);
  }
  if (!a.isSymbolic() && a.value() == 1) return b;
  if (!b.isSymbolic() && b.value() == 1) return a;
  auto factor = [](const SymInt& value) {
    return value.isSymbolic() ? value.symbolic()->expression.srepr()
                              : fmt::format("Integer({})", value.value());
  };
  auto hint = [](const SymInt& value) -> std::optional<int64_t> {
    if (!value.isSymbolic()) return value.value();
    const auto* known = std::get_if<int64_t>(&value.symbolic()->hint);
    return known == nullptr ? std::nullopt : std::optional(*known);
  };
  SymHint combined;
  int64_t known = 0;
  if (auto first = hint(a), second = hint(b);
      first && second && !__builtin_mul_overflow(*first, *second, &known)) {
    combined = known;
  }
  // Plain factors come first, as sympy writes them.
  const SymInt& left = a.isSymbolic() && !b.isSymbolic() ? b : a;
  const SymInt& right = &left == &a ? b : a;
  return SymInt(Symbolic{SymExpr::parse(fmt::format("Mul({}, {})", factor(left), factor(right))), combined});
}

}  // namespace

TensorMeta contiguousTensor(Dtype dtype, std::vector<SymInt> sizes) {
  TensorMeta meta;
  meta.dtype = dtype;
  meta.strides.resize(sizes.size());
  SymInt stride(1);
  for (size_t i = sizes.size(); i-- > 0;) {
    meta.strides[i] = stride;
    bool atMostOne = !sizes[i].isSymbolic() && sizes[i].value() <= 1;
    if (!atMostOne) stride = product(stride, sizes[i]);
  }
  meta.sizes = std::move(sizes);
  return meta;
}

std::string ValueMeta::text() const {
  struct Describe {
    std::string operator()(const TensorMeta& tensor) const {
      std::string out(fxText(tensor.dtype));
      if (out.starts_with("torch.")) out.erase(0, 6);
      out += '[';
      for (size_t i = 0; i < tensor.sizes.size(); ++i) out += (i == 0 ? "" : ", ") + tensor.sizes[i].text();
      return out + ']';
    }
    std::string operator()(const SymIntValue& number) const { return "SymInt(" + number.value.text() + ")"; }
    std::string operator()(const SymFloatValue& number) const {
      std::string out = "SymFloat(";
      if (const double* plain = std::get_if<double>(&number.value)) {
        appendRepr(out, *plain);
      } else {
        std::get<Symbolic>(number.value).expression.appendPython(out);
      }
      return out + ")";
    }
    std::string operator()(const SymBoolValue& value) const {
      std::string out = "SymBool(";
      if (const bool* plain = std::get_if<bool>(&value.value)) {
        out += *plain ? "True" : "False";
      } else {
        std::get<Symbolic>(value.value).expression.appendPython(out);
      }
      return out + ")";
    }
    std::string operator()(const Token&) const { return "token"; }
    std::string operator()(const CustomObject& object) const { return "custom object " + object.className; }
    std::string operator()(const Constant& constant) const {
      struct Scalar {
        std::string operator()(std::monostate) const { return "None"; }
        std::string operator()(bool value) const { return value ? "True" : "False"; }
        std::string operator()(int64_t value) const { return std::to_string(value); }
        std::string operator()(double value) const {
          std::string out;
          appendRepr(out, value);
          return out;
        }
        std::string operator()(const std::string& value) const {
          std::string out;
          appendReprString(out, value);
          return out;
        }
      };
      return std::visit(Scalar(), constant.value);
    }
    std::string operator()(const Sequence& sequence) const {
      std::string out(sequence.isList ? "[" : "(");
      for (size_t i = 0; i < sequence.elements.size(); ++i) {
        if (i != 0) out += ", ";
        out += sequence.elements[i] ? sequence.elements[i]->text() : "None";
      }
      return out + (sequence.isList ? "]" : ")");
    }
    std::string operator()(const None&) const { return "None"; }
  };
  return std::visit(Describe(), data);
}

const SharedText* NodeMeta::find(std::string_view key) const {
  for (const Entry& entry : entries_) {
    if (entry.key == key) return &entry.text;
  }
  return nullptr;
}

void NodeMeta::set(std::string_view key, SharedText text) {
  for (Entry& entry : entries_) {
    if (entry.key == key) {
      entry.text = std::move(text);
      return;
    }
  }
  entries_.push_back({std::string(key), std::move(text)});
}

bool NodeMeta::erase(std::string_view key) {
  return std::erase_if(entries_, [&](const Entry& entry) { return entry.key == key; }) != 0;
}

Ref<NodeMeta> NodeMeta::without(std::span<const std::string_view> keys) const {
  const auto isKept = [&](const Entry& entry) { return std::ranges::find(keys, entry.key) == keys.end(); };
  const auto count = static_cast<size_t>(std::ranges::count_if(entries_, isKept));
  if (count == entries_.size()) return nullptr;
  auto copy = Ref<NodeMeta>::make();
  copy->delegationTag_ = delegationTag_;
  copy->entries_.reserve(count);
  std::ranges::copy_if(entries_, std::back_inserter(copy->entries_), isKept);
  return copy;
}

std::string_view NodeMeta::textOf(std::string_view key) const {
  const SharedText* text = find(key);
  return text == nullptr ? std::string_view() : std::string_view(**text);
}

std::vector<ModuleStackEntry> NodeMeta::moduleStack() const {
  // Entries are "key,path,type" joined by ';'; paths may hold commas inside brackets.
  std::vector<ModuleStackEntry> stack;
  std::string_view rest = textOf("nn_module_stack");
  while (!rest.empty()) {
    size_t end = rest.find(';');
    std::string_view entry = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    std::vector<std::string> parts(1);
    int depth = 0;
    for (char c : entry) {
      if (c == '(' || c == '[') ++depth;
      if (c == ')' || c == ']') --depth;
      if (c == ',' && depth == 0) {
        parts.emplace_back();
      } else {
        parts.back() += c;
      }
    }
    if (parts.size() != 3) return {};
    stack.push_back({std::move(parts[0]), std::move(parts[1]), std::move(parts[2])});
  }
  return stack;
}

std::optional<int64_t> NodeMeta::debugHandle() const {
  std::string_view text = textOf("debug_handle");
  int64_t handle = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), handle);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return handle;
}

void NodeMeta::setDebugHandle(int64_t handle) {
  set("debug_handle", std::to_string(handle));
}

std::string NodeMeta::sourceFrame() const {
  std::string_view trace = stackTrace();
  size_t at = trace.rfind("File \"");
  if (at == std::string_view::npos) return {};
  std::string_view frame = trace.substr(at + 6);
  size_t quote = frame.find('"');
  size_t lineEnd = frame.find('\n');
  constexpr std::string_view kLine = ", line ";
  if (quote == std::string_view::npos || frame.substr(quote + 1, kLine.size()) != kLine) return {};
  std::string_view file = frame.substr(0, quote);
  std::string_view rest = frame.substr(quote + 1 + kLine.size());
  if (lineEnd != std::string_view::npos) rest = rest.substr(0, lineEnd - quote - 1 - kLine.size());
  size_t comma = rest.find(", in ");
  std::string out = fmt::format("{}:{}", file, rest.substr(0, comma));
  if (comma != std::string_view::npos) out += fmt::format(" in {}", rest.substr(comma + 5));
  return out;
}

}  // namespace edgefx
