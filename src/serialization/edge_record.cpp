#include "serialization/edge_record.h"

#include <edgefx/ir/node_queries.h>

#include "serialization/byte_text.h"
#include "serialization/result_names.h"
#include "support/fail.h"

#include <array>
#include <memory>
#include <optional>

namespace edgefx::detail {
namespace {

constexpr std::array<std::string_view, 7> kMembers = {"dialect",      "aten_nodes", "verifiers", "modules",
                                                      "list_outputs", "orders",     "metadata"};
constexpr std::array<std::string_view, 3> kRecordModuleMembers = {"path", "delegates", "get_attrs"};
constexpr std::array<std::string_view, 2> kDelegateMembers = {"name", "number"};
constexpr std::array<std::string_view, 4> kGetAttrMembers = {"name", "target", "metadata", "calls"};
constexpr std::array<std::string_view, 2> kCallMembers = {"at", "is_list"};
constexpr std::array<std::string_view, 3> kNodeMetadataMembers = {"path", "node", "entries"};
constexpr JsonStruct kRecord{"edge record", kMembers};
constexpr JsonStruct kRecordModule{"edge record's module", kRecordModuleMembers};
constexpr JsonStruct kDelegate{"delegate", kDelegateMembers};
constexpr JsonStruct kGetAttr{"get_attr", kGetAttrMembers};
constexpr JsonStruct kCall{"delegate call", kCallMembers};
constexpr std::array<std::string_view, 2> kOrderMembers = {"path", "nodes"};
constexpr JsonStruct kOrder{"order of nodes", kOrderMembers};
constexpr JsonStruct kNodeMetadata{"metadata of a node", kNodeMetadataMembers};

// A getitem that stands for a result nobody uses.
bool isFiller(const Node& node) {
  std::optional<int64_t> index = getitemIndex(node);
  if (!index || node.numUsers() != 0) return false;
  if (node.value() != nullptr && std::holds_alternative<ValueMeta::None>(node.value()->data)) return true;
  return node.name() == fmt::format("{}_unused_{}", node.arg(0).asNode().name(), *index);
}

// Takes the operators of a program that was read with ATen names as edge operators, but for `atenNodes`.
void takeAsEdge(ExportedProgram& program, const std::set<std::string, std::less<>>& atenNodes) {
  program.dialect = Dialect::Edge;
  dropUnusedResults(program);
  for (NestedModule& nested : namedModules(program.graphModule())) {
    for (Node& node : nested.module->graph().nodes()) {
      if (!node.isCall() || node.target().kind() != TargetKind::Operator) continue;
      if (!atenNodes.empty() && atenNodes.contains(fmt::format("{}:{}", nested.path, node.name()))) continue;
      node.setTarget(node.target().toEdge());
    }
  }
}

// The nodes that a model's JSON has for the graph, in order.
std::vector<Node*> writtenNodes(Graph& graph) {
  std::vector<Node*> written;
  for (Node& node : graph.nodes()) {
    if (node.isCall() && !ResultNames::isGetitem(node)) written.push_back(&node);
  }
  return written;
}

class EdgeRecordReader {
 public:
  explicit EdgeRecordReader(std::string_view record) { json_.place.record = record; }

  EdgeRecord read(JsonValue value) {
    EdgeRecord edge;
    std::string_view dialect;
    json_.members(
        value, kRecord,
        [&](size_t i, JsonValue member) {
          if (i == 0) {
            dialect = json_.string(member, "dialect");
            edge.isEdge = true;
          } else if (i == 1) {
            for (JsonValue item : json_.array(member, "aten_nodes"))
              edge.atenNodes.emplace(json_.string(item, "aten_nodes item"));
          } else if (i == 2) {
            edge.hasVerifiers = true;
            for (JsonValue item : json_.array(member, "verifiers"))
              edge.verifiers.emplace_back(json_.string(item, "verifiers item"));
          } else if (i == 3) {
            for (JsonValue item : json_.array(member, "modules")) edge.modules.push_back(module(item));
          } else if (i == 4) {
            for (JsonValue item : json_.array(member, "list_outputs"))
              edge.listOutputs.emplace_back(json_.string(item, "list_outputs item"));
          } else if (i == 5) {
            for (JsonValue item : json_.array(member, "orders")) edge.orders.push_back(order(item));
          } else {
            for (JsonValue item : json_.array(member, "metadata"))
              edge.metadata.push_back(nodeMetadata(item));
          }
        },
        kIgnore);
    if (edge.isEdge && dialect != "EDGE") json_.fail(fmt::format("unknown dialect '{}'", printable(dialect)));
    return edge;
  }

 private:
  uint64_t count(JsonValue value, std::string_view what) {
    const int64_t number = json_.integer(value, what);
    if (number < 0) json_.fail(fmt::format("'{}' must not be negative, found {}", what, number));
    return static_cast<uint64_t>(number);
  }

  EdgeRecord::Module module(JsonValue value) {
    EdgeRecord::Module read;
    readAll(value, kRecordModule, [&](size_t i, JsonValue member) {
      if (i == 0) {
        read.path = json_.string(member, "path");
      } else if (i == 1) {
        for (JsonValue item : json_.array(member, "delegates")) read.delegates.push_back(delegate(item));
      } else {
        for (JsonValue item : json_.array(member, "get_attrs")) read.getAttrs.push_back(getAttr(item));
      }
    });
    return read;
  }

  // Calls read(position, member) for each member, all of which must be there; others are passed over.
  template <typename Read>
  void readAll(JsonValue value, const JsonStruct& what, Read&& read) {
    const uint32_t seen = json_.members(value, what, read, kIgnore);
    json_.require(what, seen, what.members.size());
  }

  std::pair<std::string, uint64_t> delegate(JsonValue value) {
    std::pair<std::string, uint64_t> read;
    readAll(value, kDelegate, [&](size_t i, JsonValue member) {
      if (i == 0) {
        read.first = json_.string(member, "name");
      } else {
        read.second = count(member, "number");
      }
    });
    return read;
  }

  EdgeRecord::GetAttr getAttr(JsonValue value) {
    EdgeRecord::GetAttr read;
    readAll(value, kGetAttr, [&](size_t i, JsonValue member) {
      if (i == 0) {
        read.name = json_.string(member, "name");
      } else if (i == 1) {
        read.target = json_.string(member, "target");
      } else if (i == 2) {
        read.metadata = metadata(member);
      } else {
        for (JsonValue item : json_.array(member, "calls")) read.calls.push_back(call(item));
      }
    });
    return read;
  }

  EdgeRecord::Call call(JsonValue value) {
    EdgeRecord::Call read;
    readAll(value, kCall, [&](size_t i, JsonValue member) {
      if (i == 0) {
        read.at = count(member, "at");
      } else {
        read.isList = json_.boolean(member, "is_list");
      }
    });
    return read;
  }

  EdgeRecord::Order order(JsonValue value) {
    EdgeRecord::Order read;
    readAll(value, kOrder, [&](size_t i, JsonValue member) {
      if (i == 0) {
        read.path = json_.string(member, "path");
      } else {
        for (JsonValue item : json_.array(member, "nodes"))
          read.nodes.emplace_back(json_.string(item, "nodes item"));
      }
    });
    return read;
  }

  EdgeRecord::NodeMetadata nodeMetadata(JsonValue value) {
    EdgeRecord::NodeMetadata read;
    readAll(value, kNodeMetadata, [&](size_t i, JsonValue member) {
      if (i == 0) {
        read.path = json_.string(member, "path");
      } else if (i == 1) {
        read.node = json_.string(member, "node");
      } else {
        read.entries = metadata(member);
      }
    });
    return read;
  }

  EdgeRecord::Metadata metadata(JsonValue value) {
    EdgeRecord::Metadata read;
    UniqueNames keys;
    for (auto field : json_.object(value, "metadata")) {
      if (!keys.add(field.key))
        json_.fail(fmt::format("metadata entry '{}' occurs twice", printable(field.key)));
      read.emplace_back(field.key, json_.string(field.value, field.key));
    }
    return read;
  }

  JsonReader json_;
};

MetaRef metaOf(const EdgeRecord::Metadata& metadata) {
  if (metadata.empty()) return nullptr;
  auto meta = Ref<NodeMeta>::make();
  for (const auto& [key, text] : metadata) meta->append(key, std::make_shared<const std::string>(text));
  return meta;
}

// Puts the delegates of one graph module into place.
class DelegatePlacer {
 public:
  DelegatePlacer(std::string_view record, GraphModule& owner)
      : owner_(owner), written_(writtenNodes(owner.graph())) {
    json_.place.record = record;
  }

  void place(const EdgeRecord::Module& module, const std::function<LoweredModuleRef(uint64_t)>& delegate) {
    json_.place.graph = module.path;
    for (const auto& [name, number] : module.delegates) {
      if (name.empty() || name.find('.') != std::string::npos || owner_.findChild(name) != nullptr ||
          owner_.findDelegate(name) != nullptr) {
        json_.fail(fmt::format("'{}' cannot name a delegate: it is empty, holds a dot or is taken",
                               printable(name)));
      }
      add(name, delegate(number));
    }
    for (const EdgeRecord::GetAttr& getAttr : module.getAttrs) place(getAttr);
  }

 private:
  // Whether there is an effect is found out once for each delegate: it takes a walk through its program.
  void add(const std::string& name, LoweredModuleRef module) {
    auto known = effects_.find(module.get());
    if (known != effects_.end()) {
      owner_.addDelegate({name, std::move(module), known->second});
      return;
    }
    const LoweredModule* key = module.get();
    addLoweredModule(owner_, name, std::move(module));
    effects_.emplace(key, owner_.findDelegate(name)->hasEffect);
  }

  void place(const EdgeRecord::GetAttr& getAttr) {
    json_.place.item = getAttr.name;
    Graph& graph = owner_.graph();
    if (owner_.findDelegate(getAttr.target) == nullptr)
      json_.fail(fmt::format("there is no delegate '{}'", printable(getAttr.target)));
    if (getAttr.name.empty() || graph.find(getAttr.name) != nullptr)
      json_.fail("expected a name that no other node has");
    Node* first = &graph.outputNode();
    for (const EdgeRecord::Call& call : getAttr.calls) {
      if (call.at >= written_.size())
        json_.fail(fmt::format("node {} is named, the graph has {}", call.at, written_.size()));
      if (written_[call.at]->isBefore(*first)) first = written_[call.at];
    }
    InsertionGuard guard(graph, before(*first));
    Node& node = graph.getAttr(getAttr.target, getAttr.name);
    if (node.name() != getAttr.name) node.setName(getAttr.name);
    node.setMeta(metaOf(getAttr.metadata));
    for (const EdgeRecord::Call& call : getAttr.calls) bind(call, getAttr, node);
    json_.place.item = {};
  }

  void bind(const EdgeRecord::Call& call, const EdgeRecord::GetAttr& getAttr, Node& node) {
    Node& user = *written_[call.at];
    const Argument* first = user.findArg(0);
    if (!callsDelegate(user) || first == nullptr || !first->isString() ||
        first->asString() != getAttr.target) {
      json_.fail(fmt::format("node '%{}' does not call delegate '{}'", printable(user.name()),
                             printable(getAttr.target)));
    }
    user.setArg(0, node);
    restoreDelegateResults(user, call.isList);
  }

  JsonReader json_;
  GraphModule& owner_;
  std::vector<Node*> written_;
  std::unordered_map<const LoweredModule*, bool> effects_;  // looked up only, never iterated
};

}  // namespace

EdgeRecord readEdgeRecord(JsonValue value, std::string_view record) {
  return EdgeRecordReader(record).read(value);
}

void dropUnusedResults(ExportedProgram& program) {
  for (NestedModule& nested : namedModules(program.graphModule())) {
    for (Node& node : nested.module->graph().nodes()) {
      if (isFiller(node)) nested.module->graph().erase(node);
    }
  }
}

void restoreDelegateResults(Node& call, bool isList) {
  ValueMeta::Sequence results;
  if (const ValueMeta* value = call.value()) {
    if (value->sequence() == nullptr || value->sequence()->isList == isList) return;
    results = *value->sequence();
  }
  results.isList = isList;
  call.setValue(ValueMeta::of(std::move(results)));
}

bool reorder(Graph& graph, const std::vector<std::string>& names) {
  if (names.size() != graph.size()) return true;
  std::vector<Node*> order;
  order.reserve(names.size());
  NodeMap<size_t> position(graph, 0);  // counted from 1
  for (const std::string& name : names) {
    Node* node = name.empty() ? nullptr : graph.find(name);
    // A node whose name was no identifier may have got another; then there is no order to restore.
    if (node == nullptr || position[*node] != 0) return true;
    order.push_back(node);
    position[*node] = order.size();
  }
  if (!order.back()->isOutput()) return false;
  bool inPlaceholders = true;
  for (const Node* node : order) {
    if (node->isPlaceholder() && !inPlaceholders) return false;
    inPlaceholders = inPlaceholders && node->isPlaceholder();
    for (const Node& input : node->inputs()) {
      if (position[input] >= position[*node]) return false;
    }
  }
  // The order of inputs is that of the signature.
  std::vector<const Node*> inputs;
  for (const Node* node : order) {
    if (node->isPlaceholder()) inputs.push_back(node);
  }
  if (inputs != std::as_const(graph).placeholders()) return false;
  Node& output = graph.outputNode();
  for (Node* node : order) {
    if (!node->isOutput() && !node->isPlaceholder()) node->moveBefore(output);
  }
  return true;
}

void applyEdgeRecord(const EdgeRecord& edge, std::string_view record, ExportedProgram& program,
                     const std::function<LoweredModuleRef(uint64_t)>& delegate) {
  if (edge.isEdge) takeAsEdge(program, edge.atenNodes);
  if (edge.hasVerifiers) program.verifiers = edge.verifiers;
  JsonReader json;
  json.place.record = record;
  auto moduleAt = [&](const std::string& path) -> GraphModule& {
    GraphModule* module = program.graphModule().findChild(path);
    if (module == nullptr) json.fail(fmt::format("graph module '{}' does not exist", printable(path)));
    return *module;
  };
  std::set<const GraphModule*> placed;  // looked up only, never iterated
  for (const EdgeRecord::Module& module : edge.modules) {
    GraphModule& owner = moduleAt(module.path);
    if (!placed.insert(&owner).second)
      json.fail(fmt::format("graph module '{}' has its delegates already", printable(module.path)));
    DelegatePlacer(record, owner).place(module, delegate);
  }
  for (const std::string& path : edge.listOutputs) {
    Node& output = moduleAt(path).graph().outputNode();
    if (!output.arg(0).isSequence())
      json.fail(fmt::format("graph module '{}' returns no list", printable(path)));
    Arg::List items;
    for (const Argument& item : output.arg(0).items()) items.emplace_back(item);
    output.setArgs({Arg::list(std::move(items))});
  }
  for (const EdgeRecord::Order& order : edge.orders) {
    if (!reorder(moduleAt(order.path).graph(), order.nodes)) {
      json.fail(fmt::format("in graph module '{}' a node would come after one that uses it",
                            printable(order.path)));
    }
  }
  for (const EdgeRecord::NodeMetadata& metadata : edge.metadata) {
    // A node whose name was no identifier may have got another.
    Node* node = metadata.node.empty() ? nullptr : moduleAt(metadata.path).graph().find(metadata.node);
    if (node != nullptr) node->setMeta(metaOf(metadata.entries));
  }
}

}  // namespace edgefx::detail
