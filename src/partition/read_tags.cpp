#include <edgefx/ir/node_queries.h>

#include "partition/tagged_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace edgefx::detail {
namespace {

class TagReader {
 public:
  TagReader(TaggedGraph& graph, const ExportedProgram& program, const PartitionResult& result)
      : graph_(graph), program_(program), result_(result), isTop_(graph.path.empty()) {
    if (isTop_) index_.emplace(program.signature);
  }

  void run() {
    readSpecs();
    for (Node& node : graph_.owner->graph().nodes()) {
      if (node.isGetAttr()) separateBranch(node);
    }
    for (const Node& node : graph_.owner->graph().nodes()) {
      if (graph_.spec(node) != TaggedGraph::kNone) checkNode(node);
    }
    for (Node& node : graph_.owner->graph().nodes()) {
      if (graph_.spec(node) != TaggedGraph::kNone) graph_.members[graph_.spec(node)].push_back(&node);
    }
    if (isTop_) checkMutations();
  }

 private:
  template <typename... Args>
  [[noreturn]] void refuse(const Node& node, fmt::format_string<Args...> format, Args&&... args) const {
    Diagnostic diagnostic = taggedPlace(graph_, result_, graph_.spec(node));
    diagnostic.node = node.name();
    diagnostic.nodeText = node.text();
    diagnostic.message = fmt::format(format, std::forward<Args>(args)...);
    throw LoweringError(std::move(diagnostic));
  }
  std::string_view tag(const Node& node) const {
    return graph_.spec(node) == TaggedGraph::kNone
               ? "no tag"
               : std::string_view(result_.specs()[graph_.spec(node)].first);
  }

  void readSpecs() {
    std::map<std::string_view, uint32_t> specs;
    for (size_t i = 0; i < result_.specs().size(); ++i) {
      specs.emplace(result_.specs()[i].first, static_cast<uint32_t>(i));
    }
    std::vector<uint32_t> specOfTag;
    for (const std::string& text : result_.tags.all()) {
      auto found = specs.find(text);
      specOfTag.push_back(found == specs.end() ? TaggedGraph::kNone : found->second);
    }
    Graph& graph = graph_.owner->graph();
    graph_.members.resize(result_.specs().size());
    graph_.specOf = NodeMap<uint32_t>(graph, TaggedGraph::kNone);
    for (const Node& node : graph.nodes()) {
      if (const std::optional<uint32_t> tag = result_.tags.indexOf(node))
        graph_.specOf[node] = specOfTag[*tag];
    }
  }

  bool namesBranch(const Node& node) const {
    return node.isGetAttr() && std::as_const(*graph_.owner).findChild(node.targetText()) != nullptr;
  }

  // A branch is an operand like no other: it has no value that could cross a border. Users with another tag
  // get a node of their own, and a tag that no user has means nothing.
  void separateBranch(Node& node) {
    if (!namesBranch(node)) return;
    const uint32_t own = graph_.spec(node);
    if (own == TaggedGraph::kNone) return;  // checkInputs names those that a tagged user lacks
    bool isShared = false, isUsedHere = false;
    for (const Node& user : std::as_const(node).users()) {
      (graph_.spec(user) == own ? isUsedHere : isShared) = true;
    }
    if (!isUsedHere) graph_.specOf[node] = TaggedGraph::kNone;
    if (!isUsedHere || !isShared) return;
    std::map<uint32_t, Node*> copies;  // by spec
    for (Node* user : node.usersSnapshot()) {
      const uint32_t spec = graph_.spec(*user);
      if (spec == own) continue;
      Node*& copy = copies[spec];
      if (copy == nullptr) {
        InsertionGuard guard(node.graph(), after(node));
        copy = &node.graph().getAttr(node.targetText(), node.name());
        copy->setMeta(node.metaRef());
        graph_.specOf[*copy] = spec;
      }
      user->replaceInput(node, *copy);
    }
  }

  void checkNode(const Node& node) const {
    switch (node.op()) {
      case NodeOp::Output:
        refuse(node, "the output node must not be tagged, found tag '{}'", tag(node));
      case NodeOp::Placeholder:
        return checkPlaceholder(node);
      case NodeOp::CallModule:
        refuse(node, "expected calls of functions to be tagged, found a call of module '{}' tagged '{}'",
               node.targetText(), tag(node));
      case NodeOp::GetAttr:
        if (graph_.owner->findDelegate(node.targetText()) != nullptr) refuseDelegate(node);
        return;
      case NodeOp::CallFunction:
        if (callsDelegate(node)) refuseDelegate(node);
        checkInputs(node);
        checkUsers(node);
        return;
    }
  }

  [[noreturn]] void refuseDelegate(const Node& node) const {
    refuse(node, "tag '{}' is on a delegate, which is lowered already and cannot be part of another one",
           tag(node));
  }

  void checkPlaceholder(const Node& node) const {
    const InputSpec* spec = isTop_ ? index_->findInput(node.name()) : nullptr;
    const bool isConstant =
        spec != nullptr && (spec->kind == InputKind::Parameter || spec->kind == InputKind::Buffer ||
                            spec->kind == InputKind::ConstantTensor);
    if (isConstant) return;
    refuse(node,
           "expected tags on parameters, buffers and constants among the placeholders, found tag '{}' on {}",
           tag(node), isTop_ ? "an input of the program" : "an operand of a branch");
  }

  void checkInputs(const Node& node) const {
    const uint32_t own = graph_.spec(node);
    for (const Node& input : node.inputs()) {
      if (graph_.spec(input) == own) continue;
      if (namesBranch(input)) {
        refuse(node, "branch '{}' of '{}' is outside of the partition '{}': its get_attr node '%{}' has {}",
               input.targetText(), node.target().name(), tag(node), input.name(),
               graph_.spec(input) == TaggedGraph::kNone ? "no tag" : fmt::format("tag '{}'", tag(input)));
      }
      if (input.value() != nullptr && input.value()->sequence() != nullptr) {
        refuse(node,
               "partition '{}' would be given all results of '%{}' at once: tag that one too, or untag '%{}'",
               tag(node), input.name(), node.name());
      }
    }
  }

  // Several results leave a partition one by one, by their getitems.
  void checkUsers(const Node& node) const {
    if (node.value() == nullptr || node.value()->sequence() == nullptr) return;
    for (const Node& user : node.users()) {
      if (graph_.spec(user) == graph_.spec(node)) continue;
      refuse(node, "'%{}' has several results, and partition '{}' lacks '%{}', which takes {}", node.name(),
             tag(node), user.name(), getitemIndex(user) ? "one of them" : "them all");
    }
  }

  // State is written where it is read. Split, the reader would see the first value for ever.
  void checkMutations() {
    const Node* output = std::as_const(*graph_.owner).graph().back();
    if (output == nullptr || !output->isOutput() || output->args().size() != 1) return;
    const std::span<const Argument> results = output->args()[0].items();
    const size_t count = std::min(results.size(), program_.signature.outputs.size());
    for (size_t i = 0; i < count; ++i) {
      const OutputSpec& spec = program_.signature.outputs[i];
      if (!isMutation(spec.kind) || spec.kind == OutputKind::UserInputMutation || !spec.target) continue;
      const InputKind kind =
          spec.kind == OutputKind::BufferMutation ? InputKind::Buffer : InputKind::Parameter;
      const InputSpec* const state = index_->findTarget(kind, *spec.target);
      const Node* const placeholder =
          state == nullptr ? nullptr : std::as_const(*graph_.owner).graph().find(state->arg.name);
      const Node* const writer = results[i].findNode();
      if (placeholder == nullptr || writer == nullptr || graph_.spec(*placeholder) == TaggedGraph::kNone)
        continue;
      if (writer != placeholder && graph_.spec(*writer) != graph_.spec(*placeholder)) {
        refuse(*placeholder,
               "'{}' is tagged '{}', but '%{}', which writes it, has {}: state moves with its writer",
               *spec.target, tag(*placeholder), writer->name(),
               graph_.spec(*writer) == TaggedGraph::kNone ? "no tag" : fmt::format("tag '{}'", tag(*writer)));
      }
      for (const Node& reader : placeholder->users()) {
        if (graph_.spec(reader) == graph_.spec(*placeholder)) continue;
        refuse(*placeholder,
               "'{}' is written by '%{}' in partition '{}', but '%{}', which reads it, has {}: state that "
               "is written cannot be in two places",
               *spec.target, writer->name(), tag(*placeholder), reader.name(),
               graph_.spec(reader) == TaggedGraph::kNone ? "no tag" : fmt::format("tag '{}'", tag(reader)));
      }
    }
  }

  TaggedGraph& graph_;
  const ExportedProgram& program_;
  const PartitionResult& result_;
  const bool isTop_;
  std::optional<SignatureIndex> index_;  // of the top level graph only
};

}  // namespace

Diagnostic taggedPlace(const TaggedGraph& graph, const PartitionResult& result, uint32_t spec) {
  Diagnostic diagnostic;
  diagnostic.graph = graph.path;
  if (spec != TaggedGraph::kNone) diagnostic.backend = result.specs()[spec].second.backendId;
  return diagnostic;
}

TaggedGraph readTags(GraphModule& owner, const std::string& path, const ExportedProgram& program,
                     const PartitionResult& result) {
  TaggedGraph graph;
  graph.owner = &owner;
  graph.path = path;
  TagReader(graph, program, result).run();
  return graph;
}

}  // namespace edgefx::detail
