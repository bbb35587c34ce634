#include "support/fail.h"
#include "text/program_parser.h"
#include "text/text_words.h"

#include <algorithm>
#include <utility>

namespace edgefx::detail {

std::string ProgramParser::parseNodeName(std::string_view what) {
  const size_t start = in_.position();
  if (in_.peek() != '%') in_.expected(what);
  in_.accept('%');
  std::string name;
  if (in_.next() == '"') {
    name = in_.string("the name of a node");
  } else {
    const size_t at = in_.position();
    const std::string_view word = in_.peekWord();
    if (word.empty() || in_.position() != at) {
      in_.fail(at, "expected the name of a node directly after '%'; other names than words stand in quotes");
    }
    name = in_.word();
  }
  if (name.empty()) in_.fail(start, "expected the name of a node, found an empty one");
  return name;
}

void ProgramParser::checkNew(const Scope& scope, const std::string& name, size_t at) const {
  if (scope.graph.find(name) != nullptr)
    in_.fail(at, fmt::format("expected a new name, found '%{}', which another node of this graph has", name));
}

void ProgramParser::parseGraph(Graph& graph, GraphSignature* signature) {
  Scope scope{graph, GraphBuilder(graph), signature};
  in_.expect('(', "before the placeholders of a graph");
  while (!in_.accept(')')) {
    in_.peek();
    const size_t at = in_.position();
    const std::string name = parseNodeName("a placeholder such as '%x' or ')'");
    checkNew(scope, name, at);
    parsePlaceholder(scope, name, at);
    const bool isKindWanted = signature != nullptr && !in_.peekWord().empty();
    if (isKindWanted) in_.expected("the kind of an input, such as 'parameter', ',' or ')'");
    if (in_.peek() != ')') in_.expect(',', "or ')' after a placeholder");
  }
  in_.expect(':', "before the nodes of a graph");
  while (true) {
    if (in_.peek() == '%') {
      parseStatement(scope);
    } else if (in_.peekWord() == "return") {
      parseReturn(scope);
    } else {
      return;
    }
  }
}

// What follows the name, or the word "placeholder".
void ProgramParser::parsePlaceholder(Scope& scope, const std::string& name, size_t position) {
  ValueRef value;
  if (in_.accept(':')) value = parseValueOnce();
  InputSpec spec;
  const bool isTold = scope.signature != nullptr && parseInputSpec(spec);
  const Rest rest = parseRest(scope);
  at(position, [&] {
    Node& node = scope.builder.append(NodeOp::Placeholder, rest.target ? *rest.target : name, name);
    finishNode(scope, node, name, {}, std::move(value), rest);
    if (scope.signature == nullptr) return;
    if (!isTold) spec.arg = plainSpecArg(node);
    scope.signature->inputs.push_back(std::move(spec));
  });
}

void ProgramParser::parseStatement(Scope& scope) {
  const size_t start = in_.position();
  const std::string name = parseNodeName("a node such as '%x'");
  checkNew(scope, name, start);
  in_.expect('=', "after the name of a node");
  const char first = in_.peek();
  const size_t targetAt = in_.position();
  const std::string_view word = in_.peekWord();
  const auto isKeyword = [&](std::string_view keyword) {
    if (word != keyword || in_.dottedWord() == keyword) return word == keyword;
    in_.moveTo(targetAt);
    return false;
  };

  if (first != '"' && isKeyword("placeholder")) return parsePlaceholder(scope, name, start);
  std::optional<std::string> path;
  NodeOp op = NodeOp::CallFunction;
  if (first != '"' && isKeyword("get_attr")) {
    op = NodeOp::GetAttr;
    path = in_.string("the path of an attribute");
  } else if (first != '"' && isKeyword("call_module")) {
    op = NodeOp::CallModule;
    path = in_.string("the path of a module");
  }
  std::optional<Target> target;
  if (!path) target = parseTarget();
  Arguments arguments;
  if (op != NodeOp::GetAttr) arguments = parseArguments(scope);
  ValueRef value;
  if (in_.accept(':')) value = parseValueOnce();
  const Rest rest = parseRest(scope);
  at(start, [&] {
    Node& node = path ? scope.builder.append(op, *path, name) : scope.builder.append(*target, name);
    finishNode(scope, node, name, arguments, std::move(value), rest);
  });
}

void ProgramParser::parseReturn(Scope& scope) {
  const size_t start = in_.position();
  in_.expectWord("return");
  Arguments arguments;
  const Argument returned = parseReturned(scope);
  ValueRef value;
  if (in_.accept(':')) value = parseValueOnce();
  const Rest rest = parseRest(scope);
  if (!rest.arguments) {
    arguments.first = scope.builder.arguments().allocate(1);
    *arguments.first = returned;
    arguments.numArgs = 1;
  }
  const std::string name = rest.name ? *rest.name : "output";
  if (name.empty()) in_.fail(start, "expected the name of a node, found an empty one");
  checkNew(scope, name, start);
  at(start, [&] {
    Node& node = scope.builder.append(NodeOp::Output, "output", name);
    finishNode(scope, node, name, arguments, std::move(value), rest);
  });
}

// In the graph of a program, the items of a tuple or list have their specs beside them.
Argument ProgramParser::parseReturned(Scope& scope) {
  const char open = in_.peek();
  if (scope.signature == nullptr || (open != '(' && open != '[')) return parseArgument(scope);
  const bool isTuple = open == '(';
  const char close = isTuple ? ')' : ']';
  in_.accept(open);
  enter(scope);
  ++scope.depth;
  const size_t base = stack_.size();
  while (!in_.accept(close)) {
    in_.peek();
    const size_t at = in_.position();
    stack_.push_back(parseArgument(scope));
    scope.signature->outputs.push_back(parseItemSpec(stack_.back(), at));
    if (in_.peek() != close) in_.expect(',', fmt::format("or '{}' after a returned value", close));
  }
  --scope.depth;
  const size_t count = stack_.size() - base;
  return itemsFrom(scope, isTuple ? ArgumentKind::Tuple : ArgumentKind::List, base, count, ListHint::Any);
}

ProgramParser::Rest ProgramParser::parseRest(Scope& scope) {
  Rest rest;
  if (in_.peek() == '!') {
    rest.at = in_.position();
    in_.accept('!');
    rest.block = static_cast<uint64_t>(in_.integer("the number of a block of metadata"));
  }
  if (in_.accept('{')) parseBraces(scope, rest);
  return rest;
}

void ProgramParser::parseBraces(Scope& scope, Rest& rest) {
  Ref<NodeMeta> meta = Ref<NodeMeta>::make();
  std::unordered_set<std::string> keys;
  while (!in_.accept('}')) {
    const bool isQuoted = in_.peek() == '"';
    const size_t start = in_.position();
    std::string key = in_.key("what a node has more, or '}'");
    in_.expect('=', "after a key");
    if (!isQuoted && key == "args") {
      if (rest.arguments) in_.fail(start, "expected 'args' once");
      rest.arguments = parseArguments(scope);
    } else if (!isQuoted && key == "target") {
      rest.target = in_.string("a target");
    } else if (!isQuoted && key == "name") {
      rest.name = in_.string("a name");
    } else if (!isQuoted && key == "tag") {
      const std::string tag = in_.string("a tag");
      if (tag.empty()) in_.fail(start, "expected a tag, found an empty one");
      meta->setDelegationTag(std::make_shared<const std::string>(tag));
    } else {
      if (rest.block) in_.fail(start, "expected metadata after '!' or in braces, found both");
      if (!keys.insert(key).second) in_.fail(start, fmt::format("expected '{}' once", key));
      std::string text =
          in_.peek() == '"' ? in_.string("a text") : std::to_string(in_.integer("a text or a number"));
      meta->append(std::move(key), std::make_shared<const std::string>(std::move(text)));
    }
    if (in_.peek() != '}') in_.expect(',', "or '}' after a value");
  }
  if (!meta->empty()) rest.meta = meta;
}

void ProgramParser::finishNode(Scope& scope, Node& node, std::string_view name, const Arguments& arguments,
                               ValueRef value, const Rest& rest) {
  if (node.name() != name) node.setName(name);
  const Arguments& given = rest.arguments ? *rest.arguments : arguments;
  scope.builder.finish(node, given.first, given.numArgs, given.numKwargs);
  node.setValue(std::move(value));
  if (rest.meta) node.setMeta(rest.meta);
  if (rest.block) metaUses_.push_back({&node, *rest.block, rest.at});
}

bool ProgramParser::parseInputSpec(InputSpec& spec) {
  const std::string_view word = in_.peekWord();
  if (!word.empty()) {
    if (auto kind = inputKindOfWord(word)) {
      in_.word();
      spec.kind = *kind;
    }
  }
  parseDetails(spec);
  if (!in_.acceptWord("as")) return false;
  spec.arg = parseSpecArg();
  return true;
}

void ProgramParser::parseDetails(InputSpec& spec) {
  if (in_.peek() == '"') spec.target = in_.string("a target");
  if (spec.kind == InputKind::Buffer) spec.persistent = true;
  if (in_.acceptWord("persistent")) spec.persistent = true;
  if (in_.acceptWord("non_persistent")) spec.persistent = false;
  if (in_.acceptWord("no_persistence")) spec.persistent = std::nullopt;
}

void ProgramParser::parseDetails(OutputSpec& spec) {
  if (in_.peek() == '"') spec.target = in_.string("a target");
}

OutputSpec ProgramParser::parseItemSpec(const Argument& item, size_t position) {
  OutputSpec spec;
  const std::string_view word = in_.peekWord();
  if (!word.empty()) {
    if (auto kind = outputKindOfWord(word)) {
      in_.word();
      spec.kind = *kind;
    } else if (word != "as") {
      in_.expected("the kind of an output, such as 'buffer_mutation', or ','");
    }
    parseDetails(spec);
  }
  if (in_.acceptWord("as")) {
    spec.arg = parseSpecArg();
    return spec;
  }
  std::optional<SpecArg> usual = plainSpecArg(item);
  if (usual) {
    spec.arg = std::move(*usual);
  } else if (!undescribed_) {
    undescribed_ = position;  // an error unless a signature section follows
  }
  return spec;
}

SpecArg ProgramParser::parseSpecArg() {
  SpecArg arg;
  const auto kind = specArgKindOfWord(in_.peekWord());
  if (!kind) in_.expected("'tensor', 'sym_int', 'sym_float', 'sym_bool', 'token', 'object' or 'constant'");
  in_.word();
  arg.kind = *kind;
  arg.name = in_.string("a name");
  if (in_.acceptWord("class")) arg.className = in_.string("the name of a class");
  if (in_.accept('=')) arg.value = parseScalar();
  return arg;
}

// Hangs lowered modules, which stand after the programs, into the graph modules that named them.
void ProgramParser::finishDelegates() {
  constexpr size_t kDeepestLowered = 32;
  std::vector<size_t> depths(lowered_.size(), 1);
  for (size_t i = delegateUses_.size(); i-- > 0;) {
    const DelegateUse& use = delegateUses_[i];
    if (use.number >= lowered_.size())
      in_.fail(use.at, fmt::format("expected the number of a lowered module, found {}, of {}", use.number,
                                   lowered_.size()));
    if (use.holder == kNoHolder) continue;
    if (use.number <= use.holder) {
      in_.fail(use.at, fmt::format("expected a lowered module after number {}, which holds it, found {}",
                                   use.holder, use.number));
    }
    // Uses come in the order of their holders: what is held is finished.
    depths[use.holder] = std::max(depths[use.holder], depths[use.number] + 1);
    if (depths[use.holder] > kDeepestLowered)
      in_.fail(use.at, fmt::format("delegates nested deeper than {} levels", kDeepestLowered));
  }
  for (DelegateUse& use : delegateUses_) {
    at(use.at, [&] { use.owner->addDelegate({use.name, lowered_[use.number], use.hasEffect}); });
  }
}

}  // namespace edgefx::detail
