#include <edgefx/program/signature.h>
#include <edgefx/support/python_text.h>

#include <type_traits>
#include <variant>

namespace edgefx {
namespace {

// The sections put the plain text between quotes, without repr's escapes.
void appendTarget(std::string& out, const std::optional<std::string>& target) {
  if (target) out.append(" target='").append(*target).append("'");
}

void appendLine(std::string& out, const InputSpec& spec) {
  out.append(spec.arg.name).append(": ").append(name(spec.kind));
  appendTarget(out, spec.target);
  if (spec.persistent) out.append(*spec.persistent ? " persistent=True" : " persistent=False");
}

void appendLine(std::string& out, const OutputSpec& spec) {
  out.append(spec.arg.name).append(": ").append(name(spec.kind));
  appendTarget(out, spec.target);
}

void appendConstant(std::string& out, const ConstantScalar& value) {
  std::visit(
      [&out](const auto& held) {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::monostate>) {
          out += "None";
        } else if constexpr (std::is_same_v<Held, bool>) {
          out += held ? "True" : "False";
        } else if constexpr (std::is_same_v<Held, std::string>) {
          appendReprString(out, held);
        } else {
          appendRepr(out, held);
        }
      },
      value);
}

std::string_view className(SpecArgKind kind) {
  switch (kind) {
    case SpecArgKind::Tensor:
      return "TensorArgument";
    case SpecArgKind::SymInt:
      return "SymIntArgument";
    case SpecArgKind::SymFloat:
      return "SymFloatArgument";
    case SpecArgKind::SymBool:
      return "SymBoolArgument";
    case SpecArgKind::Token:
      return "TokenArgument";
    case SpecArgKind::CustomObject:
      return "CustomObjArgument";
    case SpecArgKind::Constant:
      return "ConstantArgument";
  }
  return "UnknownArgument";
}

// Releases with data class text had no parameter mutations, so that later kinds had smaller numbers.
int dataClassNumber(OutputKind kind) {
  int number = static_cast<int>(kind);
  return kind > OutputKind::ParameterMutation ? number - 1 : number;
}

void appendArgRepr(std::string& out, const SpecArg& arg) {
  out.append(className(arg.kind)).append("(name=");
  appendReprString(out, arg.name);
  if (arg.kind == SpecArgKind::CustomObject) {
    out += ", class_fqn=";
    appendReprString(out, arg.className);
    out += ", fake_val=None";
  } else if (arg.kind == SpecArgKind::Constant) {
    out += ", value=";
    appendConstant(out, arg.value);
  }
  out += ')';
}

template <typename Kind>
void appendSpecStart(std::string& out, std::string_view spec, std::string_view kindClass, Kind kind,
                     int number, const SpecArg& arg, const std::optional<std::string>& target) {
  out.append(spec).append("(kind=<").append(kindClass).append(".").append(name(kind)).append(": ");
  appendRepr(out, number);
  out += ">, arg=";
  appendArgRepr(out, arg);
  out += ", target=";
  if (target) {
    appendReprString(out, *target);
  } else {
    out += "None";
  }
}

void appendSpecRepr(std::string& out, const InputSpec& spec) {
  appendSpecStart(out, "InputSpec", "InputKind", spec.kind, static_cast<int>(spec.kind), spec.arg,
                  spec.target);
  out += ", persistent=";
  out += !spec.persistent ? "None" : *spec.persistent ? "True" : "False";
  out += ')';
}

void appendSpecRepr(std::string& out, const OutputSpec& spec) {
  appendSpecStart(out, "OutputSpec", "OutputKind", spec.kind, dataClassNumber(spec.kind), spec.arg,
                  spec.target);
  out += ')';
}

template <typename Spec, typename Append>
void appendJoined(std::string& out, const std::vector<Spec>& specs, std::string_view separator,
                  Append append) {
  for (size_t i = 0; i < specs.size(); ++i) {
    if (i != 0) out += separator;
    append(specs[i]);
  }
}

}  // namespace

std::string text(const GraphSignature& signature, SignatureStyle style) {
  std::string out;
  if (style == SignatureStyle::Sections) {
    auto line = [&out](const auto& spec) { appendLine(out, spec); };
    out += "\n# inputs\n";
    appendJoined(out, signature.inputs, "\n", line);
    out += "\n\n# outputs\n";
    appendJoined(out, signature.outputs, "\n", line);
    out += '\n';
  } else {
    auto repr = [&out](const auto& spec) { appendSpecRepr(out, spec); };
    out += "ExportGraphSignature(input_specs=[";
    appendJoined(out, signature.inputs, ", ", repr);
    out += "], output_specs=[";
    appendJoined(out, signature.outputs, ", ", repr);
    out += "])";
  }
  return out;
}

}  // namespace edgefx
