#include "support/hand_partitioner.h"

#include <edgefx/partition/control_flow.h>
#include <edgefx/partition/tag_constants.h>

#include <stdexcept>

namespace edgefx::test {
namespace {

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
    std::string backend = "BackendA";
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

}  // namespace edgefx::test
