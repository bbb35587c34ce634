#include "backend.h"

#include <edgefx/ir/graph_module.h>
#include <edgefx/ir/node_queries.h>

#include "kernels.h"
#include "rules.h"

#include <algorithm>

namespace onednn {

using namespace edgefx;

namespace {

// A result that only convolutions read stays as the kernels have it.
void keepChannelsLast(ProgramRewriter& rewriter) {
  const auto isConvolution = [](const Node& node) {
    return node.callsOperator("onednn.convolution.default");
  };
  for (const NestedModule& nested : namedModules(rewriter.program().graphModule())) {
    for (Node& node : nested.module->graph().nodes()) {
      if (isConvolution(node) && node.numUsers() != 0 && std::ranges::all_of(node.users(), isConvolution))
        rewriter.setArg(node, kChannelsLast, true);
    }
  }
}

ValueRef convolutionValue(const Node& node) {
  const std::optional<Sizes> input = sizesOf(*node.arg(0).findNode());
  const std::optional<Sizes> weight = numbersOf(node.arg(4)), stride = numbersOf(node.arg(6)),
                             padding = numbersOf(node.arg(7)), dilation = numbersOf(node.arg(8));
  if (!input || !weight || !stride || !padding || !dilation) return nullptr;
  const Sizes sizes = ConvolutionShape{*input, *weight, *stride, *padding, *dilation, 1}.output();
  TensorMeta result = contiguousTensor(Dtype::Float32, {sizes.begin(), sizes.end()});
  if (node.arg(kChannelsLast).asBool())
    result.strides = {sizes[1] * sizes[2] * sizes[3], 1, sizes[1] * sizes[3], sizes[1]};
  return ValueMeta::of(std::move(result));
}

// That of the argument, with another last size.
ValueRef withLastSize(const Argument& argument, const SymInt& size) {
  const TensorMeta* x = tensorMetaOf(argument.findNode());
  if (x == nullptr || x->sizes.empty()) return nullptr;
  std::vector<SymInt> sizes = x->sizes;
  sizes.back() = size;
  return ValueMeta::of(contiguousTensor(Dtype::Float32, std::move(sizes)));
}

}  // namespace

ExportedProgram OneDnnBackend::lower(ExportedProgram program, std::string_view /*methodName*/) const {
  registerOperators();
  ShapeRules shapes;
  addShapeRules(shapes);
  ProgramRewriter rewriter(program, &shapes);
  rewriter.eraseDeadNodes();  // getitems that nobody reads would count as readers of batch norms

  RuleSet folding;
  addFoldingRules(folding);
  folding.run(rewriter);

  PackedWeights packed;
  RuleSet lowering;
  addOperatorRules(lowering, packed);
  addFusionRules(lowering);
  lowering.run(rewriter);

  keepChannelsLast(rewriter);
  rewriter.eraseDeadInputs();
  return program;
}

void OneDnnBackend::addShapeRules(ShapeRules& rules) const {
  rules.add("onednn.convolution.default", convolutionValue);
  rules.add("onednn.linear.default",
            [](const Node& node) { return withLastSize(node.arg(0), node.arg(4).items()[0].asInt()); });
  rules.add("onednn.matmul.default", [](const Node& node) -> ValueRef {
    const TensorMeta* b = tensorMetaOf(node.arg(1).findNode());
    return b == nullptr || b->sizes.empty() ? ValueRef() : withLastSize(node.arg(0), b->sizes.back());
  });
}

}  // namespace onednn
