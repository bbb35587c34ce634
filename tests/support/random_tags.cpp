#include "support/random_tags.h"

#include <edgefx/ir/node_queries.h>

#include "support/random_program.h"

#include <algorithm>
#include <string>

namespace edgefx::test {

PartitionResult randomTags(const ExportedProgram& program, uint64_t seed) {
  Dice dice(seed);
  const bool wild = dice.percent(30);
  PartitionResult result;
  size_t numTags = 0;
  std::string tag;
  for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
    if (!nested.path.empty() && !dice.percent(50)) continue;
    for (const Node& node : nested.module->graph().nodes()) {
      if (node.isOutput() || node.isPlaceholder() || node.isGetAttr()) continue;
      if (getitemIndex(node)) {
        const std::string_view producer = result.tags.tagOf(node.arg(0).asNode());
        if (!producer.empty()) result.tags.tag(node, producer);
        continue;
      }
      if (wild ? dice.percent(60) : dice.percent(25))
        tag = dice.percent(25) ? "" : "t" + std::to_string(numTags++);
      if (wild && numTags > 0) tag = "t" + std::to_string(dice.below(std::min<size_t>(numTags, 3)));
      if (tag.empty()) continue;
      result.tags.tag(node, tag);
      for (const Node& input : node.inputs()) {
        if (input.isGetAttr() && (!wild || dice.percent(90))) result.tags.tag(input, tag);
      }
    }
    tag.clear();
  }
  for (const Node* node : program.graph().placeholders()) {
    const bool isState = program.signature.findInput(node->name())->target.has_value();
    if (!isState || node->numUsers() == 0 || !dice.percent(60)) continue;
    const std::string_view first = result.tags.tagOf(node->users().front());
    if (!first.empty()) result.tags.tag(*node, first);
  }
  for (size_t i = 0; i < numTags; ++i) {
    result.addSpec("t" + std::to_string(i), {i % 2 == 0 ? "even" : "odd", {{"n", std::to_string(i)}}});
  }
  return result;
}

}  // namespace edgefx::test
