#include "support/lowered_text.h"

#include <edgefx/ir/fx_text.h>
#include <edgefx/program/lowered_module.h>

namespace edgefx::test {
namespace {

std::string hexText(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

std::string loweredModuleText(const LoweredModule& lowered) {
  std::string out = "backend_id: " + lowered.backendId + '\n';
  for (const CompileSpec& spec : lowered.compileSpecs) {
    out += "compile_spec: " + spec.key + ' ' + hexText(spec.value) + '\n';
  }
  const std::string graph = fxText(lowered.program.graphModule());
  const bool isSame = graph == lowered.processedBytes.text();
  return out + stateText(lowered.program) + graph + "# signature\n" + text(lowered.program.signature) +
         "# processed_bytes " + std::to_string(lowered.processedBytes.size()) +
         (isSame ? " same\n" : " differ\n");
}

}  // namespace

std::string keysLine(std::string_view label, const TensorTable& table) {
  std::string line(label);
  line += ' ';
  for (const auto& entry : table) line += (line.back() == ' ' ? "" : " ") + entry.name;
  return line + '\n';
}

std::string stateText(const ExportedProgram& program) {
  return keysLine("state_dict:", program.stateDict()) + keysLine("constants:", program.constants());
}

std::string loweredText(const ExportedProgram& program) {
  std::string out;
  for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
    for (const Node& node : nested.module->graph().nodes()) {
      const LoweredModule* lowered = node.isGetAttr() ? findLoweredModule(*nested.module, node) : nullptr;
      if (lowered == nullptr) continue;
      out += "# lowered " + nested.path + (nested.path.empty() ? "" : ".") + std::string(node.targetText()) +
             '\n';
      out += loweredModuleText(*lowered);
    }
  }
  return out;
}

}  // namespace edgefx::test
