#include <edgefx/text/diagrams.h>

#include "support/utf8.h"
#include "text/graph_views.h"

#include <fmt/format.h>

namespace edgefx {
namespace {

using detail::GraphView;
using detail::GraphViews;

// As the inside of a quoted string of DOT. Graphviz takes backslashes there for its own escapes.
void appendEscaped(std::string& out, std::string_view text) {
  for (const char c : detail::wellFormedUtf8(text)) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
    }
  }
}

std::string nodeId(size_t graph, const Node& node) {
  return fmt::format("n{}_{}", graph, node.id());
}

class DotWriter {
 public:
  explicit DotWriter(std::span<const NamedProgramRef> methods) : views_(methods) {}

  std::string write() {
    out_ =
        "digraph edgefx {\n  compound=true;\n  node [shape=box, style=filled, fillcolor=white, "
        "fontname=\"sans-serif\"];\n";
    for (size_t i = 0; i < views_.all().size(); ++i) appendGraph(i);
    out_ += links_;
    out_ += "}\n";
    return std::move(out_);
  }

 private:
  void appendGraph(size_t graph) {
    const GraphView& view = views_.all()[graph];
    out_ += fmt::format("  subgraph \"cluster_{}\" {{\n    label=\"", graph);
    appendEscaped(out_, view.id);
    if (view.delegate != nullptr) {
      out_ += "\\nbackend ";
      appendEscaped(out_, view.delegate->backendId);
    }
    out_ += "\";\n";
    for (const Node& node : view.module->graph().nodes()) appendNode(graph, node);
    for (const Node& node : view.module->graph().nodes()) {
      for (const Node& input : node.inputs())
        out_ += fmt::format("    {} -> {};\n", nodeId(graph, input), nodeId(graph, node));
      appendLinks(graph, node);
    }
    out_ += "  }\n";
  }

  void appendNode(size_t graph, const Node& node) {
    out_ += fmt::format("    {} [label=\"", nodeId(graph, node));
    const std::string_view label = detail::labelOf(node);
    appendEscaped(out_, label);
    if (node.name() != label) {
      out_ += "\\n";
      appendEscaped(out_, node.name());
    }
    if (node.value() != nullptr) {
      out_ += "\\n";
      appendEscaped(out_, node.value()->text());
    }
    out_ += '"';
    if (const std::string_view colour = colours_.of(node); !colour.empty())
      out_ += fmt::format(", fillcolor=\"{}\"", colour);
    out_ += "];\n";
  }

  void appendLinks(size_t graph, const Node& node) {
    for (const size_t shown : views_.shownBy(views_.all()[graph], node)) {
      const Node* first = views_.all()[shown].module->graph().front();
      if (first == nullptr) continue;
      links_ += fmt::format("  {} -> {} [style=dashed, lhead=\"cluster_{}\"];\n", nodeId(graph, node),
                            nodeId(shown, *first), shown);
    }
  }

  GraphViews views_;
  detail::TagColours colours_;
  std::string out_;
  std::string links_;
};

}  // namespace

std::string dotText(std::span<const NamedProgramRef> methods) {
  return DotWriter(methods).write();
}

std::string dotText(const ExportedProgram& program) {
  const NamedProgramRef method{"forward", &program};
  return dotText({&method, 1});
}

}  // namespace edgefx
