#pragma once

#include <edgefx/ir/graph.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace edgefx {

// Compiled parts of a program: see program/lowered_module.h.
struct LoweredModule;

// A graph and what its get_attr and call_module nodes name: graph modules, which are the branches of control
// flow, and delegates.
class GraphModule {
 public:
  struct Child {
    std::string name;
    std::unique_ptr<GraphModule> module;
  };
  struct Delegate {
    std::string name;
    std::shared_ptr<const LoweredModule> module;
    bool hasEffect;  // a call of it does more than return values: it must not be erased though nobody uses it
  };

  GraphModule();
  explicit GraphModule(std::unique_ptr<Graph> graph);
  ~GraphModule();
  GraphModule(GraphModule&&) noexcept;
  GraphModule& operator=(GraphModule&&) noexcept;

  // Deep copy with all nested modules; delegates are shared. O(nodes of the whole tree).
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
  // Removes the direct children of those names, null where there is none. O((children + names) log names).
  std::vector<std::unique_ptr<GraphModule>> takeChildren(const std::vector<std::string>& names);
  // Removes the direct children that `test` accepts. Returns their number. O(children).
  size_t removeChildrenIf(const std::function<bool(const Child&)>& test);

  // Direct delegates, in order of being added. Graph modules and delegates share one space of names.
  const std::vector<Delegate>& delegates() const { return delegates_; }
  // Null if there is none; valid until a delegate is added or removed.
  const Delegate* findDelegate(std::string_view name) const;
  // Throws UsageError if the module is null, or the name is empty, holds a dot or is taken. See
  // addLoweredModule, which knows whether there is an effect.
  void addDelegate(Delegate delegate);
  // Returns whether there was one. O(delegates).
  bool removeDelegate(std::string_view name);

  // Text entries of the module ("custom"), in order, kept through load and save.
  std::vector<std::pair<std::string, std::string>> metadata;

 private:
  struct NameHash {
    using is_transparent = void;
    size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };

  void checkName(std::string_view name) const;

  std::unique_ptr<Graph> graph_;
  std::vector<Child> children_;
  std::map<std::string, GraphModule*, std::less<>> byName_;
  std::vector<Delegate> delegates_;
  std::unordered_map<std::string, size_t, NameHash, std::equal_to<>> delegatesByName_;  // positions
};

// Dotted path of what `owner` holds under `name`. Either may be empty: the top, or the owner itself.
std::string childPath(std::string_view owner, std::string_view name);

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
