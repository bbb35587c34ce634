#include "backend/test_backends.h"

#include <edgefx/ir/fx_text.h>
#include <edgefx/program/tensor_table.h>

#include <sstream>

namespace edgefx::test {
namespace {

void addTable(std::ostringstream& out, const TensorTable& table) {
  for (const auto& [name, entry] : table) {
    out << name << " at " << static_cast<const void*>(entry.storage().data()) << ' ' << entry.isParameter;
    if (entry.meta() != nullptr) out << ' ' << ValueMeta(*entry.meta()).text();
    out << '\n';
  }
}

void addNodes(std::ostringstream& out, const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    out << node.id() << ' ' << node.name() << ": " << (node.value() == nullptr ? "" : node.value()->text());
    for (const Node& user : node.users()) out << " user " << user.name();
    for (const NodeMeta::Entry& entry : node.meta().entries()) out << ' ' << entry.key << '=' << *entry.text;
    out << " tag=" << node.meta().delegationTag() << '\n';
  }
}

void addArgs(std::ostringstream& out, const std::vector<SpecArg>& args) {
  for (const SpecArg& arg : args) out << static_cast<int>(arg.kind) << arg.name << arg.className << ',';
}

}  // namespace

std::string snapshot(const ExportedProgram& program) {
  std::ostringstream out;
  out << fxText(program.graphModule());
  for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
    out << '[' << nested.path << "]\n";
    addNodes(out, nested.module->graph());
    for (const auto& [key, text] : nested.module->metadata) out << key << '=' << text << '\n';
  }
  out << text(program.signature);
  addTable(out, program.stateDict());
  addTable(out, program.constants());
  for (const RangeConstraint& range : program.rangeConstraints) out << range.symbol << text(range) << '\n';
  for (const ModuleCallEntry& entry : program.moduleCallGraph) {
    out << entry.fqn << ':';
    if (!entry.signature) continue;
    addArgs(out, entry.signature->inputs);
    addArgs(out, entry.signature->outputs);
    out << entry.signature->inSpec << entry.signature->outSpec << '\n';
  }
  for (const std::string& verifier : program.verifiers) out << verifier << '\n';
  for (const std::string& guard : program.guardsCode) out << guard << '\n';
  for (const auto& [path, members] : program.unknownMembers) out << path << members << '\n';
  out << static_cast<int>(program.dialect) << program.torchVersion << program.schemaVersion.minor;
  return std::move(out).str();
}

}  // namespace edgefx::test
