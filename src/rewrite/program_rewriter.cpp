#include <edgefx/ir/dead_code.h>
#include <edgefx/ir/node_queries.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/rewrite/program_rewriter.h>

#include "rewrite/owned_copy.h"
#include "support/fail.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <functional>
#include <unordered_set>
#include <utility>

namespace edgefx {
namespace {

using detail::fail;

ValueRef describeStored(const StoredTensor& tensor) {
  TensorMeta meta = *tensor.meta();
  return ValueMeta::of(std::move(meta));
}

// The calling convention's tree of results with one more.
std::string withLeaf(const std::string& spec) {
  const std::string leaf = R"({"type": null, "context": null, "children_spec": []})";
  const std::string tuple = R"([1, {"type": "builtins.tuple", "context": "null", "children_spec": [)";
  const std::string end = "]}]";
  if (spec.starts_with(tuple) && spec.ends_with(end)) {
    const std::string children = spec.substr(tuple.size(), spec.size() - tuple.size() - end.size());
    return tuple + children + (children.empty() ? "" : ", ") + leaf + end;
  }
  // Whatever it is becomes the first item of a tuple.
  const std::string start = "[1, ";
  if (!spec.starts_with(start)) return spec;
  const std::string root = spec.substr(start.size(), spec.size() - start.size() - 1);
  return tuple + root + ", " + leaf + end;
}

void insertResult(Node& output, size_t position, Node& value) {
  const Argument& old = output.arg(0);
  Arg::List results(old.items().begin(), old.items().end());
  results.insert(results.begin() + static_cast<std::ptrdiff_t>(position), Arg(value));
  const bool isList = old.kind() == ArgumentKind::List;
  output.setArg(0, isList ? Arg::list(std::move(results)) : Arg::tuple(std::move(results)));
}

}  // namespace

MetaRef mergeMeta(const Node& first, std::initializer_list<const Node*> others) {
  NodeMeta merged = first.meta();
  bool isChanged = false;
  for (const Node* other : others) {
    for (const NodeMeta::Entry& entry : other->meta().entries()) {
      if (merged.find(entry.key) != nullptr) continue;
      merged.append(entry.key, entry.text);
      isChanged = true;
    }
  }
  return isChanged ? MetaRef(Ref<NodeMeta>::make(std::move(merged))) : first.metaRef();
}

ProgramRewriter::ProgramRewriter(ExportedProgram& program, const ShapeRules* rules)
    : program_(program), rules_(rules), module_(&program.graphModule()) {}

Node& ProgramRewriter::addParameter(std::string_view name, at::Tensor tensor) {
  return addInput(InputKind::Parameter, true, name, std::move(tensor), true);
}

Node& ProgramRewriter::addBuffer(std::string_view name, at::Tensor tensor, bool persistent) {
  return addInput(InputKind::Buffer, persistent, name, std::move(tensor), false);
}

Node& ProgramRewriter::addConstant(std::string_view name, at::Tensor tensor) {
  if (module_ != &program_.graphModule()) return addConstantFor(*module_, name, std::move(tensor));
  return addInput(InputKind::ConstantTensor, false, name, std::move(tensor), false);
}

std::string ProgramRewriter::freeName(std::string_view name) const {
  const auto isTaken = [&](const std::string& candidate) {
    return program_.stateDict().contains(candidate) || program_.constants().contains(candidate) ||
           std::ranges::any_of(program_.signature.inputs, [&](const InputSpec& spec) {
             return spec.target == candidate || spec.arg.name == candidate;
           });
  };
  std::string candidate = program_.graph().uniqueName(name);
  const std::string base = candidate;
  for (size_t i = 1; isTaken(candidate); ++i) {
    candidate = program_.graph().uniqueName(base + '_' + std::to_string(i));
  }
  return candidate;
}

Node& ProgramRewriter::addInput(InputKind kind, bool persistent, std::string_view name, at::Tensor tensor,
                                bool isParameter) {
  if (name.empty()) fail<UsageError>("a new input needs a name");
  if (!tensor.defined()) fail<UsageError>("'{}' is an undefined tensor", name);
  StoredTensor stored(std::move(tensor), isParameter);
  std::vector<InputSpec>& specs = program_.signature.inputs;
  const std::vector<Node*> placeholders = program_.graph().placeholders();
  if (placeholders.size() != specs.size()) {
    fail<UsageError>("cannot add input '{}' to a program with {} placeholders and {} input specs", name,
                     placeholders.size(), specs.size());
  }
  const detail::InputPlace place = detail::placeOfStoredInputs(program_);

  InputSpec spec;
  spec.kind = kind;
  spec.target = freeName(name);
  spec.arg.name = *spec.target;
  if (kind == InputKind::Buffer) spec.persistent = persistent;
  TensorTable& table = tableOf(spec);

  const InsertionGuard guard(program_.graph(), place.point);
  Node& node = program_.graph().placeholder(*spec.target, *spec.target);
  node.setValue(describeStored(stored));
  table.set(*spec.target, std::move(stored));
  specs.insert(specs.begin() + static_cast<std::ptrdiff_t>(place.position), std::move(spec));
  return node;
}

TensorTable& ProgramRewriter::tableOf(const InputSpec& spec) const {
  const bool isState =
      spec.kind == InputKind::Parameter || (spec.kind == InputKind::Buffer && spec.persistent.value_or(true));
  return isState ? program_.stateDict() : program_.constants();
}

InputSpec& ProgramRewriter::storedSpec(const Node& placeholder, std::string_view action) const {
  InputSpec* spec = nullptr;
  if (placeholder.isPlaceholder() && &placeholder.graph() == &program_.graph()) {
    spec = program_.signature.findInput(placeholder.name());
  }
  if (spec == nullptr || !isStoredTensor(spec->kind) || !spec->target) {
    fail<UsageError>("cannot {} '%{}': it is no parameter, buffer or constant of the program", action,
                     placeholder.name());
  }
  return *spec;
}

bool ProgramRewriter::isWritten(const InputSpec& spec) const {
  return std::ranges::any_of(program_.signature.outputs, [&](const OutputSpec& output) {
    return (writesState(output.kind) || output.kind == OutputKind::GradientToParameter) &&
           output.target == spec.target;
  });
}

const at::Tensor& ProgramRewriter::tensor(const Node& placeholder) const {
  const InputSpec& spec = storedSpec(placeholder, "read the tensor of");
  const StoredTensor* stored = tableOf(spec).find(*spec.target);
  if (stored == nullptr)
    fail<UsageError>("there is no tensor '{}' for '%{}'", *spec.target, placeholder.name());
  return stored->tensor();
}

void ProgramRewriter::setTensor(Node& placeholder, at::Tensor tensor) {
  const InputSpec& spec = storedSpec(placeholder, "set the tensor of");
  if (!tensor.defined()) fail<UsageError>("the new tensor of '%{}' is undefined", placeholder.name());
  StoredTensor stored(std::move(tensor), spec.kind == InputKind::Parameter);
  ValueRef value = describeStored(stored);
  if (isWritten(spec) && !describeSame(value.get(), placeholder.value())) {
    fail<UsageError>(
        "'{}' is written by the program: expected {}, got {}", *spec.target,
        placeholder.value() == nullptr ? std::string("the shape it has") : placeholder.value()->text(),
        value->text());
  }
  const std::string target = *spec.target;
  tableOf(spec).set(target, std::move(stored));
  for (const InputSpec& other : program_.signature.inputs) {
    if (other.target != target || !isStoredTensor(other.kind) || &tableOf(other) != &tableOf(spec)) continue;
    if (Node* node = program_.graph().find(other.arg.name)) node->setValue(value);
  }
}

void ProgramRewriter::eraseInput(Node& placeholder) {
  const InputSpec& spec = storedSpec(placeholder, "erase");
  if (isWritten(spec)) {
    fail<UsageError>("cannot erase '%{}': the program writes '{}'", placeholder.name(), *spec.target);
  }
  const std::string target = *spec.target;
  TensorTable& table = tableOf(spec);
  const auto position = &spec - program_.signature.inputs.data();
  program_.graph().erase(placeholder);  // refuses, naming them, if there are users
  program_.signature.inputs.erase(program_.signature.inputs.begin() + position);
  const bool isShared = std::ranges::any_of(program_.signature.inputs, [&](const InputSpec& other) {
    return other.target == target && isStoredTensor(other.kind) && &tableOf(other) == &table;
  });
  if (!isShared) table.erase(target);
}

void ProgramRewriter::addOutput(Node& value) {
  if (&value.graph() != &program_.graph()) {
    fail<UsageError>("'%{}' is of another graph than the program's results", value.name());
  }
  insertResult(program_.graph().outputNode(), program_.signature.outputs.size(), value);
  OutputSpec spec;
  spec.arg = specArgOf(value);
  program_.signature.outputs.push_back(std::move(spec));
  if (!program_.moduleCallGraph.empty() && program_.moduleCallGraph.front().signature) {
    std::string& tree = program_.moduleCallGraph.front().signature->outSpec;
    tree = withLeaf(tree);
  }
}

void ProgramRewriter::addMutation(Node& placeholder, Node& value) {
  const InputSpec& spec = storedSpec(placeholder, "write");
  if (spec.kind == InputKind::ConstantTensor) {
    fail<UsageError>("'%{}' is a constant, which no program writes", placeholder.name());
  }
  if (isWritten(spec)) fail<UsageError>("'{}' is written by the program already", *spec.target);
  if (&value.graph() != &program_.graph()) {
    fail<UsageError>("'%{}' is of another graph than the program's results", value.name());
  }
  std::vector<OutputSpec>& outputs = program_.signature.outputs;
  const auto first = std::ranges::find_if(outputs, [](const OutputSpec& output) {
    return !isMutation(output.kind) && output.kind != OutputKind::Token;
  });
  insertResult(program_.graph().outputNode(), static_cast<size_t>(first - outputs.begin()), value);
  OutputSpec made;
  made.kind = spec.kind == InputKind::Parameter ? OutputKind::ParameterMutation : OutputKind::BufferMutation;
  made.arg = specArgOf(value);
  made.target = spec.target;
  outputs.insert(first, std::move(made));
}

Node& ProgramRewriter::call(Target target, const Args& args, const Kwargs& kwargs, std::string_view name) {
  const InsertionPoint old = graph().insertionPoint();
  const InsertionGuard guard(graph(), root_ == nullptr ? old : before(*root_));
  Node& made = graph().call(target, args, kwargs, name);
  if (root_ != nullptr) {
    Node* last = nullptr;  // the last input, if it does not stand before the root
    for (Node& input : made.inputs()) {
      if (&input != root_ && input.isBefore(*root_)) continue;
      if (last == nullptr || last->isBefore(input)) last = &input;
    }
    if (last != nullptr) made.moveAfter(*last);
  }
  try {
    made.setValue(inferValue(made, rules_));
  } catch (...) {
    graph().erase(made);
    throw;
  }
  fresh_.push_back(&made);
  if (root_ != nullptr) made_.push_back(&made);
  return made;
}

void ProgramRewriter::setArg(Node& call, size_t i, const Arg& value) {
  const Arg before = detail::ownedCopy(call.arg(i));
  call.setArg(i, value);
  if (!call.isCall()) return;
  try {
    if (ValueRef inferred = inferValue(call, rules_)) call.setValue(std::move(inferred));
  } catch (...) {
    call.setArg(i, before);
    throw;
  }
}

size_t ProgramRewriter::retarget(Target from, Target to) {
  const Target targets[][2] = {{from, to}, {from.toEdge(), to.toEdge()}};
  size_t count = 0;
  for (const NestedModule& nested : namedModules(program_.graphModule())) {
    for (Node& node : nested.module->graph().nodes()) {
      for (const auto& [old, made] : targets) {
        if (!node.isCall(old)) continue;
        node.setTarget(made);
        ++count;
        break;
      }
    }
  }
  return count;
}

RuleResult ProgramRewriter::replace(Node& old, Node& replacement, std::initializer_list<const Node*> others) {
  if (&old == &replacement) fail<UsageError>("'%{}' cannot take its own place", old.name());
  if (&old.graph() != &replacement.graph() || old.isErased() || replacement.isErased()) {
    fail<UsageError>("'%{}' cannot take the place of '%{}': they are not live nodes of one graph",
                     replacement.name(), old.name());
  }
  const MetaRef meta = mergeMeta(old, others);
  std::unordered_set<const Node*> fresh{&replacement};
  for (Node* node : fresh_) {
    if (node->isErased()) continue;
    fresh.insert(node);
    if (node->meta().empty()) node->setMeta(meta);
  }
  if (replacement.meta().empty()) replacement.setMeta(meta);
  if (replacement.value() == nullptr) replacement.setValue(old.valueRef());
  bool isResult = false;
  old.replaceAllUsesWith(replacement, [&](const Node& user) {
    isResult = isResult || user.isOutput();
    return !fresh.contains(&user);
  });
  const bool isOfProgram = &old.graph() == &program_.graph();
  if (isResult && isOfProgram) program_.signature.renameOutput(old.name(), replacement.name());
  fresh_.clear();
  return RuleResult::changed();
}

size_t ProgramRewriter::eraseDeadNodes() {
  fresh_.clear();
  return eliminateDeadCode(program_.graphModule());
}

size_t ProgramRewriter::eraseDeadInputs(std::initializer_list<InputKind> kinds) {
  return eraseDeadInputs(kinds, {});
}

size_t ProgramRewriter::eraseDeadInputs(std::initializer_list<InputKind> kinds,
                                        const std::function<bool(const Node& placeholder)>& mayErase) {
  std::unordered_set<std::string> dead;
  std::vector<Node*> nodes;
  const std::vector<Node*> placeholders = program_.graph().placeholders();
  const SignatureIndex index(program_.signature);
  std::unordered_set<std::string_view> written;
  for (const OutputSpec& output : program_.signature.outputs) {
    if (output.target && output.kind != OutputKind::UserInputMutation) written.insert(*output.target);
  }
  for (Node* node : placeholders) {
    const InputSpec* spec = index.findInput(node->name());
    if (spec == nullptr || !spec->target || !isStoredTensor(spec->kind) || node->numUsers() != 0) continue;
    if (std::ranges::find(kinds, spec->kind) == kinds.end() || written.contains(*spec->target)) continue;
    if (mayErase && !mayErase(*node)) continue;
    dead.insert(spec->arg.name);
    nodes.push_back(node);
  }
  std::vector<std::pair<TensorTable*, std::string>> entries;
  std::erase_if(program_.signature.inputs, [&](const InputSpec& spec) {
    if (!dead.contains(spec.arg.name)) return false;
    entries.emplace_back(&tableOf(spec), *spec.target);
    return true;
  });
  for (Node* node : nodes) program_.graph().erase(*node);
  std::unordered_set<std::string_view> kept[2];
  for (const InputSpec& spec : program_.signature.inputs) {
    if (spec.target && isStoredTensor(spec.kind))
      kept[&tableOf(spec) == &program_.constants()].insert(*spec.target);
  }
  for (auto& [table, target] : entries) {
    if (!kept[table == &program_.constants()].contains(target)) table->erase(target);
  }
  return nodes.size();
}

}  // namespace edgefx
