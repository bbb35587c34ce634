#include <edgefx/passes/standard.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/rewrite/program_rewriter.h>

#include "passes/graph_facts.h"

#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace edgefx {

PassRef unusedInputsPass() {
  return programPass("unused-inputs", [](ExportedProgram& program) {
    // What shares memory with an input that is written is state under another name.
    const detail::GraphFacts facts(program.graphModule(), program);
    const std::unordered_set<const void*> written = detail::writtenStorages(program);
    std::unordered_map<std::string_view, const InputSpec*> specs;
    for (const InputSpec& spec : program.signature.inputs) specs.emplace(spec.arg.name, &spec);
    const auto mayErase = [&](const Node& placeholder) {
      if (facts.memory.isWritten(placeholder)) return false;
      const StoredTensor* stored = program.findStored(*specs.at(placeholder.name()));
      return stored == nullptr || stored->storage().empty() || !written.contains(stored->storage().data());
    };
    return ProgramRewriter(program).eraseDeadInputs(
               {InputKind::Parameter, InputKind::Buffer, InputKind::ConstantTensor}, mayErase) != 0;
  });
}

}  // namespace edgefx
