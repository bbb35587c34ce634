#include <edgefx/ir/fx_text.h>
#include <edgefx/program/delegated_text.h>
#include <edgefx/program/lowered_module.h>

namespace edgefx {
namespace {

void appendDelegatedLine(std::string& out, std::string_view indent, const Node& node) {
  out += indent;
  appendFxText(out, node);
  out += '\n';
}

void appendDelegatedGraph(std::string& out, const GraphModule& module) {
  out += "graph():\n";
  for (const Node& node : module.graph().nodes()) {
    appendDelegatedLine(out, "  ", node);
    const LoweredModule* lowered = node.isGetAttr() ? findLoweredModule(module, node) : nullptr;
    if (lowered == nullptr) continue;
    out += "    backend_id: ";
    out += lowered->backendId;
    out += "\n    lowered graph():\n";
    for (const Node& inner : lowered->program.graph().nodes()) appendDelegatedLine(out, "      ", inner);
  }
}

}  // namespace

std::string delegatedText(const ExportedProgram& program) {
  std::string out;
  for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
    if (!nested.path.empty()) {
      out += "# submodule ";
      out += nested.path;
      out += '\n';
    }
    appendDelegatedGraph(out, *nested.module);
  }
  return out;
}

}  // namespace edgefx
