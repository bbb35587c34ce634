#include <edgefx/ir/graph_module.h>
#include <edgefx/ir/node_queries.h>

#include "serialization/edge_record.h"
#include "serialization/result_names.h"
#include "support/fail.h"
#include "support/json_writer.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace edgefx::detail {
namespace {

bool hasDelegates(const ExportedProgram& program) {
  for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
    if (!nested.module->delegates().empty()) return true;
  }
  return false;
}

bool isWritten(const Node& node) {
  return node.isCall() && !ResultNames::isGetitem(node);
}

bool namesDelegate(const GraphModule& owner, const Node& node) {
  return node.isGetAttr() && owner.findDelegate(node.targetText()) != nullptr;
}

void failUse(const ConstNestedModule& nested, const Node& getAttr, const Node& user) {
  Diagnostic diagnostic(fmt::format(
      "expected delegate '{}' only as the first argument of executorch_call_delegate", getAttr.targetText()));
  diagnostic.graph = nested.path;
  diagnostic.node = user.name();
  diagnostic.nodeText = user.text();
  throw UnsupportedError(std::move(diagnostic));
}

void writeEntries(JsonWriter& json, const NodeMeta& meta) {
  json.beginObject();
  for (const NodeMeta::Entry& entry : meta.entries()) {
    json.key(entry.key);
    json.string(*entry.text);
  }
  json.endObject();
}

bool equalEntries(const NodeMeta& a, const NodeMeta& b) {
  return &a == &b || std::equal(a.entries().begin(), a.entries().end(), b.entries().begin(),
                                b.entries().end(), [](const NodeMeta::Entry& x, const NodeMeta::Entry& y) {
                                  return x.key == y.key && *x.text == *y.text;
                                });
}

// Whether readers of a model's JSON give the node other metadata than it has: those of placeholders and
// outputs are not written, and getitem and get_attr nodes get what the call has.
bool losesMetadata(const GraphModule& owner, const Node& node) {
  if (node.isPlaceholder() || node.isOutput()) return !node.meta().entries().empty();
  if (ResultNames::isGetitem(node)) {
    const Node* producer = &node;
    while (producer != nullptr && ResultNames::isGetitem(*producer)) {
      const Argument* first = producer->findArg(0);
      producer = first == nullptr ? nullptr : first->findNode();
    }
    return producer != nullptr && !equalEntries(node.meta(), producer->meta());
  }
  if (!node.isGetAttr() || node.numUsers() != 1 || namesDelegate(owner, node)) return false;
  return !equalEntries(node.meta(), node.users().front().meta());
}

// Calls `visit(nested, node)` for the nodes whose metadata files lose, until it returns false.
template <typename Visit>
void forLostMetadata(const ExportedProgram& program, Visit&& visit) {
  for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
    for (const Node& node : nested.module->graph().nodes()) {
      if (losesMetadata(*nested.module, node) && !visit(nested, node)) return;
    }
  }
}

// The getitem nodes of the results of a node, and those of these, as readers make them.
void appendGetitems(const Node& producer, std::vector<const Node*>& into) {
  std::vector<std::pair<int64_t, const Node*>> readers;
  for (const Node& user : producer.users()) {
    const std::optional<int64_t> index = getitemIndex(user);
    if (index && user.arg(0).findNode() == &producer) readers.emplace_back(*index, &user);
  }
  std::stable_sort(readers.begin(), readers.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const bool isResult = !ResultNames::isGetitem(producer);
  for (const auto& [index, reader] : readers) {
    into.push_back(reader);
    // Files have results in results and no deeper.
    if (isResult) appendGetitems(*reader, into);
  }
}

// Whether the nodes are in the order in which readers make them.
bool isInOrder(const GraphModule& owner) {
  const Graph& graph = owner.graph();
  std::vector<const Node*> order;
  order.reserve(graph.size());
  NodeMap<char> isMade(graph, 0);
  auto make = [&](const Node& node) {
    if (isMade[node] == 0) order.push_back(&node);
    isMade[node] = 1;
  };
  for (const Node& node : graph.nodes()) {
    if (node.isPlaceholder()) {
      make(node);
    } else if (isWritten(node)) {
      for (bool ofDelegates : {false, true}) {
        for (const Node& input : node.inputs()) {
          if (input.isGetAttr() && namesDelegate(owner, input) == ofDelegates) make(input);
        }
      }
      make(node);
      if (node.numUsers() != 0) appendGetitems(node, order);
    } else if (node.isOutput()) {
      for (const Node& other : graph.nodes()) {
        if (other.numUsers() == 0 && namesDelegate(owner, other)) make(other);
      }
      make(node);
    }
  }
  if (order.size() != graph.size()) return false;
  size_t i = 0;
  for (const Node& node : graph.nodes()) {
    if (order[i++] != &node) return false;
  }
  return true;
}

void writeOrders(JsonWriter& json, const ExportedProgram& program) {
  bool hasOrders = false;
  for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
    if (isInOrder(*nested.module)) continue;
    if (!hasOrders) {
      json.key("orders");
      json.beginArray();
      hasOrders = true;
    }
    json.beginObject();
    json.key("path");
    json.string(nested.path);
    json.key("nodes");
    json.beginArray();
    for (const Node& node : nested.module->graph().nodes()) json.string(node.name());
    json.endArray();
    json.endObject();
  }
  if (hasOrders) json.endArray();
}

bool returnsList(const Graph& graph) {
  const Argument* value = graph.outputNode().findArg(0);
  return value != nullptr && value->kind() == ArgumentKind::List;
}

void writeListOutputs(JsonWriter& json, const ExportedProgram& program) {
  bool hasLists = false;
  for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
    if (!returnsList(nested.module->graph())) continue;
    if (!hasLists) {
      json.key("list_outputs");
      json.beginArray();
      hasLists = true;
    }
    json.string(nested.path);
  }
  if (hasLists) json.endArray();
}

void writeLostMetadata(JsonWriter& json, const ExportedProgram& program) {
  bool hasLost = false;
  forLostMetadata(program, [&](const ConstNestedModule& nested, const Node& node) {
    if (!hasLost) {
      json.key("metadata");
      json.beginArray();
      hasLost = true;
    }
    json.beginObject();
    json.key("path");
    json.string(nested.path);
    json.key("node");
    json.string(node.name());
    json.key("entries");
    writeEntries(json, node.meta());
    json.endObject();
    return true;
  });
  if (hasLost) json.endArray();
}

// The delegates of one graph module, and the get_attr nodes that name them.
class ModuleRecord {
 public:
  ModuleRecord(JsonWriter& json, const ConstNestedModule& nested, const DelegateNumbers& numbers)
      : json_(json), nested_(nested), numbers_(numbers), written_(nested.module->graph()) {
    size_t count = 0;
    for (const Node& node : nested.module->graph().nodes()) {
      written_[node] = count;
      if (isWritten(node)) ++count;
    }
  }

  void write() {
    json_.beginObject();
    json_.key("path");
    json_.string(nested_.path);
    json_.key("delegates");
    json_.beginArray();
    for (const GraphModule::Delegate& delegate : nested_.module->delegates()) {
      json_.beginObject();
      json_.key("name");
      json_.string(delegate.name);
      json_.key("number");
      json_.integer(static_cast<int64_t>(numbers_.at(delegate.module.get())));
      json_.endObject();
    }
    json_.endArray();
    json_.key("get_attrs");
    json_.beginArray();
    for (const Node& node : nested_.module->graph().nodes()) {
      if (namesDelegate(*nested_.module, node)) writeGetAttr(node);
    }
    json_.endArray();
    json_.endObject();
  }

 private:
  void writeGetAttr(const Node& node) {
    json_.beginObject();
    json_.key("name");
    json_.string(node.name());
    json_.key("target");
    json_.string(node.targetText());
    json_.key("metadata");
    writeEntries(json_, node.meta());
    json_.key("calls");
    json_.beginArray();
    for (const Node& user : node.users()) {
      const Argument* first = user.findArg(0);
      if (!callsDelegate(user) || first == nullptr || first->findNode() != &node)
        failUse(nested_, node, user);
      json_.beginObject();
      json_.key("at");
      json_.integer(static_cast<int64_t>(written_[user]));
      json_.key("is_list");
      const auto* results = user.value() == nullptr ? nullptr : user.value()->sequence();
      json_.boolean(results != nullptr && results->isList);
      json_.endObject();
    }
    json_.endArray();
    json_.endObject();
  }

  JsonWriter& json_;
  const ConstNestedModule& nested_;
  const DelegateNumbers& numbers_;
  NodeMap<size_t> written_;  // nodes of the JSON before each node
};

void writeAtenNodes(JsonWriter& json, const ExportedProgram& program) {
  bool hasAten = false;
  for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
    for (const Node& node : nested.module->graph().nodes()) {
      if (!node.isCall() || node.target().kind() != TargetKind::Operator) continue;
      if (!hasAten) {
        json.key("aten_nodes");
        json.beginArray();
        hasAten = true;
      }
      json.string(fmt::format("{}:{}", nested.path, node.name()));
    }
  }
  if (hasAten) json.endArray();
}

}  // namespace

bool needsEdgeRecord(const ExportedProgram& program) {
  if (program.dialect == Dialect::Edge) return true;
  for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
    if (!nested.module->delegates().empty() || returnsList(nested.module->graph()) ||
        !isInOrder(*nested.module)) {
      return true;
    }
  }
  bool losesAny = false;
  forLostMetadata(program, [&](const ConstNestedModule&, const Node&) {
    losesAny = true;
    return false;
  });
  return losesAny;
}

std::string edgeRecord(const ExportedProgram& program, const DelegateNumbers& numbers) {
  JsonWriter json;
  json.beginObject();
  if (program.dialect == Dialect::Edge) {
    json.key("dialect");
    json.string("EDGE");
    writeAtenNodes(json, program);
    if (program.verifiers != std::vector<std::string>{"ATEN"}) {
      json.key("verifiers");
      json.beginArray();
      for (const std::string& verifier : program.verifiers) json.string(verifier);
      json.endArray();
    }
  }
  if (hasDelegates(program)) {
    json.key("modules");
    json.beginArray();
    for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
      if (!nested.module->delegates().empty()) ModuleRecord(json, nested, numbers).write();
    }
    json.endArray();
  }
  writeListOutputs(json, program);
  writeOrders(json, program);
  writeLostMetadata(json, program);
  json.endObject();
  return json.take();
}

}  // namespace edgefx::detail
