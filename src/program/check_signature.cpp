#include <edgefx/ir/fx_text.h>
#include <edgefx/program/check_program.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/support/python_text.h>

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>

namespace edgefx {
namespace {

std::string_view word(InputKind kind) {
  switch (kind) {
    case InputKind::UserInput:
      return "user input";
    case InputKind::Parameter:
      return "parameter";
    case InputKind::Buffer:
      return "buffer";
    case InputKind::ConstantTensor:
      return "constant tensor";
    case InputKind::CustomObject:
      return "custom object";
    case InputKind::Token:
      return "token";
  }
  return "";
}

std::string_view word(OutputKind kind) {
  switch (kind) {
    case OutputKind::UserOutput:
      return "user output";
    case OutputKind::LossOutput:
      return "loss";
    case OutputKind::BufferMutation:
      return "mutation of buffer";
    case OutputKind::ParameterMutation:
      return "mutation of parameter";
    case OutputKind::GradientToParameter:
      return "gradient to parameter";
    case OutputKind::GradientToUserInput:
      return "gradient to user input";
    case OutputKind::UserInputMutation:
      return "mutation of user input";
    case OutputKind::Token:
      return "token";
  }
  return "";
}

std::string_view word(SpecArgKind kind) {
  switch (kind) {
    case SpecArgKind::Tensor:
      return "tensor";
    case SpecArgKind::SymInt:
      return "symbolic int";
    case SpecArgKind::SymFloat:
      return "symbolic float";
    case SpecArgKind::SymBool:
      return "symbolic bool";
    case SpecArgKind::Token:
      return "token";
    case SpecArgKind::CustomObject:
      return "custom object";
    case SpecArgKind::Constant:
      return "constant";
  }
  return "unknown kind";
}

// `input spec 2 (parameter "fc.weight")`
template <typename Spec>
std::string describe(std::string_view side, size_t index, const Spec& spec) {
  std::string out = fmt::format("{} spec {} ({}", side, index, word(spec.kind));
  if (spec.target) out += fmt::format(" \"{}\"", *spec.target);
  return out + ')';
}

// The argument kind that a spec of this kind must have; none if several are fine.
std::optional<SpecArgKind> wantedArg(InputKind kind) {
  switch (kind) {
    case InputKind::Parameter:
    case InputKind::Buffer:
    case InputKind::ConstantTensor:
      return SpecArgKind::Tensor;
    case InputKind::CustomObject:
      return SpecArgKind::CustomObject;
    case InputKind::Token:
      return SpecArgKind::Token;
    case InputKind::UserInput:
      break;
  }
  return std::nullopt;
}

std::optional<SpecArgKind> wantedArg(OutputKind kind) {
  if (kind == OutputKind::UserOutput) return std::nullopt;
  return kind == OutputKind::Token ? SpecArgKind::Token : SpecArgKind::Tensor;
}

// Results come in this order.
int rank(OutputKind kind) {
  if (kind == OutputKind::Token) return 0;
  return isMutation(kind) ? 1 : 2;
}

// What the target of such an output names; none if the output has no target.
std::optional<InputKind> targetKind(OutputKind kind) {
  switch (kind) {
    case OutputKind::BufferMutation:
      return InputKind::Buffer;
    case OutputKind::ParameterMutation:
    case OutputKind::GradientToParameter:
      return InputKind::Parameter;
    case OutputKind::UserInputMutation:
    case OutputKind::GradientToUserInput:
      return InputKind::UserInput;
    case OutputKind::UserOutput:
    case OutputKind::LossOutput:
    case OutputKind::Token:
      break;
  }
  return std::nullopt;
}

std::string repr(std::string_view text) {
  std::string out;
  appendReprString(out, text);
  return out;
}

std::string constantText(const ConstantScalar& value) {
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? "True" : "False";
  if (const std::string* string = std::get_if<std::string>(&value)) return repr(*string);
  std::string out;
  if (const int64_t* integer = std::get_if<int64_t>(&value)) {
    appendRepr(out, *integer);
  } else if (const double* number = std::get_if<double>(&value)) {
    appendRepr(out, *number);
  } else {
    out = "None";
  }
  return out;
}

bool holds(const Argument& argument, const ConstantScalar& value) {
  switch (argument.kind()) {
    case ArgumentKind::None:
      return std::holds_alternative<std::monostate>(value);
    case ArgumentKind::Bool:
      return value == ConstantScalar(argument.asBool());
    case ArgumentKind::Int:
      return value == ConstantScalar(argument.asInt());
    case ArgumentKind::Float: {
      const double* wanted = std::get_if<double>(&value);
      if (wanted == nullptr) return false;
      double found = argument.asFloat();
      return std::isnan(found) ? std::isnan(*wanted)
                               : std::bit_cast<uint64_t>(found) == std::bit_cast<uint64_t>(*wanted);
    }
    case ArgumentKind::String: {
      const std::string* wanted = std::get_if<std::string>(&value);
      return wanted != nullptr && *wanted == argument.asString();
    }
    default:
      return false;
  }
}

// A result as messages name it; long nested lists are cut.
std::string resultText(const Argument& argument) {
  if (const Node* node = argument.findNode()) return fmt::format("'%{}'", node->name());
  if (argument.isSequence())
    return fmt::format("a {} of {} items", name(argument.kind()), argument.items().size());
  if (argument.isString()) return repr(argument.asString());
  std::string out;
  appendFxText(out, argument);
  return out;
}

// Names for a message, cut after a few.
class NameList {
 public:
  void add(std::string_view name) {
    static constexpr size_t kMostNames = 8;
    if (count_++ >= kMostNames) return;
    if (!out_.empty()) out_ += ", ";
    out_.append("'%").append(name).append("'");
    ++shown_;
  }
  std::string text() const {
    if (count_ == 0) return "none";
    return shown_ == count_ ? out_ : fmt::format("{} and {} more", out_, count_ - shown_);
  }

 private:
  std::string out_;
  size_t count_ = 0, shown_ = 0;
};

class SignatureChecker {
 public:
  explicit SignatureChecker(const ExportedProgram& program)
      : program_(program), signature_(program.signature), placeholders_(program.graph().placeholders()) {}

  std::vector<Diagnostic> run() && {
    checkInputCount();
    checkDuplicateInputs();
    for (size_t i = 0; i < signature_.inputs.size(); ++i) checkInput(i, signature_.inputs[i]);
    checkOutputs();
    return std::move(found_);
  }

 private:
  template <typename... Args>
  void report(std::string_view node, fmt::format_string<Args...> format, Args&&... args) {
    Diagnostic diagnostic(fmt::format(format, std::forward<Args>(args)...));
    diagnostic.node = node;
    found_.push_back(std::move(diagnostic));
  }

  bool countsMatch() const { return placeholders_.size() == signature_.inputs.size(); }
  // For messages: the spec's node if the graph has it.
  std::string_view placeOf(const SpecArg& arg) const {
    return !arg.name.empty() && program_.graph().find(arg.name) != nullptr ? std::string_view(arg.name)
                                                                           : std::string_view();
  }

  void checkInputCount() {
    if (countsMatch()) return;
    std::set<std::string_view> specNames, nodeNames;
    for (const InputSpec& spec : signature_.inputs) specNames.insert(spec.arg.name);
    NameList withoutSpec, withoutNode;
    for (const Node* node : placeholders_) {
      nodeNames.insert(node->name());
      if (!specNames.contains(node->name())) withoutSpec.add(node->name());
    }
    for (const InputSpec& spec : signature_.inputs) {
      if (!nodeNames.contains(spec.arg.name)) withoutNode.add(spec.arg.name);
    }
    report({},
           "expected as many input specs as placeholders, found {} specs for {} placeholders; "
           "placeholders without spec: {}; specs without placeholder: {}",
           signature_.inputs.size(), placeholders_.size(), withoutSpec.text(), withoutNode.text());
  }

  void checkDuplicateInputs() {
    std::map<std::string_view, size_t> first;
    for (size_t i = 0; i < signature_.inputs.size(); ++i) {
      const InputSpec& spec = signature_.inputs[i];
      auto [entry, isNew] = first.emplace(spec.arg.name, i);
      if (!isNew) {
        report(placeOf(spec.arg), "{} names '%{}', as input spec {} does", describe("input", i, spec),
               spec.arg.name, entry->second);
      }
    }
  }

  void checkInput(size_t i, const InputSpec& spec) {
    if (countsMatch() && placeholders_[i]->name() != spec.arg.name) reportInputName(i, spec);
    if (word(spec.kind).empty()) {
      report(placeOf(spec.arg), "input spec {} has the unknown kind {}", i, static_cast<int>(spec.kind));
      return;
    }
    checkArgKind("input", i, spec);
    if (spec.kind == InputKind::UserInput || spec.kind == InputKind::Token) return;
    if (!spec.target) {
      report(placeOf(spec.arg), "{} has no target, expected the name of a {}", describe("input", i, spec),
             word(spec.kind));
      return;
    }
    checkStored(i, spec);
  }

  void reportInputName(size_t i, const InputSpec& spec) {
    const Node* named = program_.graph().find(spec.arg.name);
    bool isPlaceholder = named != nullptr && named->isPlaceholder();
    report(placeholders_[i]->name(), "{} names '%{}', {}; the placeholder at its position is '%{}'",
           describe("input", i, spec), spec.arg.name,
           isPlaceholder ? "which stands elsewhere" : "which is no placeholder of the graph",
           placeholders_[i]->name());
  }

  template <typename Spec>
  void checkArgKind(std::string_view side, size_t i, const Spec& spec) {
    std::optional<SpecArgKind> wanted = wantedArg(spec.kind);
    if (!wanted || spec.arg.kind == *wanted) return;
    report(placeOf(spec.arg), "{} must be a {}, found a {}", describe(side, i, spec), word(*wanted),
           word(spec.arg.kind));
  }

  void checkStored(size_t i, const InputSpec& spec) {
    const StoredTensor* state = program_.stateDict().find(*spec.target);
    bool isConstant = program_.constants().contains(*spec.target);
    auto reportEntry = [&](std::string_view fault) {
      report(placeOf(spec.arg), "{} {}", describe("input", i, spec), fault);
    };
    switch (spec.kind) {
      case InputKind::Parameter:
        if (state == nullptr) {
          reportEntry(isConstant ? "is not in the state dict, but among the constants"
                                 : "is not in the state dict");
        } else if (!state->isParameter) {
          reportEntry("is in the state dict, but not as a parameter");
        }
        break;
      case InputKind::Buffer:
        if (!spec.persistent) {
          reportEntry("does not say whether it is persistent");
        } else if (*spec.persistent && state == nullptr && !isConstant) {
          reportEntry("is persistent, but not in the state dict");
        } else if (!*spec.persistent) {
          if (state != nullptr) reportEntry("is not persistent, but in the state dict");
          if (!isConstant) reportEntry("is not persistent and must be among the constants, but is not");
        }
        break;
      case InputKind::ConstantTensor:
      case InputKind::CustomObject:
        if (!isConstant) {
          reportEntry(state != nullptr ? "is not among the constants, but in the state dict"
                                       : "is not among the constants");
        }
        break;
      case InputKind::UserInput:
      case InputKind::Token:
        break;
    }
  }

  void checkOutputs() {
    const Node* output = program_.graph().back();
    if (output == nullptr || !output->isOutput()) {
      report(output == nullptr ? std::string_view() : output->name(),
             "expected the output as last node, found {}",
             output == nullptr ? "no node" : name(output->op()));
    } else if (output->args().size() != 1 || !output->args()[0].isSequence()) {
      report(output->name(),
             "expected a tuple or list of results as the only argument of the output, found {}",
             output->args().size() == 1 ? resultText(output->args()[0])
                                        : fmt::format("{} arguments", output->args().size()));
    } else {
      results_ = output->args()[0].items();
      hasResults_ = results_.size() == signature_.outputs.size();
      if (!hasResults_) reportOutputCount(*output);
    }

    checkTokens();
    size_t last = 0;  // of the highest rank so far
    for (size_t i = 0; i < signature_.outputs.size(); ++i) {
      const OutputSpec& spec = signature_.outputs[i];
      if (word(spec.kind).empty()) {
        report(placeOf(spec.arg), "output spec {} has the unknown kind {}", i, static_cast<int>(spec.kind));
        continue;
      }
      if (hasResults_) checkResult(i, spec);
      checkArgKind("output", i, spec);
      checkOutputTarget(i, spec);
      if (rank(spec.kind) < rank(signature_.outputs[last].kind)) {
        report(placeOf(spec.arg),
               "{} stands after {}, expected tokens first, then mutations, then all others",
               describe("output", i, spec), describe("output", last, signature_.outputs[last]));
      } else {
        last = i;
      }
    }
  }

  void reportOutputCount(const Node& output) {
    std::set<std::string_view> specNames, nodeNames;
    for (const OutputSpec& spec : signature_.outputs) specNames.insert(spec.arg.name);
    NameList withoutSpec, withoutNode;
    for (const Argument& result : results_) {
      const Node* node = result.findNode();
      if (node != nullptr && nodeNames.insert(node->name()).second && !specNames.contains(node->name())) {
        withoutSpec.add(node->name());
      }
    }
    for (const OutputSpec& spec : signature_.outputs) {
      if (!spec.arg.isConstant() && !nodeNames.contains(spec.arg.name)) withoutNode.add(spec.arg.name);
    }
    report(
        output.name(),
        "expected as many output specs as results, found {} specs for {} results; results without spec: {}; "
        "specs without result: {}",
        signature_.outputs.size(), results_.size(), withoutSpec.text(), withoutNode.text());
  }

  void checkTokens() {
    size_t in = 0, out = 0;
    for (const InputSpec& spec : signature_.inputs) in += spec.kind == InputKind::Token;
    for (const OutputSpec& spec : signature_.outputs) out += spec.kind == OutputKind::Token;
    if (in != out) report({}, "expected as many token outputs as token inputs, found {} for {}", out, in);
  }

  void checkResult(size_t i, const OutputSpec& spec) {
    const Argument& result = results_[i];
    const Node* node = result.findNode();
    if (spec.arg.isConstant()) {
      if (holds(result, spec.arg.value)) return;
      report(node == nullptr ? std::string_view() : node->name(),
             "{} is the constant {}, but the graph returns {}", describe("output", i, spec),
             constantText(spec.arg.value), resultText(result));
    } else if (node == nullptr || node->name() != spec.arg.name) {
      report(placeOf(spec.arg), "{} names '%{}', but the graph returns {} at its position",
             describe("output", i, spec), spec.arg.name, resultText(result));
    }
  }

  void checkOutputTarget(size_t i, const OutputSpec& spec) {
    std::optional<InputKind> wanted = targetKind(spec.kind);
    if (!wanted) return;
    if (!spec.target) {
      report(placeOf(spec.arg), "{} has no target, expected the name of a {}", describe("output", i, spec),
             word(*wanted));
      return;
    }
    if (!index_) index_.emplace(signature_);
    bool exists;
    if (*wanted == InputKind::UserInput) {
      const InputSpec* input = index_->findInput(*spec.target);
      exists = input != nullptr && input->kind == InputKind::UserInput;
    } else {
      exists = index_->findTarget(*wanted, *spec.target) != nullptr;
    }
    if (!exists) {
      report(placeOf(spec.arg), "{} names a {} that no input spec holds", describe("output", i, spec),
             word(*wanted));
    }
  }

  const ExportedProgram& program_;
  const GraphSignature& signature_;
  std::vector<const Node*> placeholders_;
  std::span<const Argument> results_;
  bool hasResults_ = false;              // one for each output spec
  std::optional<SignatureIndex> index_;  // made when the first target is looked up
  std::vector<Diagnostic> found_;
};

}  // namespace

std::vector<Diagnostic> checkSignature(const ExportedProgram& program) {
  return SignatureChecker(program).run();
}

}  // namespace edgefx
