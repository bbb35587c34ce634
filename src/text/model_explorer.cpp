#include <edgefx/ir/fx_text.h>
#include <edgefx/ir/node_queries.h>
#include <edgefx/text/diagrams.h>

#include "support/json_writer.h"
#include "support/utf8.h"
#include "text/graph_views.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace edgefx {
namespace {

using detail::GraphView;
using detail::GraphViews;
using detail::JsonWriter;

std::string joined(const std::vector<SymInt>& numbers) {
  std::string text = "[";
  for (const SymInt& number : numbers) {
    if (text.size() > 1) text += ", ";
    text += number.text();
  }
  return text + "]";
}

// Modules from the outside in, without the program's own, as steps of a path.
std::string namespaceOf(const std::vector<ModuleStackEntry>& stack) {
  std::string path;
  std::string_view outer;
  for (const ModuleStackEntry& entry : stack) {
    if (entry.path.empty()) continue;
    std::string_view step = entry.path;
    if (!outer.empty() && step.size() > outer.size() && step.starts_with(outer) && step[outer.size()] == '.')
      step.remove_prefix(outer.size() + 1);
    outer = entry.path;
    std::string name(step);
    std::ranges::replace(name, '/', '.');
    if (!path.empty()) path += '/';
    path += name;
  }
  return path;
}

// Calls visit(node) for the nodes inside an argument, in order.
template <typename Visit>
void forEachNodeIn(const Argument& argument, Visit&& visit) {
  if (const Node* node = argument.findNode()) visit(*node);
  for (const Argument& item : argument.items()) forEachNodeIn(item, visit);
  if (argument.kind() != ArgumentKind::Dict) return;
  for (const auto [key, value] : argument.asDict()) forEachNodeIn(value, visit);
}

class ModelExplorerWriter {
 public:
  explicit ModelExplorerWriter(std::span<const NamedProgramRef> methods) : views_(methods) {}

  std::string write(std::string_view label) {
    json_.beginArray();
    json_.beginObject();
    field("label", label);
    json_.key("graphs");
    json_.beginArray();
    for (const GraphView& view : views_.all()) writeGraph(view);
    json_.endArray();
    json_.endObject();
    json_.endArray();
    return json_.take();
  }

 private:
  void string(std::string_view text) { json_.string(detail::wellFormedUtf8(text)); }
  void field(std::string_view key, std::string_view value) {
    json_.key(key);
    string(value);
  }
  void attribute(std::string_view key, std::string_view value) {
    json_.beginObject();
    field("key", key);
    field("value", value);
    json_.endObject();
  }

  void writeGraph(const GraphView& view) {
    nameNodes(view.module->graph());
    std::optional<SignatureIndex> signature;
    if (view.program != nullptr) signature.emplace(view.program->signature);
    modules_.clear();
    json_.beginObject();
    field("id", view.id);
    json_.key("nodes");
    json_.beginArray();
    for (const Node& node : view.module->graph().nodes()) {
      writeNode(view, node, signature && node.isPlaceholder() ? signature->findInput(node.name()) : nullptr);
    }
    json_.endArray();
    writeGroups(view);
    json_.endObject();
  }

  // Ids must be unique, also in a graph that is broken.
  void nameNodes(const Graph& graph) {
    ids_.clear();
    std::unordered_set<std::string> taken;
    for (const Node& node : graph.nodes()) {
      std::string id(node.name());
      if (!taken.insert(id).second) {
        id += '#' + std::to_string(node.id());
        while (!taken.insert(id).second) id += '#';
      }
      ids_.emplace(&node, std::move(id));
    }
  }

  void writeNode(const GraphView& view, const Node& node, const InputSpec* spec) {
    const std::vector<ModuleStackEntry> stack = node.meta().moduleStack();
    const std::string path = namespaceOf(stack);
    if (!path.empty()) modules_.try_emplace(path, stack.back());
    json_.beginObject();
    field("id", ids_.at(&node));
    field("label", detail::labelOf(node));
    field("namespace", path);
    if (const std::vector<size_t> shown = views_.shownBy(view, node); !shown.empty()) {
      json_.key("subgraphIds");
      json_.beginArray();
      for (const size_t graph : shown) string(views_.all()[graph].id);
      json_.endArray();
    }
    writeAttributes(view, node, spec);
    writeEdges(node);
    writeOutputs(node);
    if (const std::string_view colour = colours_.of(node); !colour.empty()) {
      json_.key("style");
      json_.beginObject();
      field("backgroundColor", colour);
      json_.endObject();
    }
    json_.endObject();
  }

  void writeAttributes(const GraphView& view, const Node& node, const InputSpec* spec) {
    json_.key("attrs");
    json_.beginArray();
    attribute("op", name(node.op()));
    attribute("target", node.targetText());
    if (spec != nullptr) attribute("kind", name(spec->kind));
    if (spec != nullptr && spec->target) attribute("holds", *spec->target);
    if (const LoweredModule* delegate = findLoweredModule(*view.module, node))
      attribute("backend_id", delegate->backendId);
    writePlainArguments(node);
    const NodeMeta& meta = node.meta();
    if (const std::string frame = meta.sourceFrame(); !frame.empty()) attribute("source", frame);
    if (const std::optional<int64_t> handle = meta.debugHandle())
      attribute("debug_handle", std::to_string(*handle));
    if (!meta.delegationTag().empty()) attribute("delegation_tag", meta.delegationTag());
    json_.endArray();
  }

  void writePlainArguments(const Node& node) {
    for (size_t i = 0; i < node.args().size(); ++i) {
      if (!node.args()[i].isNode() && !node.isOutput())
        writeArgument("arg " + std::to_string(i), node.args()[i]);
    }
    for (const auto [key, value] : node.kwargs()) {
      if (!value.isNode()) writeArgument(key, value);
    }
  }

  void writeArgument(std::string_view key, const Argument& argument) {
    std::string text;
    appendFxText(text, argument);
    attribute(key, text);
  }

  void writeEdges(const Node& node) {
    json_.key("incomingEdges");
    json_.beginArray();
    size_t input = 0;
    const auto writeEdge = [&](const Node& source) {
      json_.beginObject();
      field("sourceNodeId", ids_.at(&source));
      field("sourceNodeOutputId", std::to_string(input == 0 ? resultRead(node, source) : 0));
      field("targetNodeInputId", std::to_string(input++));
      json_.endObject();
    };
    for (const Argument& argument : node.args()) forEachNodeIn(argument, writeEdge);
    for (const auto [key, value] : node.kwargs()) forEachNodeIn(value, writeEdge);
    json_.endArray();
  }

  // Which of several results a getitem takes.
  static int64_t resultRead(const Node& node, const Node& source) {
    const ValueMeta::Sequence* results = source.value() == nullptr ? nullptr : source.value()->sequence();
    if (results == nullptr) return 0;
    const int64_t index = getitemIndex(node).value_or(0);
    return index >= 0 && static_cast<size_t>(index) < results->elements.size() ? index : 0;
  }

  void writeOutputs(const Node& node) {
    json_.key("outputsMetadata");
    json_.beginArray();
    const ValueMeta* value = node.value();
    const ValueMeta::Sequence* results = value == nullptr ? nullptr : value->sequence();
    if (results == nullptr && value != nullptr) writeOutput(0, value);
    for (size_t i = 0; results != nullptr && i < results->elements.size(); ++i)
      writeOutput(i, results->elements[i].get());
    json_.endArray();
  }

  void writeOutput(size_t number, const ValueMeta* value) {
    json_.beginObject();
    field("id", std::to_string(number));
    json_.key("attrs");
    json_.beginArray();
    if (const TensorMeta* tensor = value == nullptr ? nullptr : value->tensor()) {
      attribute("shape", joined(tensor->sizes));
      attribute("dtype", fxText(tensor->dtype));
      attribute("strides", joined(tensor->strides));
    } else if (value != nullptr) {
      attribute("value", value->text());
    }
    json_.endArray();
    json_.endObject();
  }

  // What is known of the graph, under the empty namespace, and of each module.
  void writeGroups(const GraphView& view) {
    json_.key("groupNodeAttributes");
    json_.beginObject();
    if (view.delegate != nullptr) {
      json_.key("");
      json_.beginObject();
      field("backend_id", view.delegate->backendId);
      json_.endObject();
    }
    for (const auto& [path, module] : modules_) {
      json_.key(detail::wellFormedUtf8(path));
      json_.beginObject();
      field("path", module.path);
      field("type", module.type);
      json_.endObject();
    }
    json_.endObject();
  }

  GraphViews views_;
  detail::TagColours colours_;
  JsonWriter json_;
  std::unordered_map<const Node*, std::string> ids_;  // of the graph at work
  std::map<std::string, ModuleStackEntry> modules_;   // of the graph at work, by namespace
};

}  // namespace

std::string modelExplorerJson(std::span<const NamedProgramRef> methods, std::string_view label) {
  return ModelExplorerWriter(methods).write(label);
}

std::string modelExplorerJson(const ExportedProgram& program, std::string_view label) {
  const NamedProgramRef method{"forward", &program};
  return modelExplorerJson({&method, 1}, label);
}

}  // namespace edgefx
