#include <edgefx/support/python_text.h>

#include "ir/list_form.h"
#include "support/fail.h"
#include "text/program_printer.h"
#include "text/text_words.h"

#include <algorithm>
#include <string>
#include <variant>

namespace edgefx::detail {
namespace {

void checkTextDepth(int depth) {
  if (depth > kDeepestText) {
    fail<UnsupportedError>("arguments or values nested deeper than {} levels have no text", kDeepestText);
  }
}

// Exactly the same for a reader, hints and texts included.
bool isSameSize(const SymInt& a, const SymInt& b) {
  if (a.isSymbolic() != b.isSymbolic()) return false;
  if (!a.isSymbolic()) return a.value() == b.value();
  return a.symbolic() == b.symbolic() ||
         (a.symbolic()->expression.text() == b.symbolic()->expression.text() &&
          a.symbolic()->hint == b.symbolic()->hint);
}

bool hasUsualStrides(const TensorMeta& tensor) {
  const std::optional<std::vector<SymInt>> usual = usualStrides(tensor.sizes);
  return usual && std::ranges::equal(*usual, tensor.strides, isSameSize);
}

// What an output node of the usual form returns; null for others.
const Argument* returnedBy(const Node& node) {
  return node.args().size() == 1 && node.kwargs().empty() ? node.findArg(0) : nullptr;
}

// Names of metadata entries that mean something else in a node's braces.
bool isReservedKey(std::string_view key) {
  return key == "target" || key == "args" || key == "name" || key == "tag";
}

}  // namespace

void ProgramPrinter::checkNames(const Graph& graph, std::string_view path) const {
  for (const Node& node : graph.nodes()) {
    if (graph.find(node.name()) == &node) continue;
    Diagnostic diagnostic("two nodes have this name: the text of the graph could not be read");
    diagnostic.graph = path;
    diagnostic.node = node.name();
    throw VerificationError(std::move(diagnostic));
  }
}

void ProgramPrinter::checkUse(const Node& used) const {
  if (&used.graph() == &at_->graph() && !used.isErased() && used.isBefore(*at_)) return;
  Diagnostic diagnostic(
      fmt::format("uses '%{}', which does not come before it: the text of the graph could not be read",
                  used.isErased() ? std::string_view() : used.name()));
  diagnostic.node = at_->name();
  throw VerificationError(std::move(diagnostic));
}

// Whether there is a placeholder for every input spec and a returned item for every output spec, so that they
// can stand beside each other.
bool ProgramPrinter::isBesideNodes(const GraphSignature& signature, const Graph& graph) {
  size_t inputs = 0, outputs = 0, numReturns = 0;
  for (const Node& node : graph.nodes()) {
    if (node.isPlaceholder()) ++inputs;
    if (!node.isOutput()) continue;
    ++numReturns;
    const Argument* returned = returnedBy(node);
    if (returned != nullptr && returned->isSequence() && !hintMatters(*returned))
      outputs = returned->items().size();
  }
  return numReturns <= 1 && inputs == signature.inputs.size() && outputs == signature.outputs.size();
}

void ProgramPrinter::appendGraph(const GraphPlace& place) {
  checkNames(*place.graph, place.path);
  out_ += '(';
  size_t numPlaceholders = 0;
  const Node* node = place.graph->front();
  for (; node != nullptr && node->isPlaceholder(); node = node->next()) {
    out_ += numPlaceholders == 0 ? "\n  " : ",\n  ";
    const InputSpec* spec = place.signature != nullptr ? &place.signature->inputs[numPlaceholders] : nullptr;
    at_ = node;
    appendPlaceholder(*node, spec);
    ++numPlaceholders;
  }
  out_ += numPlaceholders == 0 ? "):\n" : "\n):\n";
  for (; node != nullptr; node = node->next()) {
    at_ = node;
    out_ += "  ";
    appendStatement(*node, place, numPlaceholders);
    out_ += '\n';
  }
}

void ProgramPrinter::appendPlaceholder(const Node& node, const InputSpec* spec) {
  appendNodeName(out_, node.name());
  appendValue(node);
  if (spec != nullptr) appendSpec(node, *spec);
  appendRest(node);
}

void ProgramPrinter::appendSpec(const Node& node, const InputSpec& spec) {
  std::string more;
  appendTargetOf(more, spec);
  SpecArg usual = plainSpecArg(node);
  if (!(usual == spec.arg)) {
    more += " as ";
    appendSpecArg(more, spec.arg);
  }
  if (spec.kind != InputKind::UserInput || !more.empty()) out_ += ' ' + textWord(spec.kind);
  out_ += more;
}

void ProgramPrinter::appendItemSpec(const Argument& item, const OutputSpec& spec) {
  std::string more;
  appendTargetOf(more, spec);
  if (plainSpecArg(item) != spec.arg) {
    more += " as ";
    appendSpecArg(more, spec.arg);
  }
  if (spec.kind != OutputKind::UserOutput || !more.empty()) out_ += ' ' + textWord(spec.kind);
  out_ += more;
}

void ProgramPrinter::appendStatement(const Node& node, const GraphPlace& place, size_t& numPlaceholders) {
  if (node.isOutput()) return appendReturn(node, place);
  appendNodeName(out_, node.name());
  out_ += " = ";
  switch (node.op()) {
    case NodeOp::Placeholder: {
      out_ += "placeholder";
      appendValue(node);
      if (place.signature != nullptr) appendSpec(node, place.signature->inputs[numPlaceholders]);
      ++numPlaceholders;
      return appendRest(node);
    }
    case NodeOp::GetAttr:
      out_ += "get_attr ";
      appendQuoted(out_, node.targetText());
      break;
    case NodeOp::CallModule:
      out_ += "call_module ";
      appendQuoted(out_, node.targetText());
      appendArguments(node);
      break;
    default:
      appendTarget(node.target());
      appendArguments(node);
  }
  appendValue(node);
  appendRest(node);
}

void ProgramPrinter::appendReturn(const Node& node, const GraphPlace& place) {
  out_ += "return ";
  const Argument* returned = returnedBy(node);
  if (returned == nullptr) {
    out_ += "None";  // what is really returned stands in the braces
  } else if (place.signature == nullptr || !returned->isSequence() || hintMatters(*returned)) {
    appendArgument(*returned, 0);
  } else {
    const bool isTuple = returned->kind() == ArgumentKind::Tuple;
    const std::span<const Argument> items = returned->items();
    out_ += isTuple ? '(' : '[';
    for (size_t i = 0; i < items.size(); ++i) {
      if (i != 0) out_ += ", ";
      appendArgument(items[i], 1);
      appendItemSpec(items[i], place.signature->outputs[i]);
    }
    if (isTuple && items.size() == 1) out_ += ',';
    out_ += isTuple ? ')' : ']';
  }
  appendValue(node);
  appendRest(node);
}

// What follows the value: metadata, and what is rare.
void ProgramPrinter::appendRest(const Node& node) {
  std::string braces;
  const auto key = [&braces](std::string_view word) {
    if (!braces.empty()) braces += ", ";
    braces += word;
    braces += " = ";
  };
  if (node.isPlaceholder() && node.targetText() != node.name()) {
    key("target");
    appendQuoted(braces, node.targetText());
  }
  if (node.isOutput() && node.name() != "output") {
    key("name");
    appendQuoted(braces, node.name());
  }
  const bool hasRoom = node.isCall() || node.op() == NodeOp::CallModule;
  const bool isEmpty = node.args().empty() && node.kwargs().empty();
  if (node.isOutput() ? returnedBy(node) == nullptr : !hasRoom && !isEmpty) {
    key("args");
    std::swap(out_, braces);
    appendArguments(node);
    std::swap(out_, braces);
  }
  const NodeMeta& meta = node.meta();
  if (!meta.delegationTag().empty()) {
    key("tag");
    appendQuoted(braces, meta.delegationTag());
  }
  if (!meta.entries().empty()) {
    if (MetaWriter::isShort(meta)) {
      for (const NodeMeta::Entry& entry : meta.entries()) {
        std::string word;
        if (isReservedKey(entry.key)) {
          appendQuoted(word, entry.key);
        } else {
          appendKey(word, entry.key);
        }
        key(word);
        if (isCanonicalInt(*entry.text)) {
          braces += *entry.text;
        } else {
          appendQuoted(braces, *entry.text);
        }
      }
    } else {
      out_ += fmt::format(" !{}", meta_.numberOf(meta));
    }
  }
  if (!braces.empty()) out_ += " {" + braces + '}';
}

void ProgramPrinter::appendTarget(Target target) {
  auto [at, isNew] = targets_.try_emplace(target.fxText().data());
  if (isNew) {
    at->second = targetWord(target);
    if (at->second.empty()) appendQuoted(at->second, target.fxText());
  }
  out_ += at->second;
}

void ProgramPrinter::appendArguments(const Node& node) {
  out_ += '(';
  appendItems(node.args(), 1);
  bool isFirst = node.args().empty();
  for (const KeyedArgument item : node.kwargs()) {
    if (!isFirst) out_ += ", ";
    isFirst = false;
    appendKey(out_, item.key);
    out_ += " = ";
    appendArgument(item.value, 1);
  }
  out_ += ')';
}

void ProgramPrinter::appendItems(std::span<const Argument> items, int depth) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i != 0) out_ += ", ";
    appendArgument(items[i], depth);
  }
}

void ProgramPrinter::appendSymbolic(const SymExpr& expression) {
  std::string form;
  expression.appendPython(form);
  out_ += "sym(";
  bool isPlain = false;
  try {
    isPlain = isPlainExpression(form) && expressionOfForm(form).text() == expression.text();
  } catch (const Error&) {
  }
  if (isPlain) {
    out_ += form;
  } else {
    appendQuoted(out_, expression.text());
  }
  out_ += ')';
}

void ProgramPrinter::appendArgument(const Argument& argument, int depth) {
  checkTextDepth(depth);
  const auto calling = [this](std::string_view word, std::string_view text) {
    out_ += word;
    out_ += '(';
    appendQuoted(out_, text);
    out_ += ')';
  };
  switch (argument.kind()) {
    case ArgumentKind::None:
      out_ += "None";
      return;
    case ArgumentKind::Bool:
      out_ += argument.asBool() ? "True" : "False";
      return;
    case ArgumentKind::Int:
      appendRepr(out_, argument.asInt());
      return;
    case ArgumentKind::Float:
      appendFloat(out_, argument.asFloat());
      return;
    case ArgumentKind::Complex: {
      const auto [real, imaginary] = argument.asComplex();
      out_ += "complex(";
      appendFloat(out_, real);
      out_ += ", ";
      appendFloat(out_, imaginary);
      out_ += ')';
      return;
    }
    case ArgumentKind::String:
      appendQuoted(out_, argument.asString());
      return;
    case ArgumentKind::Node:
      checkUse(argument.asNode());
      appendNodeName(out_, argument.asNode().name());
      return;
    case ArgumentKind::List:
      if (hintMatters(argument)) out_ += textWord(argument.listHint());
      out_ += '[';
      appendItems(argument.items(), depth + 1);
      out_ += ']';
      return;
    case ArgumentKind::Tuple:
      if (hintMatters(argument)) out_ += textWord(argument.listHint());
      out_ += '(';
      appendItems(argument.items(), depth + 1);
      out_ += argument.items().size() == 1 ? ",)" : ")";
      return;
    case ArgumentKind::Dict: {
      out_ += '{';
      bool isFirst = true;
      for (const KeyedArgument item : argument.asDict()) {
        if (!isFirst) out_ += ", ";
        isFirst = false;
        appendQuoted(out_, item.key);
        out_ += ": ";
        appendArgument(item.value, depth + 1);
      }
      out_ += '}';
      return;
    }
    case ArgumentKind::Slice:
    case ArgumentKind::Range:
      out_ += argument.kind() == ArgumentKind::Slice ? "slice(" : "range(";
      appendItems(argument.items(), depth + 1);
      out_ += ')';
      return;
    case ArgumentKind::Ellipsis:
      out_ += "...";
      return;
    case ArgumentKind::Symbolic:
      appendSymbolic(argument.asSymbolic());
      return;
    case ArgumentKind::Dtype:
      out_ += textWord(argument.asDtype());
      return;
    case ArgumentKind::Layout:
      out_ += textWord(argument.asLayout());
      return;
    case ArgumentKind::MemoryFormat:
      out_ += textWord(argument.asMemoryFormat());
      return;
    case ArgumentKind::Device:
      calling("device", argument.asDevice());
      return;
    case ArgumentKind::Operator: {
      const Target target = argument.asOperator();
      const std::string word = targetWord(target);
      if (word.empty()) {
        calling("op", target.fxText());
      } else {
        out_ += word;
      }
      return;
    }
  }
}

void ProgramPrinter::appendValue(const Node& node) {
  if (node.value() == nullptr) return;
  out_ += " : ";
  appendValue(*node.value(), 0);
}

void ProgramPrinter::appendTensorMeta(const TensorMeta& tensor) {
  const auto sizes = [this](const std::vector<SymInt>& numbers) {
    out_ += '[';
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (i != 0) out_ += ", ";
      symbols_.append(out_, numbers[i]);
    }
    out_ += ']';
  };
  out_ += textWord(tensor.dtype);
  sizes(tensor.sizes);
  const size_t start = out_.size();
  const auto more = [&](std::string_view word) {
    out_ += out_.size() == start ? "<" : ", ";
    out_ += word;
  };
  if (!hasUsualStrides(tensor)) {
    more("strides ");
    sizes(tensor.strides);
  }
  if (tensor.storageOffset.isSymbolic() || tensor.storageOffset.value() != 0) {
    more("offset ");
    symbols_.append(out_, tensor.storageOffset);
  }
  if (tensor.device != DeviceSpec()) {
    const std::string device = text(tensor.device);
    if (parseDevice(device) != tensor.device) fail<UnsupportedError>("device '{}' has no text", device);
    more("device ");
    appendQuoted(out_, device);
  }
  if (tensor.layout != Layout::Strided) {
    more("layout ");
    out_ += textWord(tensor.layout);
  }
  if (tensor.requiresGrad) more("grad");
  if (out_.size() != start) out_ += '>';
}

void ProgramPrinter::appendValue(const ValueMeta& value, int depth) {
  checkTextDepth(depth);
  struct Append {
    ProgramPrinter& printer;
    std::string& out;
    int depth;

    void operator()(const TensorMeta& tensor) const { printer.appendTensorMeta(tensor); }
    void operator()(const ValueMeta::SymIntValue& number) const {
      out += "SymInt(";
      printer.symbols_.append(out, number.value);
      out += ')';
    }
    void operator()(const ValueMeta::SymFloatValue& number) const {
      out += "SymFloat(";
      if (const double* plain = std::get_if<double>(&number.value)) {
        appendFloat(out, *plain);
      } else {
        out += printer.symbols_.formOf(std::get<Symbolic>(number.value));
      }
      out += ')';
    }
    void operator()(const ValueMeta::SymBoolValue& value) const {
      out += "SymBool(";
      if (const bool* plain = std::get_if<bool>(&value.value)) {
        out += *plain ? "True" : "False";
      } else {
        out += printer.symbols_.formOf(std::get<Symbolic>(value.value));
      }
      out += ')';
    }
    void operator()(const ValueMeta::Token&) const { out += "Token"; }
    void operator()(const ValueMeta::CustomObject& object) const {
      out += "Object(";
      appendQuoted(out, object.className);
      out += ')';
    }
    void operator()(const ValueMeta::Constant& constant) const {
      out += "Constant(";
      appendScalar(out, constant.value);
      out += ')';
    }
    void operator()(const ValueMeta::Sequence& sequence) const {
      out += sequence.isList ? '[' : '(';
      for (size_t i = 0; i < sequence.elements.size(); ++i) {
        if (i != 0) out += ", ";
        if (sequence.elements[i]) {
          printer.appendValue(*sequence.elements[i], depth + 1);
        } else {
          out += '?';
        }
      }
      if (!sequence.isList && sequence.elements.size() == 1) out += ',';
      out += sequence.isList ? ']' : ')';
    }
    void operator()(const ValueMeta::None&) const { out += "None"; }
  };
  std::visit(Append{*this, out_, depth}, value.data);
}

}  // namespace edgefx::detail
