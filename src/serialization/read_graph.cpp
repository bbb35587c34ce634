#include "serialization/read_graph.h"

#include <edgefx/ir/operators.h>

#include "serialization/byte_text.h"
#include "serialization/read_graph_scope.h"
#include "support/fail.h"
#include "support/json_writer.h"

#include <algorithm>
#include <array>

namespace edgefx::detail {
namespace {

constexpr int kDeepestGraph = 128;

constexpr std::array<std::string_view, 9> kGraphMembers = {"inputs",
                                                           "outputs",
                                                           "nodes",
                                                           "tensor_values",
                                                           "sym_int_values",
                                                           "sym_bool_values",
                                                           "is_single_tensor_return",
                                                           "custom_obj_values",
                                                           "sym_float_values"};
constexpr std::array<std::string_view, 6> kNodeMembers = {
    "target", "inputs", "outputs", "metadata", "is_hop_single_tensor_return", "name"};
constexpr std::array<std::string_view, 3> kNamedArgumentMembers = {"name", "arg", "kind"};
constexpr std::array<std::string_view, 1> kNameMember = {"name"};
constexpr JsonStruct kGraph{"Graph", kGraphMembers};
constexpr JsonStruct kNode{"Node", kNodeMembers};
constexpr JsonStruct kNamedArgument{"NamedArgument", kNamedArgumentMembers};

constexpr std::string_view kOpsPrefix = "torch.ops.";

// Functions that torch's verifier lets a program call, besides operators. The file's text decides what a
// program calls, so anything else is refused rather than looked up.
bool isAllowedFunction(std::string_view target) {
  static constexpr std::array<std::string_view, 29> kOperatorNames = {
      "eq",      "ne",       "le",  "lt",     "ge",      "gt",     "neg",    "pos",      "mul",    "add",
      "sub",     "floordiv", "mod", "pow",    "truediv", "and_",   "or_",    "not_",     "lshift", "rshift",
      "getitem", "abs",      "xor", "invert", "index",   "matmul", "concat", "contains", "is_"};
  static constexpr std::array<std::string_view, 13> kPrefixes = {"torch.sym_",
                                                                 "torch._sym_",
                                                                 "torch._functorch.predispatch.",
                                                                 "torch._C._functorch.",
                                                                 "torch.autograd.grad_mode.",
                                                                 "torch._C._set_grad_enabled",
                                                                 "torch.amp.autocast_mode.",
                                                                 "torch._export.",
                                                                 "torch.export.custom_ops.",
                                                                 "executorch.exir.dialects.edge._ops.",
                                                                 "executorch.exir.dialects.edge.ops.",
                                                                 "executorch.exir.memory.",
                                                                 "#"};
  if (target.starts_with("_operator.")) {
    std::string_view name = target.substr(10);
    return std::find(kOperatorNames.begin(), kOperatorNames.end(), name) != kOperatorNames.end();
  }
  if (target.starts_with("math.") || target.starts_with("builtins.")) {
    static constexpr std::array<std::string_view, 9> kMath = {"trunc", "ceil", "floor", "sqrt", "round",
                                                              "max",   "min",  "abs",   "pow"};
    std::string_view name = target.substr(target.find('.') + 1);
    return std::find(kMath.begin(), kMath.end(), name) != kMath.end();
  }
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return target.starts_with(prefix); });
}

// "torch.ops.ns.op.overload" or "torch.ops.higher_order.name".
bool isOperatorName(std::string_view target) {
  if (!target.starts_with(kOpsPrefix)) return false;
  auto dots = std::count(target.begin(), target.end(), '.');
  return dots == 4 || (dots == 3 && target.starts_with("torch.ops.higher_order."));
}

}  // namespace

std::string GraphReader::graphPath(const Scope& scope) const {
  return scope.path.empty() ? "graph_module.graph" : "graph_module.graph/" + scope.path;
}

void GraphReader::keepUnknown(const std::string& path, std::string_view key, JsonValue value) {
  appendMember(program_.unknownMembers[path], key, value);
}

void GraphReader::read(JsonValue value, GraphModule& module, const std::vector<std::string>& constantNames,
                       const std::string& path, int depth, CutProgram* cut) {
  JsonPlace outer = json_.place;
  json_.place.graph = path;
  json_.place.node = {};
  json_.place.section = "graph";
  if (depth > kDeepestGraph) json_.fail(fmt::format("graphs nested deeper than {} levels", kDeepestGraph));

  std::array<std::optional<JsonValue>, kGraphMembers.size()> members;
  std::vector<std::pair<std::string_view, JsonValue>> unknown;
  uint32_t seen = json_.members(
      value, kGraph, [&](size_t i, JsonValue member) { members[i] = member; },
      [&](std::string_view key, JsonValue member) { unknown.emplace_back(key, member); });
  json_.require(kGraph, seen, 6);

  // Hints only: a file may claim anything.
  constexpr size_t kMostExpected = size_t{1} << 20;
  auto expected = [&](size_t count) { return std::min(count, kMostExpected); };
  std::optional<JsonValue> tensors =
      cut != nullptr ? cut->tensorValues.next() : std::optional<JsonValue>(*members[3]);
  const size_t firstTensors = json_.object(*tensors, "tensor_values").size();
  Scope scope(module, path, depth, expected(cut ? cut->tensorValues.countLike(firstTensors) : firstTensors));
  for (auto& [key, member] : unknown) keepUnknown(graphPath(scope), key, member);
  readTensors(scope, *tensors);
  while (cut != nullptr && (tensors = cut->tensorValues.next())) readTensors(scope, *tensors);
  auto optional = [&](size_t i) { return members[i] && !members[i]->is_null() ? &*members[i] : nullptr; };
  auto readNumbers = [&](JsonValue* values, std::string_view section,
                         ValueRef (ValueReader::*read)(JsonValue)) {
    if (values == nullptr) return;
    readTable(scope, *values, section,
              [&](JsonValue value, std::string_view) { return (values_.*read)(value); });
  };
  readNumbers(optional(4), "graph.sym_int_values", &ValueReader::symIntValue);
  readNumbers(optional(8), "graph.sym_float_values", &ValueReader::symFloatValue);
  readNumbers(optional(5), "graph.sym_bool_values", &ValueReader::symBoolValue);
  if (JsonValue* objects = optional(7)) {
    readTable(scope, *objects, "graph.custom_obj_values", [&](JsonValue value, std::string_view) {
      return ValueMeta::of(ValueMeta::CustomObject{std::string(json_.customObj(value).className)});
    });
  }

  json_.place.section = "graph.inputs";
  json_.place.index = 0;
  for (JsonValue input : json_.array(*members[0], "inputs")) {
    readPlaceholder(scope, input, static_cast<size_t>(json_.place.index), constantNames);
    ++json_.place.index;
  }
  // Each node of a file gives values of its own, but for the few that give none.
  auto nodes = json_.array(*members[2], "nodes");
  scope.builder.reserve(expected(cut != nullptr ? scope.table.size() : nodes.size()) + 2);
  json_.place.section = "graph.nodes";
  json_.place.index = 0;
  readNodes(scope, nodes);
  while (cut != nullptr) {
    const std::optional<JsonValue> piece = cut->nodes.next();
    if (!piece) break;
    readNodes(scope, json_.array(*piece, "nodes"));
  }
  json_.place.section = "graph.outputs";
  json_.place.index = -1;
  bool isSingle = optional(6) != nullptr && json_.boolean(*members[6], "is_single_tensor_return");
  readOutputs(scope, *members[1], isSingle);
  json_.place = outer;
}

template <typename Read>
void GraphReader::readTable(Scope& scope, JsonValue values, std::string_view section, Read&& read) {
  json_.place.section = section;
  const simdjson::dom::object fields = json_.object(values, section);
  for (auto at = fields.begin(); at != fields.end();) {
    const simdjson::dom::key_value_pair field = *at;
    if (++at != fields.end()) scope.table.expect(at.key());
    json_.place.item = field.key;
    ValueTable::Value* value = scope.table.add(checkedName(field.key, "a value"));
    if (value == nullptr) json_.fail("the value has an entry already");
    value->meta = read(field.value, field.key);
  }
  json_.place.item = {};
}

void GraphReader::readTensors(Scope& scope, JsonValue values) {
  readTable(scope, values, "graph.tensor_values", [&](JsonValue value, std::string_view name) {
    return caches_.value(values_.tensorMeta(value, [&](std::string_view key, JsonValue member) {
      keepUnknown(fmt::format("{}.tensor_values[{}]", graphPath(scope), name), key, member);
    }));
  });
}

void GraphReader::readNodes(Scope& scope, simdjson::dom::array nodes) {
  for (JsonValue node : nodes) {
    json_.place.node = {};
    readNode(scope, node);
    ++json_.place.index;
  }
  json_.place.node = {};
}

std::string_view GraphReader::tensorName(JsonValue value, std::string_view structName) {
  JsonStruct schema{structName, kNameMember};
  std::string_view name;
  uint32_t seen = json_.members(
      value, schema, [&](size_t, JsonValue member) { name = json_.string(member, "name"); }, kIgnore);
  json_.require(schema, seen, 1);
  return checkedName(name, structName);
}

std::string_view GraphReader::checkedName(std::string_view name, std::string_view what) const {
  constexpr size_t kLongest = 4096;
  if (name.empty()) json_.fail(fmt::format("{} has an empty name", what));
  if (name.size() > kLongest) {
    json_.fail(fmt::format("{} has a name of {} bytes, more than {}", what, name.size(), kLongest));
  }
  return name;
}

void GraphReader::define(Scope& scope, std::string_view name, Node& node) {
  ValueTable::Value* value = scope.table.findGiven(name);
  if (value == nullptr)
    json_.fail(fmt::format("value '{}' has no entry in the tables of values", printable(name)));
  if (value->node != nullptr) {
    json_.fail(fmt::format("value '{}' is defined twice: by node '%{}' and by node '%{}'", printable(name),
                           value->node->name(), node.name()));
  }
  value->node = &node;
  node.setValue(value->meta);
  scope.builder.expectName(scope.table.upcoming());
}

void GraphReader::expectKind(const Node& node, std::string_view tag) const {
  const ValueMeta* value = node.value();
  bool isSymbolic = tag.starts_with("as_sym_");
  if (value == nullptr || value->isSymbolicNumber() == isSymbolic) return;
  json_.fail(fmt::format("value '{}' is {}, but named by {}", node.name(), value->text(), tag));
}

void GraphReader::readPlaceholder(Scope& scope, JsonValue input, size_t index,
                                  const std::vector<std::string>& constantNames) {
  auto [tag, held] = json_.tagged(input, "Argument");
  auto append = [&](std::string_view name) -> Node& {
    Node& node = scope.builder.append(NodeOp::Placeholder, name, name);
    scope.builder.finish(node, nullptr, 0, 0);
    node.setName(name);
    return node;
  };
  if (tag == "as_tensor") {
    std::string_view name = tensorName(held);
    define(scope, name, append(name));
  } else if (tag == "as_custom_obj") {
    std::string_view name = checkedName(json_.customObj(held).name, "CustomObjArgument");
    define(scope, name, append(name));
  } else if (tag == "as_sym_int" || tag == "as_sym_float" || tag == "as_sym_bool") {
    auto [kind, name] = json_.tagged(held, tag);
    if (kind != "as_name")
      json_.fail(fmt::format("a symbolic input must have a name, found '{}'", printable(kind)));
    std::string_view text = checkedName(json_.string(name, "as_name"), "a symbolic input");
    define(scope, text, append(text));
  } else {
    ConstantScalar constant;
    if (tag == "as_int") {
      constant = json_.integer(held, tag);
    } else if (tag == "as_float") {
      constant = json_.number(held, tag);
    } else if (tag == "as_bool") {
      constant = json_.boolean(held, tag);
    } else if (tag == "as_string") {
      constant = std::string(json_.string(held, tag));
    } else if (tag != "as_none") {
      json_.fail(fmt::format("argument tag '{}' cannot be an input", printable(tag)));
    }
    std::string name = index < constantNames.size() ? constantNames[index] : std::string();
    if (name.empty()) name = fmt::format("arg{}", index);
    append(name).setValue(ValueMeta::of(ValueMeta::Constant{std::move(constant)}));
  }
}

Target GraphReader::readTarget(JsonValue value) {
  std::string_view text = checkedName(json_.string(value, "target"), "the target");
  json_.place.node = text;  // until the name is known
  if (!isOperatorName(text) && !isAllowedFunction(text)) {
    json_.fail(fmt::format("target '{}' is not an operator, nor a function that a program may call",
                           printable(text)));
  }
  constexpr std::string_view kOldEdge = "executorch.exir.dialects.edge.ops.";
  try {
    if (text.starts_with(kOldEdge)) {
      return caches_.target("executorch.exir.dialects.edge._ops." +
                            std::string(text.substr(kOldEdge.size())));
    }
    return caches_.target(text);
  } catch (const UsageError& error) {
    json_.fail(fmt::format("target '{}': {}", printable(text), error.diagnostics().front().message));
  }
}

// Nodes that follow one another mostly come from the same place. Entries that equal those of the last
// metadata read are taken over from it, and so is the whole if all do.
MetaRef GraphReader::readMetadata(JsonValue value) {
  auto fields = json_.object(value, "metadata");
  const auto end = fields.end();
  auto at = fields.begin();
  if (at == end) return nullptr;
  static const std::vector<NodeMeta::Entry> kNoEntries;
  const std::vector<NodeMeta::Entry>& last = lastMeta_ ? lastMeta_->entries() : kNoEntries;
  auto isLast = [&](size_t i, std::string_view text) { return *last[i].text == text; };
  size_t equal = 0;
  for (; at != end && equal < last.size() && last[equal].key == at.key(); ++at, ++equal) {
    if (!isLast(equal, json_.string(at.value(), last[equal].key))) break;
  }
  if (at == end && equal == last.size()) return lastMeta_;

  NodeMeta meta;
  meta.reserve(fields.size());
  for (size_t i = 0; i < equal; ++i) meta.append(last[i].key, last[i].text);
  bool haveLastKeys = true;  // and so are different from each other
  for (size_t i = equal; at != end; ++at, ++i) {
    const std::string_view key = at.key();
    const std::string_view text = json_.string(at.value(), key);
    if (haveLastKeys && i < last.size() && last[i].key == key) {
      meta.append(last[i].key, isLast(i, text) ? last[i].text : caches_.text(text));
      continue;
    }
    if (haveLastKeys) {
      haveLastKeys = false;
      names_.clear();
      for (const NodeMeta::Entry& entry : meta.entries()) names_.add(entry.key);
    }
    if (!names_.add(key)) json_.fail(fmt::format("metadata entry '{}' occurs twice", printable(key)));
    meta.append(std::string(key), caches_.text(text));
  }
  lastMeta_ = MetaRef::make(std::move(meta));
  return lastMeta_;
}

void GraphReader::readNode(Scope& scope, JsonValue value) {
  std::array<std::optional<JsonValue>, kNodeMembers.size()> members;
  std::vector<std::pair<std::string_view, JsonValue>> unknown;
  uint32_t seen = json_.members(
      value, kNode, [&](size_t i, JsonValue member) { members[i] = member; },
      [&](std::string_view key, JsonValue member) { unknown.emplace_back(key, member); });
  json_.require(kNode, seen, 4);
  Target target = readTarget(*members[0]);
  std::string_view name;
  if (members[5] && !members[5]->is_null()) name = json_.string(*members[5], "name");
  if (!name.empty()) json_.place.node = checkedName(name, "the node");
  scope.meta = readMetadata(*members[3]);
  readInputs(scope, target, json_.array(*members[1], "inputs"));
  std::vector<UnknownInput> inputsUnknown = std::move(unknown_);
  unknown_.clear();
  JsonValue* hopFlag = members[4] && !members[4]->is_null() ? &*members[4] : nullptr;
  readResults(scope, target, json_.array(*members[2], "outputs"), hopFlag, name, scope.meta);
  if (unknown.empty() && inputsUnknown.empty()) return;
  const std::string path = fmt::format("{}.nodes[{}]", graphPath(scope), json_.place.node);
  for (auto& [key, member] : unknown) keepUnknown(path, key, member);
  for (const UnknownInput& input : inputsUnknown) {
    keepUnknown(fmt::format("{}.inputs[{}]", path, input.index), input.key, input.value);
  }
}

void GraphReader::readInputs(Scope& scope, Target target, simdjson::dom::array inputs) {
  // Nested graphs read in the course of an argument use the scratch vectors too.
  std::vector<NamedArgument> named = std::move(named_);
  named.clear();
  std::vector<UnknownInput> unknown;
  size_t index = 0;
  for (JsonValue input : inputs) {
    NamedArgument& argument = named.emplace_back();
    std::optional<JsonValue> value;
    uint32_t seen = json_.members(
        input, kNamedArgument,
        [&](size_t i, JsonValue member) {
          if (i == 0) {
            argument.name = json_.string(member, "name");
          } else if (i == 1) {
            value = member;
          } else if (!member.is_null()) {
            argument.kind = json_.integer(member, "kind");
          }
        },
        [&](std::string_view key, JsonValue member) {
          keepUnknown(fmt::format("{}.nodes[{}].inputs[{}]", graphPath(scope), json_.place.node, index), key,
                      member);
        });
    json_.require(kNamedArgument, seen, 2);
    argument.value = readArgument(scope, *value);
    ++index;
  }
  named_ = std::move(named);
  unknown_ = std::move(unknown);

  positional_.clear();
  keyword_.clear();
  names_.clear();
  auto addKeyword = [&](const NamedArgument& argument) {
    if (!names_.add(argument.name))
      json_.fail(fmt::format("argument '{}' is given twice", printable(argument.name)));
    keyword_.push_back(scope.key(argument.name));
    keyword_.push_back(argument.value);
  };
  const OperatorInfo* schema = target.isOperator() ? findOperator(target) : nullptr;
  if (schema != nullptr) orderBySchema(target, *schema);
  bool takesAll = target.kind() == TargetKind::HigherOrder || target.kind() == TargetKind::Function;
  bool leading = true;  // the run of tensors at the start, for operators that nobody knows
  for (const NamedArgument& argument : named_) {
    bool isPositional;
    if (argument.kind == 1 || argument.kind == 2) {
      isPositional = argument.kind == 1;
    } else if (takesAll) {
      isPositional = argument.name.empty() || target.kind() == TargetKind::Function;
    } else if (schema != nullptr) {
      const OperatorArgument* declared = schema->findArgument(argument.name);
      isPositional = declared != nullptr && !declared->hasDefault && !declared->keywordOnly;
    } else {
      leading = leading && argument.value.isNode();
      isPositional = leading;
    }
    if (isPositional) {
      positional_.push_back(argument.value);
    } else {
      addKeyword(argument);
    }
  }
  if (schema == nullptr && target.kind() != TargetKind::HigherOrder && !positional_.empty()) {
    std::vector<std::string>& names = program_.argumentNames[std::string(target.name())];
    if (names.size() < positional_.size()) {
      names.clear();
      for (const NamedArgument& argument : named_) {
        if (names.size() < positional_.size()) names.emplace_back(argument.name);
      }
    }
  }
}

// The file names every argument, and the operator's schema says in which order they go. A name that the
// operator lacks would be dropped silently by torch, and a missing one fails only when the program runs.
void GraphReader::orderBySchema(Target target, const OperatorInfo& schema) {
  constexpr size_t kAbsent = ~size_t{0};
  std::vector<size_t>& given = given_;
  given.assign(schema.arguments.size(), kAbsent);
  size_t expected = 0;
  bool inOrder = true;
  for (size_t at = 0; at < named_.size(); ++at) {
    const std::string_view name = named_[at].name;
    size_t i = expected;
    if (i >= schema.arguments.size() || !sameName(schema.arguments[i].name, name)) {
      for (i = 0; i < schema.arguments.size() && !sameName(schema.arguments[i].name, name); ++i) {
      }
      if (i == schema.arguments.size()) {
        json_.fail(fmt::format("operator '{}' has no argument '{}'", target.name(), printable(name)));
      }
      if (i < expected) inOrder = false;
    }
    if (given[i] != kAbsent) json_.fail(fmt::format("argument '{}' is given twice", printable(name)));
    given[i] = at;
    expected = i + 1;
  }
  bool hasGap = false;
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    const OperatorArgument& declared = schema.arguments[i];
    if (given[i] == kAbsent) {
      if (!declared.hasDefault)
        json_.fail(fmt::format("operator '{}' needs argument '{}'", target.name(), declared.name));
      hasGap = true;
    } else if (named_[given[i]].kind == 1) {
      if (hasGap || declared.keywordOnly) {
        json_.fail(fmt::format("argument '{}' of operator '{}' cannot be positional here", declared.name,
                               target.name()));
      }
    } else if (named_[given[i]].kind == 2) {
      hasGap = true;
    }
  }
  if (inOrder) return;
  std::vector<NamedArgument> ordered;
  for (size_t at : given) {
    if (at != kAbsent) ordered.push_back(named_[at]);
  }
  named_ = std::move(ordered);
}

void GraphReader::readOutputs(Scope& scope, JsonValue outputs, bool isSingle) {
  auto items = json_.array(outputs, "outputs");
  ArgumentWriter& writer = scope.builder.arguments();
  Argument* results = writer.allocate(countOf(items));
  size_t count = 0;
  for (JsonValue item : items) {
    json_.place.index = static_cast<int64_t>(count);
    Argument result = readArgument(scope, item);
    switch (result.kind()) {
      case ArgumentKind::Node:
        if (result.asNode().isGetAttr()) json_.fail("a graph cannot be an output");
        break;
      case ArgumentKind::None:
      case ArgumentKind::Bool:
      case ArgumentKind::Int:
      case ArgumentKind::Float:
      case ArgumentKind::String:
        break;
      default:
        json_.fail(fmt::format("a {} cannot be an output", edgefx::name(result.kind())));
    }
    results[count++] = result;
  }
  if (isSingle && count != 1) json_.fail(fmt::format("a single result is declared, found {}", count));
  Argument* value = writer.allocate(1);
  *value = isSingle ? results[0] : ArgumentWriter::makeItems(ArgumentKind::Tuple, results, count);
  Node& node = scope.builder.append(NodeOp::Output, "output", "output");
  scope.builder.finish(node, value, 1, 0);
}

}  // namespace edgefx::detail
