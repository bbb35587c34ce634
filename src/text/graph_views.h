#pragma once

#include <edgefx/program/lowered_module.h>
#include <edgefx/text/program_text.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace edgefx::detail {

// A graph of a diagram.
struct GraphView {
  std::string id;
  const GraphModule* module;
  const ExportedProgram* program;  // whose top level it is; null for a nested graph module
  const LoweredModule* delegate;   // whose program that is; null if it is a method's
};

// All graphs of some methods, in the order in which diagrams show them.
class GraphViews {
 public:
  explicit GraphViews(std::span<const NamedProgramRef> methods);

  const std::vector<GraphView>& all() const { return views_; }
  // Positions of the graphs that a node of this graph runs or names. O(inputs).
  std::vector<size_t> shownBy(const GraphView& view, const Node& node) const;

 private:
  void addProgram(const ExportedProgram& program, const LoweredModule* delegate, std::string_view id);
  std::string takeId(std::string id);

  std::vector<GraphView> views_;
  std::unordered_map<const GraphModule*, size_t> byModule_;
  std::unordered_map<const LoweredModule*, size_t> byDelegate_;
  std::unordered_set<std::string> ids_;
};

// What a diagram calls a node: the operator or function, the path or name of what is none.
std::string_view labelOf(const Node& node);

// Colours of delegation tags, in order of appearance.
class TagColours {
 public:
  // "#rrggbb", empty for a node without tag.
  std::string_view of(const Node& node);

 private:
  std::unordered_map<std::string, size_t> numbers_;
};

}  // namespace edgefx::detail
