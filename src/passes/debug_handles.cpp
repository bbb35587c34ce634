#include <edgefx/passes/debug_handles.h>
#include <edgefx/passes/standard.h>
#include <edgefx/program/lowered_module.h>

#include "program/delegate_programs.h"
#include "serialization/json_document.h"
#include "support/fail.h"
#include "support/text_hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace edgefx {
namespace {

// Name and graph of the node of the export that a node comes from: of its oldest ancestor. Empty if the
// metadata does not tell.
class ExportAncestors {
 public:
  const std::string& of(const Node& node) {
    static const std::string kNone;
    const SharedText* trace = node.meta().find("from_node");
    if (trace == nullptr) return kNone;
    const auto [found, isNew] = known_.try_emplace(std::string_view(**trace));
    if (isNew) found->second = read(**trace);
    return found->second;
  }

 private:
  std::string read(std::string_view trace) {
    detail::JsonValue list;
    try {
      list = document_.parse(trace, "from_node");
    } catch (const ParseError&) {
      return {};
    }
    std::string ancestor;
    for (;;) {
      simdjson::dom::array items;
      if (list.get(items) != simdjson::SUCCESS) return ancestor;
      std::optional<detail::JsonValue> last;
      for (const detail::JsonValue item : items) last = item;
      simdjson::dom::object source;
      if (!last || last->get(source) != simdjson::SUCCESS) return ancestor;
      std::string_view name;
      detail::JsonValue graph;
      if (source["name"].get(name) != simdjson::SUCCESS) return ancestor;
      ancestor = name;
      ancestor += '\n';
      if (source["graph_id"].get(graph) == simdjson::SUCCESS) ancestor += detail::pythonJson(graph);
      if (source["from_node"].get(list) != simdjson::SUCCESS) return ancestor;
    }
  }

  detail::JsonDocument document_;
  std::unordered_map<std::string_view, std::string, detail::TextHash> known_;  // by trace
};

// Graphs breadth first: the program's, those that it names, those that these name.
std::vector<GraphModule*> breadthFirst(GraphModule& top) {
  std::vector<GraphModule*> modules{&top};
  std::unordered_set<const GraphModule*> seen{&top};
  for (size_t i = 0; i < modules.size(); ++i) {
    for (const Node& node : modules[i]->graph().nodes()) {
      if (!node.isGetAttr() && node.op() != NodeOp::CallModule) continue;
      GraphModule* child = modules[i]->findChild(node.targetText());
      if (child != nullptr && seen.insert(child).second) modules.push_back(child);
    }
  }
  return modules;
}

// As for ExecuTorch, 0 is none.
std::optional<int64_t> handleOf(const Node& node) {
  const std::optional<int64_t> handle = node.meta().debugHandle();
  return handle == 0 ? std::nullopt : handle;
}

bool takesHandle(const Node& node) {
  return !node.isPlaceholder() && !node.isOutput();
}

class HandleGiver {
 public:
  bool run(ExportedProgram& program) {
    const std::vector<GraphModule*> modules = breadthFirst(program.graphModule());
    for (GraphModule* module : modules) {
      for (const Node& node : module->graph().nodes()) collect(node);
    }
    bool isChanged = false;
    for (GraphModule* module : modules) {
      for (Node& node : module->graph().nodes()) {
        if (!takesHandle(node) || handleOf(node)) continue;
        const int64_t handle = handleFor(node);
        node.editMeta([&](NodeMeta& meta) { meta.setDebugHandle(handle); });
        isChanged = true;
      }
    }
    return isChanged;
  }

 private:
  void collect(const Node& node) {
    const std::optional<int64_t> handle = takesHandle(node) ? handleOf(node) : std::nullopt;
    if (!handle) return;
    last_ = std::max(last_, *handle);
    if (const std::string& ancestor = ancestorOf(node); !ancestor.empty()) given_.emplace(ancestor, *handle);
  }

  // Names of graphs belong to the call that takes them, items to what they are taken from.
  const std::string& ancestorOf(const Node& node) {
    const std::string& own = ancestors_.of(node);
    if (!own.empty()) return own;
    if (node.isGetAttr() && node.numUsers() != 0) return ancestors_.of(node.users().front());
    const bool isItem = node.callsOperator("operator.getitem") && node.numInputs() != 0;
    return isItem ? ancestors_.of(node.inputs().front()) : own;
  }

  int64_t handleFor(const Node& node) {
    const std::string& ancestor = ancestorOf(node);
    if (ancestor.empty()) return next();
    const auto [found, isNew] = given_.try_emplace(ancestor, 0);
    if (isNew) found->second = next();
    return found->second;
  }

  int64_t next() {
    if (last_ == std::numeric_limits<int64_t>::max()) {
      detail::fail<UnsupportedError>("there is no debug handle above {}, which a node has", last_);
    }
    return ++last_;
  }

  ExportAncestors ancestors_;
  std::unordered_map<std::string, int64_t, detail::TextHash> given_;  // by ancestor
  int64_t last_ = 0;
};

void collectHandles(const ExportedProgram& program, std::unordered_set<int64_t>& handles) {
  detail::forEachProgram(program, [&](const ExportedProgram& inner, const std::string&) {
    for (const ConstNestedModule& nested : namedModules(inner.graphModule())) {
      for (const Node& node : nested.module->graph().nodes()) {
        if (const std::optional<int64_t> handle = handleOf(node)) handles.insert(*handle);
      }
      for (const GraphModule::Delegate& delegate : nested.module->delegates()) {
        for (const auto& [identifier, list] : delegate.module->debugHandleMap) {
          handles.insert(list.begin(), list.end());
        }
      }
    }
  });
}

}  // namespace

bool addDebugHandles(ExportedProgram& program) {
  return HandleGiver().run(program);
}

PassRef debugHandlesPass() {
  return programPass("debug-handles", addDebugHandles);
}

std::vector<Diagnostic> findLostDebugHandles(const ExportedProgram& before, const ExportedProgram& after) {
  std::unordered_set<int64_t> left;
  collectHandles(after, left);
  std::vector<Diagnostic> lost;
  for (const ConstNestedModule& nested : namedModules(before.graphModule())) {
    for (const Node& node : nested.module->graph().nodes()) {
      const std::optional<int64_t> handle = handleOf(node);
      if (!handle || !left.insert(*handle).second) continue;
      Diagnostic fault(fmt::format("no node has debug handle {} any more", *handle));
      fault.graph = nested.path;
      fault.node = node.name();
      lost.push_back(std::move(fault));
    }
  }
  return lost;
}

}  // namespace edgefx
