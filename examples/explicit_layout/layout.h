#pragma once

#include <edgefx/ir/node_queries.h>
#include <edgefx/rewrite/program_rewriter.h>

#include <array>
#include <string_view>

// What the steps of the lowering share.
namespace nhwc {

inline constexpr std::string_view kPermute = "aten.permute_copy.default";
// Copies that may be there for the order of memory only.
inline constexpr std::array<std::string_view, 4> kLayoutCopies = {
    "dim_order_ops._clone_dim_order.default", "dim_order_ops._to_dim_order_copy.default",
    "aten.clone.default", "aten._to_copy.default"};

inline edgefx::Arg toNhwc() {
  return edgefx::Arg::list({0, 2, 3, 1});
}
inline edgefx::Arg toNchw() {
  return edgefx::Arg::list({0, 3, 1, 2});
}

bool isContiguous(const edgefx::TensorMeta& tensor);
// Whether a call gives its first operand's elements, dtype and all, in another order of memory at most.
bool isLayoutCopy(const edgefx::Node& node);
// [N, C, H, W] with the strides of a contiguous [N, H, W, C].
bool isChannelsLast(const edgefx::TensorMeta& tensor);

// Folds batch norms into the convolutions before them, where nothing else reads those.
bool foldBatchNorms(edgefx::ExportedProgram& program);
// Puts channels-last operators between permutes in the place of convolutions and pooling.
bool insertPermutes(edgefx::ExportedProgram& program, bool skipDimOrder);
// Moves permutes down the graph until they meet others that undo them.
bool cancelPermutes(edgefx::ExportedProgram& program);

// The values of the operators of kernels.h.
void addOwnShapeRules(edgefx::ShapeRules& rules);

}  // namespace nhwc
