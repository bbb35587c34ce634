#include "backends.h"

#include <string>
#include <utility>
#include <vector>

namespace edgefx::conformance {
namespace {

std::vector<std::pair<Target, Target>> retargetings() {
  std::vector<std::pair<Target, Target>> pairs;
  for (const char* op : {"abs", "acos", "asin", "atan", "ceil", "cos", "erf", "exp", "floor", "log", "neg",
                         "reciprocal", "relu", "rsqrt", "sigmoid", "sin", "sqrt", "tan", "tanh"}) {
    pairs.emplace_back(Target::edge(std::string("aten.") + op + ".default"),
                       Target::edge(std::string("op_backend_test.") + op + ".default"));
  }
  return pairs;
}

class Retarget final : public OpBackend {
 public:
  std::string_view name() const override { return "retarget"; }

  ExportedProgram lower(ExportedProgram program, std::string_view /*methodName*/) const override {
    static const auto kRetargetings = retargetings();
    for (const NestedModule& nested : namedModules(program.graphModule())) {
      for (Node& node : nested.module->graph().nodes()) {
        for (const auto& [from, to] : kRetargetings) {
          if (node.isCall(from)) {
            node.setTarget(to);
            break;
          }
        }
      }
    }
    return program;
  }
};

}  // namespace

std::unique_ptr<OpBackend> makeRetarget() {
  return std::make_unique<Retarget>();
}

}  // namespace edgefx::conformance
