#include <edgefx/ir/fx_text.h>
#include <edgefx/support/python_text.h>

#include "support/fail.h"

#include <charconv>

namespace edgefx {
namespace {

// FX formats nodes as %name and strings bare inside args and kwargs, but leaves slices, ranges and the
// returned value to Python's repr, where nodes have no '%' and strings are quoted.
enum class Style { Fx, Repr };

void append(std::string& out, const Argument& argument, Style style);

void appendItems(std::string& out, std::span<const Argument> items, Style style) {
  bool first = true;
  for (const Argument& item : items) {
    if (!first) out += ", ";
    first = false;
    append(out, item, style);
  }
}

void appendTuple(std::string& out, std::span<const Argument> items, Style style) {
  out += '(';
  appendItems(out, items, style);
  if (items.size() == 1) out += ',';
  out += ')';
}

void appendKeyed(std::string& out, KeyedArguments items, Style style) {
  out += '{';
  bool first = true;
  for (auto [key, value] : items) {
    if (!first) out += ", ";
    first = false;
    if (style == Style::Fx) {
      out += key;
    } else {
      appendReprString(out, key);
    }
    out += ": ";
    append(out, value, style);
  }
  out += '}';
}

void append(std::string& out, const Argument& argument, Style style) {
  using Kind = Argument::Kind;
  switch (argument.kind()) {
    case Kind::None:
      out += "None";
      return;
    case Kind::Bool:
      out += argument.asBool() ? "True" : "False";
      return;
    case Kind::Int:
      appendRepr(out, argument.asInt());
      return;
    case Kind::Float:
      appendRepr(out, argument.asFloat());
      return;
    case Kind::Complex: {
      auto [real, imaginary] = argument.asComplex();
      appendComplexRepr(out, real, imaginary);
      return;
    }
    case Kind::String:
      if (style == Style::Fx) {
        out += argument.asString();
      } else {
        appendReprString(out, argument.asString());
      }
      return;
    case Kind::Node:
      if (style == Style::Fx) out += '%';
      out += argument.asNode().name();
      return;
    case Kind::List:
      out += '[';
      appendItems(out, argument.items(), style);
      out += ']';
      return;
    case Kind::Tuple:
      appendTuple(out, argument.items(), style);
      return;
    case Kind::Dict:
      appendKeyed(out, argument.asDict(), style);
      return;
    case Kind::Slice:
      out += "slice(";
      appendItems(out, argument.items(), Style::Repr);
      out += ')';
      return;
    case Kind::Range: {
      std::span<const Argument> items = argument.items();
      bool unitStep = items[2].isInt() && items[2].asInt() == 1;
      out += "range(";
      appendItems(out, items.first(unitStep ? 2 : 3), Style::Repr);
      out += ')';
      return;
    }
    case Kind::Ellipsis:
      out += "Ellipsis";
      return;
    case Kind::Symbolic:
      argument.asSymbolic().appendPython(out);
      return;
    case Kind::Dtype:
      out += fxText(argument.asDtype());
      return;
    case Kind::Layout:
      out += fxText(argument.asLayout());
      return;
    case Kind::MemoryFormat:
      out += fxText(argument.asMemoryFormat());
      return;
    case Kind::Device: {
      std::string_view text = argument.asDevice();
      if (style == Style::Fx) {
        out += text;
        return;
      }
      size_t colon = text.find(':');
      out += "device(type='";
      out += text.substr(0, colon);
      out += '\'';
      if (colon != std::string_view::npos) {
        out += ", index=";
        out += text.substr(colon + 1);
      }
      out += ')';
      return;
    }
    case Kind::Operator: {
      Target target = argument.asOperator();
      if (style == Style::Repr && target.isOperator()) {
        out += fmt::format("<OpOverload(op='{}.{}', overload='{}')>", target.ns(), target.op(),
                           target.overload());
      } else {
        out += target.argumentText();
      }
      return;
    }
  }
}

// Python's str(), which differs from repr() at the outermost level only.
void appendStr(std::string& out, const Argument& argument) {
  using Kind = Argument::Kind;
  const Kind kind = argument.kind();
  const bool bare = kind == Kind::String || kind == Kind::Device || kind == Kind::Operator;
  append(out, argument, bare ? Style::Fx : Style::Repr);
}

void appendNumUsers(std::string& out, const Node& node) {
  out += " : [num_users=";
  char digits[24];
  auto end = std::to_chars(digits, digits + sizeof digits, node.numUsers()).ptr;
  out.append(digits, end);
  out += "] = ";
}

}  // namespace

void appendFxText(std::string& out, const Argument& argument) {
  append(out, argument, Style::Fx);
}

void appendFxText(std::string& out, const Node& node) {
  if (node.isOutput()) {
    out += "return ";
    if (node.args().empty()) {
      out += "None";
    } else {
      appendStr(out, node.arg(0));
    }
    return;
  }
  out += '%';
  out += node.name();
  appendNumUsers(out, node);
  switch (node.op()) {
    case NodeOp::Placeholder:
      out += "placeholder[target=";
      break;
    case NodeOp::GetAttr:
      out += "get_attr[target=";
      break;
    case NodeOp::CallModule:
      out += "call_module[target=";
      break;
    default:
      out += "call_function[target=";
      break;
  }
  out += node.targetText();
  out += ']';
  if (node.isPlaceholder()) {
    if (const Argument* value = node.findArg(0)) {
      out += "(default=";
      appendStr(out, *value);
      out += ')';
    }
  } else if (!node.isGetAttr()) {
    out += "(args = ";
    appendTuple(out, node.args(), Style::Fx);
    out += ", kwargs = ";
    appendKeyed(out, node.kwargs(), Style::Fx);
    out += ')';
  }
}

void appendFxText(std::string& out, const Graph& graph) {
  constexpr size_t kTypicalLine = 128;
  out.reserve(out.size() + graph.size() * kTypicalLine);
  out += "graph():";
  for (const Node& node : graph.nodes()) {
    out += "\n    ";
    appendFxText(out, node);
  }
}

std::string fxText(const Graph& graph) {
  std::string out;
  appendFxText(out, graph);
  return out;
}

std::string fxText(const GraphModule& module) {
  std::string out;
  for (const ConstNestedModule& nested : namedModules(module)) {
    if (!nested.path.empty()) {
      out += "# submodule ";
      out += nested.path;
      out += '\n';
    }
    appendFxText(out, nested.module->graph());
    out += '\n';
  }
  return out;
}

}  // namespace edgefx
