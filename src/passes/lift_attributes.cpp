#include <edgefx/passes/standard.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/rewrite/program_rewriter.h>

#include "rewrite/input_place.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace edgefx {
namespace {

class AttributeLifter {
 public:
  explicit AttributeLifter(ExportedProgram& program) : program_(program) {
    const std::vector<Node*> placeholders = program.graph().placeholders();
    const std::vector<InputSpec>& specs = program.signature.inputs;
    if (placeholders.size() != specs.size()) return;
    for (size_t i = 0; i < specs.size(); ++i) {
      if (specs[i].target && isStoredTensor(specs[i].kind))
        inputs_.emplace(std::pair(isOfState(specs[i]), *specs[i].target), placeholders[i]);
    }
  }

  bool run() {
    std::vector<Found> found;
    for (const NestedModule& nested : namedModules(program_.graphModule())) {
      for (Node& node : nested.module->graph().nodes()) {
        if (std::optional<Entry> entry = entryOf(node, nested)) {
          found.push_back({nested.module, &node, std::move(*entry)});
        }
      }
    }
    addInputs(found);
    ProgramRewriter rewriter(program_);
    std::map<std::pair<const GraphModule*, const Node*>, Node*> passed;  // looked up only
    for (const Found& lifted : found) {
      Node* const input = inputs_.at(lifted.entry);
      Node*& here = passed[{lifted.module, input}];
      if (here == nullptr) here = &rewriter.passDown(*lifted.module, *input);
      lifted.node->replaceAllUsesWith(*here);
      lifted.module->graph().erase(*lifted.node);
    }
    return !found.empty();
  }

 private:
  using Entry = std::pair<bool, std::string>;  // whether it is in the state dict, and its name
  struct Found {
    GraphModule* module;
    Node* node;
    Entry entry;
  };

  static bool isOfState(const InputSpec& spec) {
    return spec.kind == InputKind::Parameter ||
           (spec.kind == InputKind::Buffer && spec.persistent.value_or(true));
  }

  std::optional<Entry> entryOf(const Node& node, const NestedModule& owner) const {
    if (!node.isGetAttr() || owner.module->findChild(node.targetText()) != nullptr ||
        owner.module->findDelegate(node.targetText()) != nullptr) {
      return std::nullopt;
    }
    for (std::string name : {childPath(owner.path, node.targetText()), std::string(node.targetText())}) {
      for (const TensorTable* table : {&program_.stateDict(), &program_.constants()}) {
        const StoredTensor* stored = table->find(name);
        const bool isTensor = stored != nullptr && stored->meta() != nullptr;
        if (isTensor) return Entry(table == &program_.stateDict(), std::move(name));
      }
    }
    return std::nullopt;
  }

  // Inputs for entries without one, before the first user input, in the order of first use.
  void addInputs(const std::vector<Found>& found) {
    Graph& graph = program_.graph();
    std::vector<InputSpec>& specs = program_.signature.inputs;
    const detail::InputPlace place = detail::placeOfStoredInputs(program_);
    const InsertionGuard guard(graph, place.point);
    std::vector<InputSpec> made;
    for (const Found& lifted : found) {
      const auto& [isState, name] = lifted.entry;
      Node*& input = inputs_[lifted.entry];
      if (input != nullptr) continue;
      const StoredTensor& stored = *(isState ? program_.stateDict() : program_.constants()).find(name);
      InputSpec spec;
      spec.kind = !isState             ? InputKind::ConstantTensor
                  : stored.isParameter ? InputKind::Parameter
                                       : InputKind::Buffer;
      if (spec.kind == InputKind::Buffer) spec.persistent = true;
      spec.target = name;
      std::string nodeName(isState ? (stored.isParameter ? "p_" : "b_") : "c_");
      nodeName += name;
      std::ranges::replace(nodeName, '.', '_');
      input = &graph.placeholder(nodeName, nodeName);
      input->setValue(lifted.node->value() != nullptr && lifted.node->value()->tensor() != nullptr
                          ? lifted.node->valueRef()
                          : ValueMeta::of(TensorMeta(*stored.meta())));
      spec.arg.name = input->name();
      made.push_back(std::move(spec));
    }
    specs.insert(specs.begin() + static_cast<std::ptrdiff_t>(place.position),
                 std::make_move_iterator(made.begin()), std::make_move_iterator(made.end()));
  }

  ExportedProgram& program_;
  std::map<Entry, Node*> inputs_;
};

}  // namespace

PassRef liftAttributesPass() {
  return programPass("lift-attributes",
                     [](ExportedProgram& program) { return AttributeLifter(program).run(); });
}

}  // namespace edgefx
