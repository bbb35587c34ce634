#include "serialization/edge_record.h"

#include <edgefx/ir/node_queries.h>

#include "serialization/byte_text.h"
#include "serialization/result_names.h"
#include "support/fail.h"

#include <array>
#include <map>
#include <memory>
#include <optional>

namespace edgefx::detail {
namespace {

constexpr std::array<std::string_view, 4> kMembers = {"dialect", "aten_nodes", "verifiers", "modules"};
constexpr std::array<std::string_view, 3> kRecordModuleMembers = {"path", "delegates", "get_attrs"};
constexpr std::array<std::string_view, 2> kDelegateMembers = {"name", "number"};
constexpr std::array<std::string_view, 5> kGetAttrMembers = {"name", "target", "before", "metadata", "calls"};
constexpr std::array<std::string_view, 3> kCallMembers = {"at", "is_list", "results"};
constexpr std::array<std::string_view, 2> kResultMembers = {"index", "metadata"};
constexpr JsonStruct kRecord{"edge record", kMembers};
constexpr JsonStruct kRecordModule{"edge record's module", kRecordModuleMembers};
constexpr JsonStruct kDelegate{"delegate", kDelegateMembers};
constexpr JsonStruct kGetAttr{"get_attr", kGetAttrMembers};
constexpr JsonStruct kCall{"delegate call", kCallMembers};
constexpr JsonStruct kResult{"delegate result", kResultMembers};

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
          } else {
            for (JsonValue item : json_.array(member, "modules")) edge.modules.push_back(module(item));
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
    const uint32_t seen = json_.members(
        value, kRecordModule,
        [&](size_t i, JsonValue member) {
          if (i == 0) {
            read.path = json_.string(member, "path");
          } else if (i == 1) {
            for (JsonValue item : json_.array(member, "delegates")) read.delegates.push_back(delegate(item));
          } else {
            for (JsonValue item : json_.array(member, "get_attrs")) read.getAttrs.push_back(getAttr(item));
          }
        },
        kIgnore);
    json_.require(kRecordModule, seen, kRecordModuleMembers.size());
    return read;
  }

  std::pair<std::string, uint64_t> delegate(JsonValue value) {
    std::pair<std::string, uint64_t> read;
    const uint32_t seen = json_.members(
        value, kDelegate,
        [&](size_t i, JsonValue member) {
          if (i == 0) {
            read.first = json_.string(member, "name");
          } else {
            read.second = count(member, "number");
          }
        },
        kIgnore);
    json_.require(kDelegate, seen, kDelegateMembers.size());
    return read;
  }

  EdgeRecord::GetAttr getAttr(JsonValue value) {
    EdgeRecord::GetAttr read;
    const uint32_t seen = json_.members(
        value, kGetAttr,
        [&](size_t i, JsonValue member) {
          if (i == 0) {
            read.name = json_.string(member, "name");
          } else if (i == 1) {
            read.target = json_.string(member, "target");
          } else if (i == 2) {
            read.before = count(member, "before");
          } else if (i == 3) {
            read.metadata = metadata(member);
          } else {
            for (JsonValue item : json_.array(member, "calls")) read.calls.push_back(call(item));
          }
        },
        kIgnore);
    json_.require(kGetAttr, seen, kGetAttrMembers.size());
    return read;
  }

  EdgeRecord::Call call(JsonValue value) {
    EdgeRecord::Call read;
    const uint32_t seen = json_.members(
        value, kCall,
        [&](size_t i, JsonValue member) {
          if (i == 0) {
            read.at = count(member, "at");
          } else if (i == 1) {
            read.isList = json_.boolean(member, "is_list");
          } else {
            for (JsonValue item : json_.array(member, "results")) read.results.push_back(result(item));
          }
        },
        kIgnore);
    json_.require(kCall, seen, 2);
    return read;
  }

  EdgeRecord::Result result(JsonValue value) {
    EdgeRecord::Result read;
    const uint32_t seen = json_.members(
        value, kResult,
        [&](size_t i, JsonValue member) {
          if (i == 0) {
            read.index = json_.integer(member, "index");
          } else {
            read.metadata = metadata(member);
          }
        },
        kIgnore);
    json_.require(kResult, seen, kResultMembers.size());
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
    if (getAttr.before > written_.size())
      json_.fail(fmt::format("node {} is named, the graph has {}", getAttr.before, written_.size()));
    Node& anchor = getAttr.before < written_.size() ? *written_[getAttr.before] : graph.outputNode();
    if (owner_.findChild(getAttr.target) != nullptr) {
      placeBranch(getAttr, anchor);
      return;
    }
    if (owner_.findDelegate(getAttr.target) == nullptr)
      json_.fail(fmt::format("there is no delegate '{}'", printable(getAttr.target)));
    if (getAttr.name.empty() || graph.find(getAttr.name) != nullptr)
      json_.fail("expected a name that no other node has");
    InsertionGuard guard(graph, before(anchor));
    Node& node = graph.getAttr(getAttr.target, getAttr.name);
    if (node.name() != getAttr.name) node.setName(getAttr.name);
    if (!getAttr.metadata.empty()) node.setMeta(metaOf(getAttr.metadata));
    for (const EdgeRecord::Call& call : getAttr.calls) bind(call, getAttr, node);
    json_.place.item = {};
  }

  // The node is there already, before the call that uses it; nothing happens if it got another name.
  void placeBranch(const EdgeRecord::GetAttr& getAttr, Node& anchor) {
    Node* node = getAttr.name.empty() ? nullptr : owner_.graph().find(getAttr.name);
    if (node == nullptr || !node->isGetAttr() || node->targetText() != getAttr.target) return;
    for (const Node& user : node->users()) {
      if (user.isBefore(anchor))
        json_.fail(fmt::format("node '%{}' cannot come after its user '%{}'", printable(node->name()),
                               printable(user.name())));
    }
    node->moveBefore(anchor);
    node->setMeta(getAttr.metadata.empty() ? nullptr : metaOf(getAttr.metadata));
    json_.place.item = {};
  }

  static MetaRef metaOf(const EdgeRecord::Metadata& metadata) {
    auto meta = Ref<NodeMeta>::make();
    for (const auto& [key, text] : metadata) meta->append(key, std::make_shared<const std::string>(text));
    return meta;
  }

  void bind(const EdgeRecord::Call& call, const EdgeRecord::GetAttr& getAttr, Node& node) {
    if (call.at < getAttr.before || call.at >= written_.size())
      json_.fail(fmt::format("node {} cannot be a call of the delegate", call.at));
    Node& user = *written_[call.at];
    const Argument* first = user.findArg(0);
    if (!callsDelegate(user) || first == nullptr || !first->isString() ||
        first->asString() != getAttr.target) {
      json_.fail(fmt::format("node '%{}' does not call delegate '{}'", printable(user.name()),
                             printable(getAttr.target)));
    }
    user.setArg(0, node);
    restoreDelegateResults(user, call.isList);
    if (call.results.empty()) return;
    std::map<int64_t, Node*> readers;
    for (Node& reader : user.users()) {
      if (std::optional<int64_t> index = getitemIndex(reader)) readers.emplace(*index, &reader);
    }
    for (const EdgeRecord::Result& result : call.results) {
      auto reader = readers.find(result.index);
      if (reader == readers.end())
        json_.fail(fmt::format("node '%{}' has no result {}", printable(user.name()), result.index));
      reader->second->setMeta(metaOf(result.metadata));
    }
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

void applyEdgeRecord(const EdgeRecord& edge, std::string_view record, ExportedProgram& program,
                     const std::function<LoweredModuleRef(uint64_t)>& delegate) {
  if (edge.isEdge) takeAsEdge(program, edge.atenNodes);
  if (edge.hasVerifiers) program.verifiers = edge.verifiers;
  std::set<const GraphModule*> placed;  // looked up only, never iterated
  for (const EdgeRecord::Module& module : edge.modules) {
    GraphModule* owner = program.graphModule().findChild(module.path);
    if (owner == nullptr || !placed.insert(owner).second) {
      JsonReader json;
      json.place.record = record;
      json.fail(fmt::format("graph module '{}' {}", printable(module.path),
                            owner == nullptr ? "does not exist" : "has its delegates already"));
    }
    DelegatePlacer(record, *owner).place(module, delegate);
  }
}

}  // namespace edgefx::detail
