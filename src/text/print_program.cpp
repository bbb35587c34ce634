#include <edgefx/support/python_text.h>

#include "support/fail.h"
#include "text/program_printer.h"
#include "text/text_words.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>

namespace edgefx::detail {
namespace {

constexpr size_t kDeepestLowered = 32;

std::string_view textWord(Dialect dialect) {
  switch (dialect) {
    case Dialect::Training:
      return "training";
    case Dialect::Edge:
      return "edge";
    default:
      return "aten";
  }
}

std::vector<const LoweredModule*> loweredIn(const ExportedProgram& program) {
  std::vector<const LoweredModule*> found;
  std::vector<const GraphModule*> pending{&program.graphModule()};
  while (!pending.empty()) {
    const GraphModule* module = pending.back();
    pending.pop_back();
    for (const GraphModule::Delegate& delegate : module->delegates()) found.push_back(delegate.module.get());
    const auto& children = module->children();
    for (size_t i = children.size(); i-- > 0;) pending.push_back(children[i].module.get());
  }
  return found;
}

// Lowered modules in an order in which those that hold others come before these.
class LoweredOrder {
 public:
  void add(const ExportedProgram& program) {
    for (const LoweredModule* module : loweredIn(program)) visit(*module, 1);
  }
  std::vector<const LoweredModule*> take() {
    std::ranges::reverse(finished_);
    return std::move(finished_);
  }

 private:
  // Returns how many levels of lowered modules begin here.
  size_t visit(const LoweredModule& module, size_t depth) {
    if (auto known = depths_.find(&module); known != depths_.end()) {
      checkDepth(depth + known->second - 1);
      return known->second;
    }
    checkDepth(depth);
    size_t deepest = 0;
    for (const LoweredModule* inner : loweredIn(module.program)) {
      deepest = std::max(deepest, visit(*inner, depth + 1));
    }
    finished_.push_back(&module);
    return depths_[&module] = deepest + 1;
  }
  static void checkDepth(size_t depth) {
    if (depth > kDeepestLowered)
      fail<UnsupportedError>("delegates nested deeper than {} levels have no text", kDeepestLowered);
  }

  std::unordered_map<const LoweredModule*, size_t> depths_;
  std::vector<const LoweredModule*> finished_;
};

}  // namespace

void ProgramPrinter::findLowered(std::span<const NamedProgramRef> methods) {
  LoweredOrder order;
  // The last first, so that the first one's come first after all.
  for (size_t i = methods.size(); i-- > 0;) order.add(*methods[i].program);
  lowered_ = order.take();
  for (size_t i = 0; i < lowered_.size(); ++i) loweredNumbers_.emplace(lowered_[i], i);
}

std::string ProgramPrinter::print(std::span<const NamedProgramRef> methods) {
  findLowered(methods);
  for (const NamedProgramRef& method : methods) countStorages(*method.program);
  for (const LoweredModule* module : lowered_) countStorages(module->program);

  out_ = "edgefx text 1\n";
  for (const NamedProgramRef& method : methods) {
    std::string head = "method ";
    appendQuoted(head, method.name);
    appendProgram(*method.program, head);
  }
  for (size_t i = 0; i < lowered_.size(); ++i) appendLowered(*lowered_[i], i);
  meta_.appendSection(out_);
  return std::move(out_);
}

void ProgramPrinter::appendLowered(const LoweredModule& module, size_t number) {
  std::string head = fmt::format("lowered {} backend ", number);
  appendQuoted(head, module.backendId);
  appendProgram(module.program, head);
  if (!module.processedBytes.empty()) {
    out_ += "payload ";
    appendBytes(module.processedBytes.text());
    out_ += '\n';
  }
  if (!module.compileSpecs.empty()) {
    out_ += "compile_specs {\n";
    for (const CompileSpec& spec : module.compileSpecs) {
      out_ += "  ";
      appendQuoted(out_, spec.key);
      out_ += " = ";
      appendQuoted(out_, spec.value);
      out_ += '\n';
    }
    out_ += "}\n";
  }
  if (!module.debugHandleMap.empty()) {
    out_ += "debug_handles {\n";
    for (const auto& [identifier, handles] : module.debugHandleMap) {
      out_ += "  ";
      if (const auto* text = std::get_if<std::string>(&identifier)) {
        appendQuoted(out_, *text);
      } else {
        appendRepr(out_, std::get<int64_t>(identifier));
      }
      out_ += fmt::format(" = [{}]\n", fmt::join(handles, ", "));
    }
    out_ += "}\n";
  }
  if (!module.namedData.empty()) {
    out_ += "named_data {\n";
    for (const NamedData& data : module.namedData) {
      out_ += "  ";
      appendQuoted(out_, data.key);
      out_ += " = ";
      if (data.alignment != 1) out_ += fmt::format("alignment {} ", data.alignment);
      if (!data.externalTag.empty()) {
        out_ += "tag ";
        appendQuoted(out_, data.externalTag);
        out_ += ' ';
      }
      appendBytes(data.bytes.text());
      out_ += '\n';
    }
    out_ += "}\n";
  }
}

void ProgramPrinter::appendProgram(const ExportedProgram& program, std::string_view head) {
  const size_t start = out_.size();
  out_ += head;
  const bool isBeside = isBesideNodes(program.signature, program.graph());
  appendGraph({&program.graph(), "", isBeside ? &program.signature : nullptr});
  appendModules(program.graphModule());
  if (!isBeside) appendSignature(program.signature);
  if (!program.rangeConstraints.empty()) {
    out_ += "ranges {\n";
    for (const RangeConstraint& range : program.rangeConstraints) {
      out_ += "  ";
      appendKey(out_, range.symbol);
      const auto bound = [](std::optional<int64_t> number) {
        return number ? std::to_string(*number) : "None";
      };
      out_ += fmt::format(" in [{}, {}]\n", bound(range.min), bound(range.max));
    }
    out_ += "}\n";
  }
  appendTable(program.stateDict(), "state_dict");
  appendTable(program.constants(), "constants");
  appendSettings(program);
  appendModuleCalls(program);
  appendMore(program);
  // What its values need to be read stands before the program.
  out_.insert(start, "\n" + symbols_.takeSection());
}

void ProgramPrinter::appendModules(const GraphModule& top) {
  struct Place {
    const GraphModule* module;
    std::string path;
    int depth;
  };
  std::vector<Place> pending{{&top, "", 0}};
  while (!pending.empty()) {
    const Place place = std::move(pending.back());
    pending.pop_back();
    if (place.depth > kDeepestPath)
      fail<UnsupportedError>("graph modules nested deeper than {} levels have no text", kDeepestPath);
    if (place.module != &top) {
      out_ += "submodule ";
      appendQuoted(out_, place.path);
      appendGraph({&place.module->graph(), place.path, nullptr});
    }
    for (const GraphModule::Delegate& delegate : place.module->delegates()) {
      out_ += "delegate ";
      appendQuoted(out_, childPath(place.path, delegate.name));
      out_ += fmt::format(" = {}{}\n", loweredNumbers_.at(delegate.module.get()),
                          delegate.hasEffect ? " effect" : "");
    }
    if (!place.module->metadata.empty()) {
      out_ += "module_metadata ";
      appendQuoted(out_, place.path);
      out_ += " {\n";
      for (const auto& [key, text] : place.module->metadata) {
        out_ += "  ";
        appendKey(out_, key);
        out_ += " = ";
        appendQuoted(out_, text);
        out_ += '\n';
      }
      out_ += "}\n";
    }
    const auto& children = place.module->children();
    for (size_t i = children.size(); i-- > 0;) {
      pending.push_back({children[i].module.get(), childPath(place.path, children[i].name), place.depth + 1});
    }
  }
}

void ProgramPrinter::appendSignature(const GraphSignature& signature) {
  out_ += "signature {\n";
  for (const InputSpec& spec : signature.inputs) {
    out_ += "  input " + textWord(spec.kind);
    appendTargetOf(out_, spec);
    out_ += " as ";
    appendSpecArg(out_, spec.arg);
    out_ += '\n';
  }
  for (const OutputSpec& spec : signature.outputs) {
    out_ += "  output " + textWord(spec.kind);
    appendTargetOf(out_, spec);
    out_ += " as ";
    appendSpecArg(out_, spec.arg);
    out_ += '\n';
  }
  out_ += "}\n";
}

void ProgramPrinter::appendStrings(std::span<const std::string> strings) {
  out_ += '[';
  for (size_t i = 0; i < strings.size(); ++i) {
    if (i != 0) out_ += ", ";
    appendQuoted(out_, strings[i]);
  }
  out_ += ']';
}

// What is as in a program that was just made is not written.
void ProgramPrinter::appendSettings(const ExportedProgram& program) {
  const ExportedProgram fresh;
  const size_t start = out_.size();
  out_ += "settings {\n";
  const size_t empty = out_.size();
  if (program.dialect != fresh.dialect) out_ += fmt::format("  dialect = {}\n", textWord(program.dialect));
  if (program.verifiers != fresh.verifiers) {
    out_ += "  verifiers = ";
    appendStrings(program.verifiers);
    out_ += '\n';
  }
  if (!(program.schemaVersion == fresh.schemaVersion)) {
    out_ += fmt::format("  schema = [{}, {}]\n", program.schemaVersion.major, program.schemaVersion.minor);
  }
  if (!program.torchVersion.empty()) {
    out_ += "  torch = ";
    appendQuoted(out_, program.torchVersion);
    out_ += '\n';
  }
  if (program.opsetVersion != fresh.opsetVersion) {
    out_ += "  opset = {";
    for (size_t i = 0; i < program.opsetVersion.size(); ++i) {
      if (i != 0) out_ += ", ";
      appendQuoted(out_, program.opsetVersion[i].first);
      out_ += fmt::format(": {}", program.opsetVersion[i].second);
    }
    out_ += "}\n";
  }
  if (!program.guardsCode.empty()) {
    out_ += "  guards = ";
    appendStrings(program.guardsCode);
    out_ += '\n';
  }
  if (out_.size() == empty) {
    out_.resize(start);
  } else {
    out_ += "}\n";
  }
}

void ProgramPrinter::appendModuleCalls(const ExportedProgram& program) {
  if (program.moduleCallGraph.empty()) return;
  const auto appendArgs = [this](std::string_view word, std::span<const SpecArg> args) {
    out_ += fmt::format("    {} = [", word);
    for (size_t i = 0; i < args.size(); ++i) {
      if (i != 0) out_ += ", ";
      appendSpecArg(out_, args[i]);
    }
    out_ += "]\n";
  };
  out_ += "module_calls {\n";
  for (const ModuleCallEntry& entry : program.moduleCallGraph) {
    out_ += "  ";
    appendQuoted(out_, entry.fqn);
    if (entry.signature) {
      out_ += " = {\n";
      appendArgs("inputs", entry.signature->inputs);
      appendArgs("outputs", entry.signature->outputs);
      out_ += "    in_spec = ";
      appendQuoted(out_, entry.signature->inSpec);
      out_ += "\n    out_spec = ";
      appendQuoted(out_, entry.signature->outSpec);
      if (entry.signature->forwardArgNames) {
        out_ += "\n    names = ";
        appendStrings(*entry.signature->forwardArgNames);
      }
      out_ += "\n  }";
    }
    out_ += '\n';
  }
  out_ += "}\n";
}

void ProgramPrinter::appendMore(const ExportedProgram& program) {
  const auto appendLists = [this](std::string_view section, const auto& lists) {
    if (lists.empty()) return;
    out_ += fmt::format("{} {{\n", section);
    for (const auto& [key, strings] : lists) {
      out_ += "  ";
      appendQuoted(out_, key);
      out_ += " = ";
      appendStrings(strings);
      out_ += '\n';
    }
    out_ += "}\n";
  };
  appendLists("named_tuples", program.namedTupleFields);
  appendLists("argument_names", program.argumentNames);
  if (!program.unknownMembers.empty()) {
    out_ += "unknown_members {\n";
    for (const auto& [path, json] : program.unknownMembers) {
      out_ += "  ";
      appendQuoted(out_, path);
      out_ += " = ";
      appendQuoted(out_, json);
      out_ += '\n';
    }
    out_ += "}\n";
  }
  if (!program.exampleInputs.empty()) {
    out_ += "example_inputs ";
    appendBytes(program.exampleInputs.text());
    out_ += '\n';
  }
}

}  // namespace edgefx::detail

namespace edgefx {

std::string programText(std::span<const NamedProgramRef> methods, const ProgramTextOptions& options) {
  return detail::ProgramPrinter(options).print(methods);
}

std::string programText(const ExportedProgram& program, const ProgramTextOptions& options) {
  const NamedProgramRef method{"forward", &program};
  return programText(std::span(&method, 1), options);
}

}  // namespace edgefx
