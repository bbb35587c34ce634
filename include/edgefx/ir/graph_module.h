#pragma once

#include <edgefx/ir/graph.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace edgefx {

// A graph and the graph modules that its get_attr and call_module nodes name: the branches of control flow.
class GraphModule {
 public:
  struct Child {
    std::string name;
    std::unique_ptr<GraphModule> module;
  };

  GraphModule();
  explicit GraphModule(std::unique_ptr<Graph> graph);
  ~GraphModule();
  GraphModule(GraphModule&&) noexcept;
  GraphModule& operator=(GraphModule&&) noexcept;

  // Deep copy with all nested modules. O(nodes of the whole tree).
  std::unique_ptr<GraphModule> clone() const;

  Graph& graph() { return *graph_; }
  const Graph& graph() const { return *graph_; }

  // Direct children, in order of being added.
  const std::vector<Child>& children() const { return children_; }
  // The module at a dotted path, null if there is none. The empty path is this module. O(path).
  GraphModule* findChild(std::string_view path);
  const GraphModule* findChild(std::string_view path) const {
    return const_cast<GraphModule*>(this)->findChild(path);
  }
  // Throws UsageError if the name is empty, holds a dot or is taken.
  GraphModule& addChild(std::string_view name, std::unique_ptr<GraphModule> module);
  // Returns the removed child, or null. O(children).
  std::unique_ptr<GraphModule> removeChild(std::string_view name);
  // Removes the direct children that `test` accepts. Returns their number. O(children).
  size_t removeChildrenIf(const std::function<bool(const Child&)>& test);

  // Text entries of the module ("custom"), in order, kept through load and save.
  std::vector<std::pair<std::string, std::string>> metadata;

 private:
  std::unique_ptr<Graph> graph_;
  std::vector<Child> children_;
  std::map<std::string, GraphModule*, std::less<>> byName_;
};

struct NestedModule {
  std::string path;  // dotted, empty for the top
  GraphModule* module;
  GraphModule* parent;  // null for the top
};
struct ConstNestedModule {
  std::string path;
  const GraphModule* module;
  const GraphModule* parent;
};

// `top` and every module below it that get_attr or call_module nodes name: depth first, in the order in which
// each graph first names them, each once. Children that no node names are left out.
std::vector<NestedModule> namedModules(GraphModule& top);
std::vector<ConstNestedModule> namedModules(const GraphModule& top);

}  // namespace edgefx
