#include "support/hand_partitioner.h"

#include <edgefx/ir/fx_text.h>
#include <edgefx/partition/control_flow.h>
#include <edgefx/partition/tag_constants.h>

#include <memory>
#include <stdexcept>

namespace edgefx::test {
namespace {

class GraphTextBackend final : public BackendDetails {
 public:
  explicit GraphTextBackend(std::string name) : name_(std::move(name)) {}

  std::string_view name() const override { return name_; }
  PreprocessResult preprocess(ExportedProgram program,
                              std::span<const CompileSpec> /*compileSpecs*/) const override {
    return {SharedBytes::copyOf(fxText(program.graphModule()))};
  }

 private:
  std::string name_;
};

const Node& findNode(const ExportedProgram& program, const std::string& name) {
  const size_t slash = name.find('/');
  const bool isNested = slash != std::string::npos;
  const GraphModule* module =
      isNested ? program.graphModule().findChild(name.substr(0, slash)) : &program.graphModule();
  const Node* node =
      module == nullptr ? nullptr : module->graph().find(isNested ? name.substr(slash + 1) : name);
  if (node == nullptr) throw std::runtime_error("no node " + name);
  return *node;
}

}  // namespace

PartitionResult HandPartitioner::partition(const ExportedProgram& program) const {
  PartitionResult result;
  for (const auto& [tag, names] : wanted_) {
    std::string backend = "BackendHand";
    for (const auto& [given, id] : options_.backends) {
      if (given == tag) backend = id;
    }
    result.addSpec(tag, {backend});
    for (const std::string& name : names) {
      if (name != "*") {
        result.tags.tag(findNode(program, name), tag);
        continue;
      }
      for (const Node& node : program.graph().nodes()) {
        if (node.isCall()) result.tags.tag(node, tag);
      }
    }
  }
  if (options_.getitems) closeOverGetitems(program, result.tags);
  if (options_.branches) tagBranches(program, result.tags);
  if (options_.constants) tagConstantData(program, result.tags);
  if (options_.writtenBuffers) tagMutatedBuffers(program, result.tags);
  return result;
}

std::unique_ptr<BackendDetails> makeTextBackend(std::string name) {
  return std::make_unique<GraphTextBackend>(std::move(name));
}

const BackendRegistry& handRegistry() {
  static const BackendRegistry& registry = *[] {
    auto* made = new BackendRegistry();
    for (const char* name : {"BackendHand", "BackendOther"}) made->add(makeTextBackend(name));
    return made;
  }();
  return registry;
}

}  // namespace edgefx::test
