#include "dialect/rule_cases.h"

#include <edgefx/ir/scalar_type.h>
#include <edgefx/ir/shape_inference.h>
#include <edgefx/run/interpreter.h>

#include "support/program_builder.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>

namespace edgefx::test {
namespace {

std::vector<std::string> splitText(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    std::string part(text.substr(begin, end - begin));
    part.erase(0, part.find_first_not_of(' '));
    part.erase(part.find_last_not_of(' ') + 1);
    parts.push_back(std::move(part));
    begin = end + 1;
  }
  return parts;
}

struct InputText {
  Dtype dtype = Dtype::Float32;
  std::vector<std::pair<std::string, std::vector<int64_t>>> sizes;  // symbol or empty, a number for each run
  std::vector<int64_t> order;
  int64_t below = 0;
  bool isPositive = false, hasSpecial = false, isShare = false;
};

int64_t wholeNumber(std::string_view text) {
  int64_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || end != text.data() + text.size()) {
    throw std::runtime_error("no number: " + std::string(text));
  }
  return number;
}

InputText readInput(const std::string& text) {
  static const std::map<std::string, Dtype> kDtypes = {
      {"f32", Dtype::Float32}, {"f64", Dtype::Float64}, {"f16", Dtype::Float16}, {"bf16", Dtype::BFloat16},
      {"i64", Dtype::Int64},   {"i32", Dtype::Int32},   {"u8", Dtype::UInt8},    {"b", Dtype::Bool}};
  InputText input;
  const size_t open = text.find('['), close = text.find(']');
  input.dtype = kDtypes.at(text.substr(0, open));
  const std::string sizes = text.substr(open + 1, close - open - 1);
  for (const std::string& size : splitText(sizes, ',')) {
    if (size.empty()) continue;
    const size_t equals = size.find('=');
    if (equals == std::string::npos) {
      input.sizes.push_back({"", {wholeNumber(size), wholeNumber(size)}});
      continue;
    }
    const std::vector<std::string> numbers = splitText(std::string_view(size).substr(equals + 1), '/');
    input.sizes.push_back({size.substr(0, equals), {wholeNumber(numbers.at(0)), wholeNumber(numbers.at(1))}});
  }
  for (size_t i = close + 1; i < text.size(); ++i) {
    if (text[i] == '~') {
      while (i + 1 < text.size() && std::isdigit(static_cast<unsigned char>(text[i + 1])) != 0) {
        input.order.push_back(text[++i] - '0');
      }
    } else if (text[i] == '<') {
      size_t end = i + 1;
      while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
      input.below = wholeNumber(std::string_view(text).substr(i + 1, end - i - 1));
      i = end - 1;
    } else if (text[i] == 'p') {
      input.isPositive = true;
    } else if (text[i] == 'n') {
      input.hasSpecial = true;
    } else if (text[i] == 'u') {
      input.isShare = true;
    } else {
      throw std::runtime_error("not understood: " + text);
    }
  }
  return input;
}

at::Tensor inputTensor(const InputText& input, size_t place, size_t run) {
  std::vector<int64_t> sizes;
  int64_t count = 1;
  for (const auto& [symbol, numbers] : input.sizes) {
    sizes.push_back(numbers[run]);
    count *= sizes.back();
  }
  const double seed = static_cast<double>(place) + 0.37;
  at::Tensor values = at::arange(count, at::kDouble).mul(1.7).add(seed).mul(seed + 2.3).sin().mul(3.2);
  if (input.isPositive) values = values.abs().add(0.125);
  if (input.isShare) values = values.sin().abs().mul(0.9).add(0.05);
  const bool isWhole = !isFloatingPoint(input.dtype);
  if (isWhole) values = values.mul(1000).abs().floor().remainder(input.below > 0 ? input.below : 2);
  if (input.hasSpecial && count >= 4) {
    values[0] = std::numeric_limits<double>::quiet_NaN();
    values[1] = std::numeric_limits<double>::infinity();
    values[3] = -std::numeric_limits<double>::infinity();
  }
  at::Tensor tensor = values.to(toScalarType(input.dtype).value()).reshape(sizes);
  if (input.order.empty()) return tensor;
  std::vector<int64_t> back(input.order.size());
  for (size_t i = 0; i < back.size(); ++i)
    back[static_cast<size_t>(input.order[i])] = static_cast<int64_t>(i);
  return tensor.permute(input.order).contiguous().permute(back);
}

SymInt sizeOfText(const std::pair<std::string, std::vector<int64_t>>& size) {
  if (size.first.empty()) return SymInt(size.second[0]);
  return SymInt(Symbolic{SymExpr::symbol(size.first), size.second[0]});
}

ValueRef inputValue(const InputText& input) {
  std::vector<SymInt> sizes;
  for (const auto& size : input.sizes) sizes.push_back(sizeOfText(size));
  TensorMeta meta = contiguousTensor(input.dtype, sizes);
  if (input.order.empty()) return ValueMeta::of(std::move(meta));
  std::vector<SymInt> turned;
  for (const int64_t dim : input.order) turned.push_back(sizes[static_cast<size_t>(dim)]);
  const TensorMeta inner = contiguousTensor(input.dtype, turned);
  for (size_t i = 0; i < turned.size(); ++i) {
    meta.strides[static_cast<size_t>(input.order[i])] = inner.strides[i];
  }
  return ValueMeta::of(std::move(meta));
}

// Reads arguments from the left.
class ArgumentReader {
 public:
  ArgumentReader(std::string_view text, const std::vector<Node*>& inputs) : text_(text), inputs_(inputs) {}

  void read(Args& args, Kwargs& kwargs) {
    while (skip(), !text_.empty()) {
      const std::string_view key = readKey();
      if (key.empty()) {
        args.push_back(value());
      } else {
        kwargs.emplace_back(key, value());
      }
      take(',');
    }
  }

 private:
  void skip() {
    while (!text_.empty() && text_.front() == ' ') text_.remove_prefix(1);
  }
  bool take(char c) {
    skip();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  std::string_view readKey() {
    const size_t equals = text_.find('='), stop = text_.find_first_of(",[$' ");
    if (equals == std::string_view::npos || equals > stop) return {};
    const std::string_view key = text_.substr(0, equals);
    text_.remove_prefix(equals + 1);
    return key;
  }
  Arg value() {
    skip();
    if (take('$')) {
      const Arg node(*inputs_.at(static_cast<size_t>(text_.front() - '0')));
      text_.remove_prefix(1);
      return node;
    }
    if (take('\'')) {
      const size_t end = text_.find('\'');
      const std::string word(text_.substr(0, end));
      text_.remove_prefix(end + 1);
      return word;
    }
    if (take('[')) {
      Arg::List items;
      while (!take(']')) {
        items.push_back(value());
        take(',');
      }
      return Arg::list(std::move(items));
    }
    const size_t end = std::min(text_.find_first_of(",] "), text_.size());
    const std::string word(text_.substr(0, end));
    text_.remove_prefix(end);
    if (word == "None") return nullptr;
    if (word == "True" || word == "False") return word == "True";
    if (word == "cpu") return Arg::device("cpu");
    if (const auto dtype = dtypeFromFxText(word)) return *dtype;
    if (const auto format = memoryFormatFromFxText(word)) return *format;
    if (word == "inf") return std::numeric_limits<double>::infinity();
    if (word == "-inf") return -std::numeric_limits<double>::infinity();
    if (word.find_first_of(".e") != std::string::npos) return std::stod(word);
    return wholeNumber(word);
  }

  std::string_view text_;
  const std::vector<Node*>& inputs_;
};

TensorMeta metaOfTensor(const at::Tensor& tensor) {
  TensorMeta meta;
  meta.dtype = fromScalarType(tensor.scalar_type()).value();
  for (const int64_t size : tensor.sizes()) meta.sizes.emplace_back(size);
  for (const int64_t stride : tensor.strides()) meta.strides.emplace_back(stride);
  return meta;
}

ValueRef valueOfResult(const c10::IValue& value) {
  if (value.isTensor()) return ValueMeta::of(metaOfTensor(value.toTensor()));
  ValueMeta::Sequence held;
  if (value.isTuple()) {
    for (const c10::IValue& item : value.toTupleRef().elements())
      held.elements.push_back(valueOfResult(item));
  } else if (value.isList()) {
    held.isList = true;
    for (const c10::IValue& item : value.toListRef()) held.elements.push_back(valueOfResult(item));
  } else if (value.isTensorList()) {
    held.isList = true;
    for (const at::Tensor& item : value.toTensorVector()) held.elements.push_back(valueOfResult(item));
  } else {
    return {};
  }
  return ValueMeta::of(std::move(held));
}

// What the operator gives in the first run, for values that are not inferred.
void describeByRunning(RuleCase& made, bool isSymbolic) {
  std::map<std::string, ValueRef> values;
  RunOptions options;
  options.tap = [&](const TapEvent& event) {
    if (event.node.isCall()) values[std::string(event.node.name())] = valueOfResult(event.value);
  };
  Interpreter(made.program, options).run(made.inputs.front());
  for (Node& node : made.program.graph().nodes()) {
    if (!node.isCall()) continue;
    ValueRef inferred = isSymbolic ? inferValue(node) : ValueRef();
    node.setValue(inferred ? inferred : values[std::string(node.name())]);
  }
}

}  // namespace

RuleCase readRuleCase(std::string_view text) {
  const std::vector<std::string> parts = splitText(text, '|');
  if (parts.size() < 3) throw std::runtime_error("expected op | inputs | arguments: " + std::string(text));
  RuleCase made;
  made.op = "aten." + parts[0];
  size_t results = 0;
  if (parts.size() > 3 && parts[3].starts_with("stays: ")) {
    made.stays = parts[3].substr(7);
  } else if (parts.size() > 3) {
    std::string last;
    for (const std::string& option : splitText(parts[3], ' ')) {
      if (option.starts_with("->"))
        results = static_cast<size_t>(wholeNumber(std::string_view(option).substr(2)));
      if (option.starts_with("e-"))
        made.tolerance = std::pow(10, -wholeNumber(std::string_view(option).substr(2)));
      if (option == "exact") made.tolerance = 0;
      if (option == "random") made.isRandom = true;
      if (last == "keeps") made.left.push_back("aten." + option);
      last = option;
    }
  }
  ProgramBuilder builder;
  std::vector<Node*> nodes;
  std::vector<InputText> inputs;
  std::map<std::string, int64_t> symbols;
  bool isSymbolic = false;
  for (const std::string& word : splitText(parts[1], ' ')) {
    if (word.empty()) continue;
    inputs.push_back(readInput(word));
    nodes.push_back(&builder.userInput("x" + std::to_string(nodes.size()), inputValue(inputs.back())));
    for (const auto& [symbol, numbers] : inputs.back().sizes) isSymbolic = isSymbolic || !symbol.empty();
  }
  Args args;
  Kwargs kwargs;
  ArgumentReader(parts[2], nodes).read(args, kwargs);
  Node& call = builder.graph().call(made.op, args, kwargs);
  if (results == 0) builder.userOutput(call);
  for (size_t i = 0; i < results; ++i) {
    builder.userOutput(builder.graph().call("operator.getitem", {call, i}));
  }
  made.program = builder.finish();
  for (size_t run = 0; run < (isSymbolic ? 2U : 1U); ++run) {
    std::vector<c10::IValue> values;
    for (size_t i = 0; i < inputs.size(); ++i) values.emplace_back(inputTensor(inputs[i], i, run));
    made.inputs.push_back(std::move(values));
  }
  describeByRunning(made, isSymbolic);
  for (const OutputSpec& output : made.program.signature.outputs) {
    if (output.arg.kind != SpecArgKind::Tensor) throw std::runtime_error("a result is no tensor");
  }
  return made;
}

}  // namespace edgefx::test
