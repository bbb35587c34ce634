#include <edgefx/program/tensor_table.h>

#include "support/fail.h"
#include "text/parsed_storages.h"
#include "text/program_parser.h"
#include "text/text_words.h"

#include <algorithm>
#include <string>
#include <utility>

namespace edgefx::detail {

ProgramParser::ProgramParser(std::string_view text, std::string_view fileName,
                             const ParseTextOptions& options)
    : in_(text, fileName),
      options_(options),
      textSize_(text.size()),
      storages_(std::make_unique<ParsedStorages>()) {}

ProgramParser::~ProgramParser() = default;

void ProgramParser::failFor(size_t position, const Error& error) const {
  in_.fail(position, error.diagnostics().front().message);
}

std::vector<NamedProgram> ProgramParser::parse() {
  in_.expectWord("edgefx");
  in_.expectWord("text");
  in_.peek();
  const size_t versionAt = in_.position();
  const int64_t version = in_.integer("the version of the format, 1");
  if (version != 1) in_.fail(versionAt, fmt::format("expected version 1 of the format, found {}", version));

  std::vector<NamedProgram> methods;
  std::unordered_set<std::string> names;
  while (!in_.atEnd()) {
    const size_t start = in_.position();
    if (in_.acceptWord("symbols")) {
      parseSymbols();
    } else if (in_.acceptWord("method")) {
      std::string name = in_.key("the name of a method");
      if (!names.insert(name).second)
        in_.fail(start, fmt::format("expected one method '{}', found a second", name));
      methods.push_back({std::move(name), parseProgram(nullptr)});
    } else if (in_.acceptWord("lowered")) {
      const int64_t number = in_.integer("the number of a lowered module");
      if (number != static_cast<int64_t>(lowered_.size())) {
        in_.fail(start, fmt::format("expected lowered module {}, for they are numbered in order, found {}",
                                    lowered_.size(), number));
      }
      lowered_.push_back(std::make_shared<LoweredModule>());
      LoweredModule& lowered = *lowered_.back();
      in_.expectWord("backend");
      lowered.backendId = in_.string("the name of a backend");
      lowered.program = parseProgram(&lowered);
    } else if (in_.acceptWord("metadata")) {
      parseMetadata();
    } else {
      in_.expected("'symbols', 'method', 'lowered', 'metadata' or a section of the program above");
    }
  }
  finishMetadata();
  finishDelegates();
  return methods;
}

template <typename Entry>
void ProgramParser::parseEntries(Entry&& entry) {
  in_.expect('{', "at the start of a section");
  while (!in_.accept('}')) {
    if (in_.atEnd()) in_.expected("'}' at the end of a section");
    entry(in_.position());
  }
}

void ProgramParser::parseSymbols() {
  symbols_.clear();
  values_.clear();
  parseEntries([&](size_t start) {
    const std::string form(in_.raw(":}"));
    if (form.empty()) in_.expected("an expression");
    in_.expect(':', "after an expression");
    in_.peek();
    const size_t position = in_.position();
    Symbolic symbolic{expressionAt(in_.string("sympy's form of the expression"), position, false), {}};
    if (in_.acceptWord("hint")) symbolic.hint = parseHint();
    if (!symbols_.emplace(form, std::make_shared<const Symbolic>(std::move(symbolic))).second)
      in_.fail(start, fmt::format("expected '{}' once", form));
  });
}

ExportedProgram ProgramParser::parseProgram(LoweredModule* lowered) {
  ExportedProgram program;
  holder_ = lowered != nullptr ? lowered_.size() - 1 : kNoHolder;
  undescribed_ = std::nullopt;
  parseGraph(program.graph(), &program.signature);
  while (parseSection(program, lowered)) {
  }
  if (undescribed_)
    in_.fail(*undescribed_,
             "expected a node or a constant, found a returned value that only 'as' can describe");
  return program;
}

bool ProgramParser::parseSection(ExportedProgram& program, LoweredModule* lowered) {
  return parseSectionOfProgram(program) || (lowered != nullptr && parseSectionOfLowered(*lowered));
}

bool ProgramParser::parseSectionOfProgram(ExportedProgram& program) {
  if (in_.acceptWord("submodule")) {
    parseSubmodule(program);
  } else if (in_.acceptWord("delegate")) {
    parseDelegate(program);
  } else if (in_.acceptWord("module_metadata")) {
    parseModuleMetadata(program);
  } else if (in_.acceptWord("signature")) {
    parseSignature(program.signature);
  } else if (in_.acceptWord("ranges")) {
    parseRanges(program);
  } else if (in_.acceptWord("state_dict")) {
    parseTable(program.stateDict());
  } else if (in_.acceptWord("constants")) {
    parseTable(program.constants());
  } else if (in_.acceptWord("settings")) {
    parseSettings(program);
  } else if (in_.acceptWord("module_calls")) {
    parseModuleCalls(program);
  } else if (in_.acceptWord("named_tuples")) {
    parseEntries([&](size_t) {
      std::string key = in_.string("the name of a tuple");
      in_.expect('=', "after a name");
      program.namedTupleFields.emplace_back(std::move(key), parseStrings());
    });
  } else if (in_.acceptWord("argument_names")) {
    parseEntries([&](size_t start) {
      std::string key = in_.string("the name of an operator");
      in_.expect('=', "after a name");
      if (!program.argumentNames.emplace(std::move(key), parseStrings()).second)
        in_.fail(start, "expected each operator once");
    });
  } else if (in_.acceptWord("unknown_members")) {
    parseEntries([&](size_t start) {
      std::string key = in_.string("a path");
      in_.expect('=', "after a path");
      if (!program.unknownMembers.emplace(std::move(key), in_.string("JSON text")).second)
        in_.fail(start, "expected each path once");
    });
  } else if (in_.acceptWord("example_inputs")) {
    program.exampleInputs = parseBytes(true);
  } else {
    return false;
  }
  return true;
}

bool ProgramParser::parseSectionOfLowered(LoweredModule& lowered) {
  if (in_.acceptWord("payload")) {
    lowered.processedBytes = parseBytes();
  } else if (in_.acceptWord("compile_specs")) {
    parseEntries([&](size_t) {
      std::string key = in_.string("the key of a compile spec");
      in_.expect('=', "after a key");
      lowered.compileSpecs.push_back({std::move(key), in_.string("the value of a compile spec")});
    });
  } else if (in_.acceptWord("debug_handles")) {
    parseEntries([&](size_t) {
      std::variant<int64_t, std::string> identifier;
      if (in_.peek() == '"') {
        identifier = in_.string("an identifier");
      } else {
        identifier = in_.integer("an identifier, a number or a string");
      }
      in_.expect('=', "after an identifier");
      lowered.debugHandleMap.emplace_back(std::move(identifier), parseIntegers());
    });
  } else if (in_.acceptWord("named_data")) {
    parseEntries([&](size_t) {
      NamedData data;
      data.key = in_.string("a key");
      in_.expect('=', "after a key");
      if (in_.acceptWord("alignment")) data.alignment = in_.integer("an alignment");
      if (in_.acceptWord("tag")) data.externalTag = in_.string("the name of a file");
      data.bytes = parseBytes();
      lowered.namedData.push_back(std::move(data));
    });
  } else {
    return false;
  }
  return true;
}

// The module that holds what is at a dotted path, and its name there.
std::pair<GraphModule*, std::string> ProgramParser::parsePath(ExportedProgram& program,
                                                              std::string_view what) {
  in_.peek();
  const size_t start = in_.position();
  std::string path = in_.string(what);
  const auto depth = std::ranges::count(path, '.');
  if (depth >= kDeepestPath)
    in_.fail(start, fmt::format("expected at most {} levels of graph modules", kDeepestPath));
  const size_t dot = path.rfind('.');
  const std::string_view owner =
      dot == std::string::npos ? std::string_view() : std::string_view(path).substr(0, dot);
  GraphModule* module = program.graphModule().findChild(owner);
  if (module == nullptr)
    in_.fail(start,
             fmt::format("expected the path of something in a graph module above; there is no '{}'", owner));
  return {module, path.substr(dot == std::string::npos ? 0 : dot + 1)};
}

void ProgramParser::parseSubmodule(ExportedProgram& program) {
  in_.peek();
  const size_t start = in_.position();
  const auto [owner, name] = parsePath(program, "the path of a graph module");
  GraphModule& module = at(start, [&, owner = owner, &name = name]() -> GraphModule& {
    return owner->addChild(name, std::make_unique<GraphModule>());
  });
  parseGraph(module.graph(), nullptr);
}

void ProgramParser::parseDelegate(ExportedProgram& program) {
  in_.peek();
  const size_t start = in_.position();
  auto [owner, name] = parsePath(program, "the path of a delegate");
  in_.expect('=', "after the path of a delegate");
  const int64_t number = in_.integer("the number of a lowered module");
  const bool hasEffect = in_.acceptWord("effect");
  delegateUses_.push_back({owner, std::move(name), static_cast<uint64_t>(number), hasEffect, start, holder_});
}

void ProgramParser::parseModuleMetadata(ExportedProgram& program) {
  in_.peek();
  const size_t start = in_.position();
  const std::string path = in_.string("the path of a graph module");
  GraphModule* module = program.graphModule().findChild(path);
  if (module == nullptr) in_.fail(start, fmt::format("expected a graph module above, found '{}'", path));
  parseEntries([&](size_t) {
    std::string key = in_.key("the key of a text");
    in_.expect('=', "after a key");
    module->metadata.emplace_back(std::move(key), in_.string("a text"));
  });
}

// Takes the place of what stands beside the nodes.
void ProgramParser::parseSignature(GraphSignature& signature) {
  signature = {};
  undescribed_ = std::nullopt;
  parseEntries([&](size_t) {
    if (in_.acceptWord("input")) {
      InputSpec spec;
      if (!inputKindOfWord(in_.peekWord())) in_.expected("the kind of an input, such as 'parameter'");
      if (!parseInputSpec(spec)) in_.expected("'as'");
      signature.inputs.push_back(std::move(spec));
      return;
    }
    in_.expectWord("output");
    OutputSpec spec;
    const auto kind = outputKindOfWord(in_.peekWord());
    if (!kind) in_.expected("the kind of an output, such as 'user_output'");
    in_.word();
    spec.kind = *kind;
    parseDetails(spec);
    in_.expectWord("as");
    spec.arg = parseSpecArg();
    signature.outputs.push_back(std::move(spec));
  });
}

void ProgramParser::parseRanges(ExportedProgram& program) {
  const auto bound = [this]() -> std::optional<int64_t> {
    if (in_.acceptWord("None")) return std::nullopt;
    return in_.integer("a bound, a number or None");
  };
  parseEntries([&](size_t) {
    RangeConstraint range;
    range.symbol = in_.key("a symbol");
    in_.expectWord("in");
    in_.expect('[', "before the bounds");
    range.min = bound();
    in_.expect(',', "between the bounds");
    range.max = bound();
    in_.expect(']', "after the bounds");
    program.rangeConstraints.push_back(std::move(range));
  });
}

std::vector<std::string> ProgramParser::parseStrings() {
  std::vector<std::string> strings;
  in_.expect('[', "before strings");
  while (!in_.accept(']')) {
    strings.push_back(in_.string("a string or ']'"));
    if (in_.peek() != ']') in_.expect(',', "or ']' after a string");
  }
  return strings;
}

std::vector<int64_t> ProgramParser::parseIntegers() {
  std::vector<int64_t> numbers;
  in_.expect('[', "before numbers");
  while (!in_.accept(']')) {
    numbers.push_back(in_.integer("a number or ']'"));
    if (in_.peek() != ']') in_.expect(',', "or ']' after a number");
  }
  return numbers;
}

void ProgramParser::parseSettings(ExportedProgram& program) {
  parseEntries([&](size_t start) {
    const std::string key = in_.key("a setting");
    in_.expect('=', "after a setting");
    if (key == "dialect") {
      if (in_.acceptWord("aten")) {
        program.dialect = Dialect::Aten;
      } else if (in_.acceptWord("edge")) {
        program.dialect = Dialect::Edge;
      } else if (in_.acceptWord("training")) {
        program.dialect = Dialect::Training;
      } else {
        in_.expected("'aten', 'edge' or 'training'");
      }
    } else if (key == "verifiers") {
      program.verifiers = parseStrings();
    } else if (key == "guards") {
      program.guardsCode = parseStrings();
    } else if (key == "torch") {
      program.torchVersion = in_.string("a version");
    } else if (key == "schema") {
      const std::vector<int64_t> numbers = parseIntegers();
      if (numbers.size() != 2) in_.fail(start, "expected schema = [major, minor]");
      program.schemaVersion = {numbers[0], numbers[1]};
    } else if (key == "opset") {
      program.opsetVersion.clear();
      in_.expect('{', "before versions");
      while (!in_.accept('}')) {
        std::string name = in_.string("a namespace or '}'");
        in_.expect(':', "after a namespace");
        program.opsetVersion.emplace_back(std::move(name), in_.integer("a version"));
        if (in_.peek() != '}') in_.expect(',', "or '}' after a version");
      }
    } else {
      in_.fail(start,
               fmt::format("expected dialect, verifiers, guards, torch, schema or opset, found '{}'", key));
    }
  });
}

void ProgramParser::parseModuleCalls(ExportedProgram& program) {
  const auto specArgs = [this] {
    std::vector<SpecArg> args;
    in_.expect('[', "before arguments");
    while (!in_.accept(']')) {
      args.push_back(parseSpecArg());
      if (in_.peek() != ']') in_.expect(',', "or ']' after an argument");
    }
    return args;
  };
  parseEntries([&](size_t) {
    ModuleCallEntry entry;
    entry.fqn = in_.string("the name of a module or '}'");
    if (in_.accept('=')) {
      entry.signature.emplace();
      ModuleCallSignature& signature = *entry.signature;
      parseEntries([&](size_t start) {
        const std::string key = in_.key("'inputs', 'outputs', 'in_spec', 'out_spec' or 'names'");
        in_.expect('=', "after a key");
        if (key == "inputs") {
          signature.inputs = specArgs();
        } else if (key == "outputs") {
          signature.outputs = specArgs();
        } else if (key == "in_spec") {
          signature.inSpec = in_.string("a tree spec");
        } else if (key == "out_spec") {
          signature.outSpec = in_.string("a tree spec");
        } else if (key == "names") {
          signature.forwardArgNames = parseStrings();
        } else {
          in_.fail(start,
                   fmt::format("expected inputs, outputs, in_spec, out_spec or names, found '{}'", key));
        }
      });
    }
    program.moduleCallGraph.push_back(std::move(entry));
  });
}

void ProgramParser::parseMetadata() {
  std::unordered_map<uint64_t, SharedText> texts;
  parseEntries([&](size_t start) {
    if (in_.accept('$')) {
      const auto number = static_cast<uint64_t>(in_.integer("the number of a text"));
      in_.expect('=', "after the number of a text");
      auto text = std::make_shared<const std::string>(in_.string("a text"));
      if (!texts.emplace(number, std::move(text)).second)
        in_.fail(start, fmt::format("expected ${} once", number));
      return;
    }
    in_.expect('!', "or '$' before a number");
    const auto number = static_cast<uint64_t>(in_.integer("the number of a block"));
    in_.expect('=', "after the number of a block");
    in_.expect('{', "before the entries of a block");
    Ref<NodeMeta> block = Ref<NodeMeta>::make();
    std::unordered_set<std::string> keys;
    while (!in_.accept('}')) {
      in_.peek();
      const size_t keyAt = in_.position();
      std::string key = in_.key("a key or '}'");
      if (!keys.insert(key).second) in_.fail(keyAt, fmt::format("expected '{}' once", key));
      in_.expect('=', "after a key");
      SharedText text;
      if (in_.peek() == '$') {
        const size_t textAt = in_.position();
        in_.accept('$');
        const auto known = texts.find(static_cast<uint64_t>(in_.integer("the number of a text")));
        if (known == texts.end()) in_.fail(textAt, "expected the number of a text above");
        text = known->second;
      } else if (in_.peek() == '"') {
        text = std::make_shared<const std::string>(in_.string("a text"));
      } else {
        text = std::make_shared<const std::string>(
            std::to_string(in_.integer("a text, a number or $ and a number")));
      }
      block->append(std::move(key), std::move(text));
      if (in_.peek() != '}') in_.expect(',', "or '}' after an entry");
    }
    if (!metaBlocks_.emplace(number, std::move(block)).second)
      in_.fail(start, fmt::format("expected !{} once", number));
  });
}

void ProgramParser::finishMetadata() {
  // A tag goes into a copy of the block; that many entries no printed text has.
  std::map<std::pair<uint64_t, std::string>, MetaRef> tagged;
  size_t copied = 0;
  for (const MetaUse& use : metaUses_) {
    const auto known = metaBlocks_.find(use.number);
    if (known == metaBlocks_.end())
      in_.fail(use.at, "expected the number of a block of metadata, found another");
    const std::string tag(use.node->meta().delegationTag());
    if (tag.empty()) {
      use.node->setMeta(known->second);
      continue;
    }
    MetaRef& meta = tagged[{use.number, tag}];
    if (!meta) {
      copied += known->second->entries().size();
      if (copied > textSize_) in_.fail(use.at, "too many nodes with tags have this block of metadata");
      Ref<NodeMeta> copy = Ref<NodeMeta>::make(*known->second);
      copy->setDelegationTag(std::make_shared<const std::string>(tag));
      meta = copy;
    }
    use.node->setMeta(meta);
  }
}

}  // namespace edgefx::detail

namespace edgefx {

std::vector<NamedProgram> parsePrograms(std::string_view text, std::string_view fileName,
                                        const ParseTextOptions& options) {
  return detail::ProgramParser(text, fileName, options).parse();
}

ExportedProgram parseProgram(std::string_view text, std::string_view fileName,
                             const ParseTextOptions& options) {
  std::vector<NamedProgram> methods = parsePrograms(text, fileName, options);
  if (methods.size() != 1)
    detail::failAt(text, fileName, 0,
                   fmt::format("expected the text of one method, found {}", methods.size()));
  return std::move(methods.front().program);
}

bool isProgramText(std::string_view text) {
  detail::Cursor cursor(text, {});
  return cursor.acceptWord("edgefx") && cursor.acceptWord("text");
}

}  // namespace edgefx
