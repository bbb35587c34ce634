#include <edgefx/ir/graph_module.h>
#include <edgefx/ir/node_queries.h>

#include "serialization/edge_record.h"
#include "serialization/json_writer.h"
#include "serialization/result_names.h"
#include "support/fail.h"

#include <algorithm>
#include <optional>

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

void failUse(const ConstNestedModule& nested, const Node& getAttr, const Node& user) {
  Diagnostic diagnostic(fmt::format(
      "expected delegate '{}' only as the first argument of executorch_call_delegate", getAttr.targetText()));
  diagnostic.graph = nested.path;
  diagnostic.node = user.name();
  diagnostic.nodeText = user.text();
  throw UnsupportedError(std::move(diagnostic));
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
      if (node.isGetAttr() && (isDelegate(node) || isBranch(node))) writeGetAttr(node);
    }
    json_.endArray();
    json_.endObject();
  }

 private:
  bool isDelegate(const Node& node) const {
    return nested_.module->findDelegate(node.targetText()) != nullptr;
  }
  // Readers put the get_attr nodes of branches before the calls that use them, under the branch's name.
  // Calls of delegates may have come between.
  bool isBranch(const Node& node) const {
    return node.numUsers() == 1 && node.name() == node.targetText() &&
           nested_.module->findChild(node.targetText()) != nullptr;
  }

  void writeGetAttr(const Node& node) {
    json_.beginObject();
    json_.key("name");
    json_.string(node.name());
    json_.key("target");
    json_.string(node.targetText());
    json_.key("before");
    json_.integer(static_cast<int64_t>(written_[node]));
    json_.key("metadata");
    writeMetadata(node.meta());
    json_.key("calls");
    json_.beginArray();
    if (isDelegate(node)) writeCalls(node);
    json_.endArray();
    json_.endObject();
  }

  void writeCalls(const Node& node) {
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
      writeResults(user);
      json_.endObject();
    }
  }

  // Readers give a getitem the metadata of what it reads.
  void writeResults(const Node& call) {
    bool hasResults = false;
    for (const Node& user : call.users()) {
      const std::optional<int64_t> index = getitemIndex(user);
      if (!index || equalMetadata(user.meta(), call.meta())) continue;
      if (!hasResults) {
        json_.key("results");
        json_.beginArray();
        hasResults = true;
      }
      json_.beginObject();
      json_.key("index");
      json_.integer(*index);
      json_.key("metadata");
      writeMetadata(user.meta());
      json_.endObject();
    }
    if (hasResults) json_.endArray();
  }

  void writeMetadata(const NodeMeta& meta) {
    json_.beginObject();
    for (const NodeMeta::Entry& entry : meta.entries()) {
      json_.key(entry.key);
      json_.string(*entry.text);
    }
    json_.endObject();
  }

  static bool equalMetadata(const NodeMeta& a, const NodeMeta& b) {
    return std::equal(a.entries().begin(), a.entries().end(), b.entries().begin(), b.entries().end(),
                      [](const NodeMeta::Entry& x, const NodeMeta::Entry& y) {
                        return x.key == y.key && *x.text == *y.text;
                      });
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
  return program.dialect == Dialect::Edge || hasDelegates(program);
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
  json.endObject();
  return json.take();
}

}  // namespace edgefx::detail
