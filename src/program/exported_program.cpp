#include <edgefx/program/exported_program.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/support/python_text.h>

#include "support/fail.h"

#include <type_traits>

namespace edgefx {

static_assert(std::is_nothrow_move_constructible_v<ExportedProgram>);
static_assert(std::is_nothrow_move_assignable_v<ExportedProgram>);

std::string text(const RangeConstraint& range) {
  std::string out = "VR[";
  if (range.min) {
    appendRepr(out, *range.min);
  } else {
    out += "-int_oo";
  }
  out += ", ";
  if (range.max) {
    appendRepr(out, *range.max);
  } else {
    out += "int_oo";
  }
  out += ']';
  return out;
}

struct ExportedProgram::Tables {
  TensorTable stateDict, constants;
};

ExportedProgram::ExportedProgram() : ExportedProgram(std::make_unique<GraphModule>()) {}
ExportedProgram::ExportedProgram(std::unique_ptr<GraphModule> module)
    : graphModule_(std::move(module)), tables_(std::make_unique<Tables>()) {
  if (graphModule_ == nullptr) detail::fail<UsageError>("a program needs a graph module, found null");
}
ExportedProgram::~ExportedProgram() = default;
ExportedProgram::ExportedProgram(ExportedProgram&&) noexcept = default;
ExportedProgram& ExportedProgram::operator=(ExportedProgram&&) noexcept = default;

TensorTable& ExportedProgram::stateDict() {
  return tables_->stateDict;
}
const TensorTable& ExportedProgram::stateDict() const {
  return tables_->stateDict;
}
TensorTable& ExportedProgram::constants() {
  return tables_->constants;
}
const TensorTable& ExportedProgram::constants() const {
  return tables_->constants;
}

ExportedProgram ExportedProgram::clone() const {
  ExportedProgram copy(graphModule_->clone());
  *copy.tables_ = *tables_;
  copy.signature = signature;
  copy.rangeConstraints = rangeConstraints;
  copy.moduleCallGraph = moduleCallGraph;
  copy.namedTupleFields = namedTupleFields;
  copy.opsetVersion = opsetVersion;
  copy.schemaVersion = schemaVersion;
  copy.torchVersion = torchVersion;
  copy.verifiers = verifiers;
  copy.guardsCode = guardsCode;
  copy.dialect = dialect;
  copy.exampleInputs = exampleInputs;
  copy.unknownMembers = unknownMembers;
  copy.argumentNames = argumentNames;
  return copy;
}

const StoredTensor* ExportedProgram::findStored(const InputSpec& input) const {
  if (!input.target) return nullptr;
  const StoredTensor* found = nullptr;
  if (input.kind == InputKind::Parameter || input.kind == InputKind::Buffer) {
    found = stateDict().find(*input.target);
  }
  return found != nullptr ? found : constants().find(*input.target);
}

std::string_view ExportedProgram::rename(Node& node, std::string_view candidate) {
  if (&node.graph() != &graph()) {
    detail::fail<UsageError>("expected a node of the program's top level graph, found '%{}' of another graph",
                             node.name());
  }
  std::string before(node.name());
  std::string_view after = node.rename(candidate);
  if (after == before) return after;
  signature.renameNode(before, after);
  for (ModuleCallEntry& entry : moduleCallGraph) {
    if (!entry.signature) continue;
    for (auto* specs : {&entry.signature->inputs, &entry.signature->outputs}) {
      for (SpecArg& arg : *specs) {
        if (!arg.name.empty() && arg.name == before) arg.name = after;
      }
    }
  }
  return after;
}

}  // namespace edgefx
