#include <edgefx/dialect/decompose.h>
#include <edgefx/ir/fx_text.h>
#include <edgefx/ir/scalar_type.h>
#include <edgefx/program/check_program.h>
#include <edgefx/program/check_shapes.h>
#include <edgefx/run/verify_lowering.h>
#include <edgefx/support/error.h>

#include "dialect/decomposition.h"
#include "dialect/rule_cases.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <vector>

// Each rule: the operator's own kernel and its decomposition give the same.
namespace edgefx::test {
namespace {

constexpr const char* kViewCases[] = {
    "_unsafe_view.default | f32[2,6] | $0, [3,4] | exact",
    "reshape.default | f32[2,6] | $0, [3,-1] | exact",
    "reshape.default | f32[2,3,4]~201 | $0, [6,4] | exact",
    "reshape.default | f32[s0=3/5,4]~10 | $0, [-1] | exact",
    "_reshape_alias.default | f32[2,6] | $0, [3,4], [4,1] | exact",
    "reshape_as.default | f32[2,6] f32[4,3] | $0, $1 | exact",
    "view_as.default | f32[2,6] f32[4,3] | $0, $1 | exact",
    "expand_as.default | f32[1,3] f32[s0=4/2,3] | $0, $1 | exact",
    "broadcast_to.default | f32[1,3] | $0, [4,3] | exact",
    "flatten.using_ints | f32[2,3,4] | $0 | exact",
    "flatten.using_ints | f32[2,3,4,2] | $0, 1, -2 | exact",
    "flatten.using_ints | f32[2,3,4]~021 | $0, 1 | exact",
    "flatten.using_ints | f32[s0=2/4,3,s1=4/5] | $0, 0, 1 | exact",
    "flatten.using_ints | f32[] | $0 | exact",
    "unflatten.int | f32[2,12] | $0, -1, [3,4] | exact",
    "unflatten.int | f32[s0=2/5,12] | $0, 1, [3,-1] | exact",
    "squeeze.default | f32[1,3,1] | $0 | exact",
    "squeeze.dim | f32[1,3,1] | $0, -1 | exact",
    "squeeze.dim | f32[1,3,1] | $0, 1 | exact",
    "transpose.int | f32[2,3,4] | $0, 1, -1 | exact",
    "transpose.int | f32[2,3,4] | $0, 1, 1 | exact",
    "transpose.int | f32[s0=2/3,3,4] | $0, 0, -2 | exact",
    "swapaxes.default | f32[2,3,4] | $0, 0, 2 | exact",
    "swapdims.default | f32[2,3,4] | $0, 0, 2 | exact",
    "t.default | f32[2,3] | $0 | exact",
    "t.default | f32[3] | $0 | exact",
    "mT.default | f32[2,3,4] | $0 | exact",
    "mH.default | f32[2,3,4] | $0 | exact",
    "adjoint.default | f32[2,3,4] | $0 | exact",
    "matrix_H.default | f32[3,4] | $0 | exact",
    "numpy_T.default | f32[2,3,4] | $0 | exact",
    "movedim.int | f32[2,3,4] | $0, 0, -1 | exact",
    "movedim.intlist | f32[2,3,4,5] | $0, [0,1], [2,0] | exact",
    "moveaxis.int | f32[2,3,4] | $0, -1, 0 | exact",
    "moveaxis.intlist | f32[2,3,4] | $0, [1], [0] | exact",
    "narrow.default | f32[4,6] | $0, 1, 2, 3 | exact",
    "narrow.default | f32[4,6] | $0, -1, -2, 2 | exact",
    "narrow_copy.default | f32[4,6] | $0, 1, 2, 3 | exact",
    "detach.default | f32[2] | $0 | exact",
    "lift.default | f32[2] | $0 | exact",
    "lift_fresh.default | f32[2] | $0 | exact",
    "positive.default | f32[2] | $0 | exact",
    "split.Tensor | f32[7,2] | $0, 3 | ->3 exact",
    "split.Tensor | f32[2,6] | $0, 3, -1 | ->2 exact",
    "unsafe_split.Tensor | f32[7,2] | $0, 3 | ->3 exact",
    "split.sizes | f32[7,2] | $0, [3,4] | ->2 exact",
    "unsafe_split_with_sizes.default | f32[7,2] | $0, [3,4] | ->2 exact",
    "chunk.default | f32[7,2] | $0, 3 | ->3 exact",
    "chunk.default | f32[2,4] | $0, 2, -1 | ->2 exact",
    "chunk.default | f32[0,4] | $0, 2 | ->2 exact",
    "chunk.default | f32[s0=4/6,4] | $0, 2, 1 | ->2 exact",
    "unsafe_chunk.default | f32[7,2] | $0, 3 | ->3 exact",
    "tensor_split.sections | f32[7,2] | $0, 3 | ->3 exact",
    "tensor_split.indices | f32[7,2] | $0, [2,5], 0 | ->3 exact",
    "hsplit.int | f32[2,6] | $0, 3 | ->3 exact",
    "hsplit.array | f32[6] | $0, [1,4] | ->3 exact",
    "vsplit.int | f32[4,6] | $0, 2 | ->2 exact",
    "vsplit.array | f32[4,6] | $0, [1] | ->2 exact",
    "dsplit.int | f32[2,2,6] | $0, 3 | ->3 exact",
    "dsplit.array | f32[2,2,6] | $0, [2] | ->2 exact",
    "unbind.int | f32[3,2] | $0 | ->3 exact",
    "unbind.int | f32[3,2] | $0, -1 | ->2 exact",
    "roll.default | f32[4,3] | $0, [1], [0] | exact",
    "roll.default | f32[4,3] | $0, [-5,1], [1,0] | exact",
    "roll.default | f32[4,3] | $0, [2] | exact",
    "atleast_1d.default | f32[] | $0 | exact",
    "atleast_2d.default | f32[3] | $0 | exact",
    "atleast_2d.default | f32[3,2] | $0 | exact",
    "pixel_shuffle.default | f32[2,8,3,4] | $0, 2 | exact",
    "pixel_shuffle.default | f32[2,8,3,4]~0231 | $0, 2 | exact",
    "pixel_unshuffle.default | f32[2,3,4,6] | $0, 2 | exact",
    "channel_shuffle.default | f32[2,6,3,4] | $0, 3 | exact",
    "native_channel_shuffle.default | f32[2,6,3,4] | $0, 3 | exact",
};

constexpr const char* kJoinCases[] = {
    "stack.default | f32[2,3] f32[2,3] | [$0,$1] | exact",
    "stack.default | f32[2,3] f32[2,3] | [$0,$1], 1 | exact",
    "stack.default | f32[2,3] f32[2,3] | [$0,$1], -1 | exact",
    "stack.default | f32[] f32[] | [$0,$1] | exact",
    "stack.default | f32[s0=2/4,3] f32[s0=2/4,3] | [$0,$1], 1 | exact",
    "concat.default | f32[2,3] f32[1,3] | [$0,$1] | exact",
    "concatenate.default | f32[2,3] f32[2,1] | [$0,$1], -1 | exact",
    "hstack.default | f32[2,3] f32[2,1] | [$0,$1] | exact",
    "hstack.default | f32[3] f32[] | [$0,$1] | exact",
    "vstack.default | f32[3] f32[3] | [$0,$1] | exact",
    "row_stack.default | f32[2,3] f32[1,3] | [$0,$1] | exact",
    "column_stack.default | f32[3] f32[3,2] | [$0,$1] | exact",
    "broadcast_tensors.default | f32[3,1] f32[1,2] | [$0,$1] | ->2 exact",
    "meshgrid.default | f32[3] f32[2] | [$0,$1] | ->2 exact",
    "meshgrid.indexing | f32[3] f32[2] | [$0,$1], indexing='xy' | ->2 exact",
    "meshgrid.indexing | f32[3] f32[2] | [$0,$1], indexing='ij' | ->2 exact",
    "tile.default | f32[2,3] | $0, [2] | exact",
    "tile.default | f32[3] | $0, [2,2] | exact",
    "repeat_interleave.self_int | f32[2,3] | $0, 2, 1 | exact",
    "repeat_interleave.self_int | f32[2,3] | $0, 3 | exact",
    "repeat_interleave.self_int | f32[2,s0=3/4] | $0, 2, -1 | exact",
};

constexpr const char* kFactoryCases[] = {
    "zeros.default | | [2,3], device=cpu, pin_memory=False | exact",
    "zeros.default | | [2,3], dtype=torch.bool | exact",
    "ones.default | | [2,3], dtype=torch.int64 | exact",
    "ones.default | | [2], dtype=torch.bool | exact",
    "new_zeros.default | f32[2] | $0, [3], pin_memory=False | exact",
    "new_ones.default | i64[2] | $0, [], dtype=torch.bool | exact",
    "new_full.default | f32[2] | $0, [3], 1.5 | exact",
    "new_empty.default | f32[2] | $0, [3] | random",
    "new_empty_strided.default | f32[2] | $0, [2,3], [1,2] | random",
    "zeros_like.default | f32[2,3]~10 | $0 | exact",
    "zeros_like.default | b[2,3] | $0, pin_memory=False | exact",
    "zeros_like.default | f32[2,3]~10 | $0, dtype=torch.int32, memory_format=torch.contiguous_format | exact",
    "zero.default | f32[2,3] | $0 | exact",
    "ones_like.default | f32[s0=2/3,3] | $0 | exact",
    "fill.Scalar | f32[2,3] | $0, 2.5 | exact",
    "empty_like.default | f32[2,3] | $0 | random keeps empty_permuted.default",
    "empty_like.default | f32[2,3,4]~201 | $0, pin_memory=False | random keeps empty_permuted.default",
    "empty_like.default | f32[2,3,4,5] | $0, memory_format=torch.channels_last | random",
    "arange.default | | 4, device=cpu, pin_memory=False | exact",
    "arange.default | | 2.5 | exact",
    "arange.start | | 1, 6, dtype=torch.float64 | exact",
    "linspace.default | | 0.0, 1.0, 7",
    "linspace.default | | -2.0, 3.0, 1",
    "linspace.default | | -2.0, 3.0, 8, dtype=torch.float64",
    "linspace.default | | 0, 9, 4, dtype=torch.int64 | stays: its dtype is not float32 or float64",
    "eye.default | | 3 | exact",
    "eye.m | | 2, 3, dtype=torch.int64 | exact",
    "tril.default | f32[3,4] | $0 | exact",
    "tril.default | b[3,4] | $0, 1 | exact",
    "tril.default | f32[2,s0=3/5,4] | $0, -1 | exact",
    "triu.default | i64[2,3,4]<9 | $0, 1 | exact",
    "triu.default | f32[3,4]~10 | $0, -1 | exact",
    "one_hot.default | i64[2,3]<4 | $0, 4 | exact",
    "one_hot.default | i64[3]<4 | $0 | stays: the number of classes depends on data",
    "rand_like.default | f32[2,3] | $0 | random",
    "randn_like.default | f32[2,3] | $0, dtype=torch.float64 | random",
};

constexpr const char* kCopyCases[] = {
    "to.dtype | f32[2,3] | $0, torch.float64 | exact",
    "to.dtype | f32[2,3] | $0, torch.float32 | exact",
    "to.dtype | f32[2,3] | $0, torch.float16, False, False, torch.contiguous_format | exact",
    "to.dtype | f32[2,3] | $0, torch.float32, False, True | exact",
    "to.device | i64[2,3] | $0, cpu, torch.bool | exact",
    "to.device | f32[2,3] | $0, cpu, torch.float32 | exact",
    "to.dtype_layout | f32[1,2,3,4] | $0, dtype=torch.float32, device=cpu, memory_format=torch.channels_last "
    "| exact",
    "to.dtype_layout | f32[2] | $0, dtype=torch.float32, device=cpu | exact",
    "to.other | f32[2] i64[1] | $0, $1 | exact",
    "type_as.default | f32[2] f64[1] | $0, $1 | exact",
    "contiguous.default | f32[2,3] | $0 | exact",
    "contiguous.default | f32[2,3]~10 | $0 | exact",
    "contiguous.default | f32[2,3,4,5] | $0, memory_format=torch.channels_last | exact",
    "lift_fresh_copy.default | f32[2] | $0 | exact",
};

constexpr const char* kMatrixCases[] = {
    "matmul.default | f32[3] f32[3] | $0, $1",
    "matmul.default | f32[2,3] f32[3] | $0, $1",
    "matmul.default | f32[3] f32[3,2] | $0, $1",
    "matmul.default | f32[2,3] f32[3,4] | $0, $1",
    "matmul.default | f32[5,2,3] f32[3,4] | $0, $1",
    "matmul.default | f32[5,2,3]~102 f32[3,4] | $0, $1",
    "matmul.default | f32[6,5,2,3] f32[3] | $0, $1",
    "matmul.default | f32[2,3] f32[5,3,4] | $0, $1",
    "matmul.default | f32[3] f32[5,3,4] | $0, $1",
    "matmul.default | f32[5,2,3] f32[5,3,4] | $0, $1",
    "matmul.default | f32[1,2,3] f32[5,3,4] | $0, $1",
    "matmul.default | f32[5,2,3] f32[1,3,4] | $0, $1",
    "matmul.default | f32[6,1,2,3] f32[5,3,4] | $0, $1",
    "matmul.default | f32[2,5,2,3] f32[2,5,3,4]~0132 | $0, $1",
    "matmul.default | f64[2,0,3] f64[3,4] | $0, $1",
    "matmul.default | f32[s0=2/4,2,3] f32[s0=2/4,3,4] | $0, $1",
    "matmul.default | f32[s0=2/4,s1=3/5,3] f32[3,4] | $0, $1",
    "linalg_matmul.default | f32[2,3] f32[3,4] | $0, $1",
    "linear.default | f32[2,4] f32[3,4] | $0, $1",
    "linear.default | f32[2,4] f32[3,4] f32[3] | $0, $1, $2",
    "linear.default | f32[4] f32[3,4] f32[3] | $0, $1, $2",
    "linear.default | f32[4] f32[3,4] | $0, $1, None",
    "linear.default | f32[5,2,4] f32[3,4] f32[3] | $0, $1, bias=$2",
    "linear.default | f32[5,2,4]~102 f32[3,4] f32[3] | $0, $1, $2",
    "linear.default | f32[6,5,2,4] f32[3,4] | $0, $1",
    "linear.default | f64[s0=5/7,s1=2/3,4] f64[3,4] f64[3] | $0, $1, $2",
    "linear.default | f32[s0=5/7,4] f32[3,4] f32[3] | $0, $1, $2",
    "linear.default | f32[s0=5/7,2,4] f32[3,4] | $0, $1",
    "mv.default | f32[2,3] f32[3] | $0, $1",
    "dot.default | f32[3] f32[3] | $0, $1",
    "vdot.default | f32[3] f32[3] | $0, $1",
    "inner.default | f32[2,3] f32[4,3] | $0, $1",
    "inner.default | f32[3] f32[] | $0, $1",
    "outer.default | f32[2] f32[3] | $0, $1 | exact",
    "ger.default | f32[2] f32[3] | $0, $1 | exact",
    "addmv.default | f32[2] f32[2,3] f32[3] | $0, $1, $2, beta=0.5, alpha=2",
    "addmv.default | f32[2] f32[2,3] f32[3] | $0, $1, $2, beta=0",
    "addr.default | f32[2,3] f32[2] f32[3] | $0, $1, $2, alpha=2",
    "baddbmm.default | f32[5,2,4] f32[5,2,3] f32[5,3,4] | $0, $1, $2",
    "baddbmm.default | f32[4] f32[5,2,3] f32[5,3,4] | $0, $1, $2, beta=0.5, alpha=0.25",
    "addbmm.default | f32[2,4] f32[5,2,3] f32[5,3,4] | $0, $1, $2, beta=2",
    "bilinear.default | f32[4,2,3] f32[4,2,5] f32[6,3,5] f32[6] | $0, $1, $2, $3",
    "bilinear.default | f32[2,3] f32[2,5] f32[6,3,5] | $0, $1, $2, None",
    "einsum.default | f32[1,2,4,4] f32[1,2,4,5] | 'abcd,abce->abde', [$0,$1]",
    "einsum.default | f32[3,4] f32[4,5] | 'ij,jk->ik', [$0,$1]",
    "einsum.default | f32[3,4] f32[4,5] | 'ij,jk', [$0,$1]",
    "einsum.default | f32[3,4] | 'ij->ji', [$0]",
    "einsum.default | f32[3,4] | 'ij->i', [$0]",
    "einsum.default | f32[3] f32[4] | 'i,j->ij', [$0,$1]",
    "einsum.default | f32[3,4] f32[3,4] | 'ij,ij->', [$0,$1]",
    "einsum.default | f32[2,3] f32[3,4] f32[4,5] | 'ij,jk,kl->il', [$0,$1,$2]",
    "einsum.default | f32[2,3] f32[4,5] | 'ij,kl->k', [$0,$1]",
    "einsum.default | f32[s0=2/3,3,4] f32[s0=2/3,4,5] | 'bij,bjk->bik', [$0,$1]",
    "einsum.default | f32[3,3] | 'ii->i', [$0] | stays: an operand has a label twice",
    "einsum.default | f32[2,3] f32[3,4] | '...j,jk->...k', [$0,$1] | stays: the equation has an ellipsis",
};

constexpr const char* kConvolutionCases[] = {
    "conv1d.default | f32[2,3,8] f32[4,3,3] f32[4] | $0, $1, $2, [2], [1]",
    "conv1d.default | f32[3,8] f32[4,3,3] | $0, $1",
    "conv2d.default | f32[2,4,6,7] f32[6,2,3,3] f32[6] | $0, $1, $2, [2,1], [1,2], [1,1], 2",
    "conv2d.default | f32[2,4,6,7] f32[6,4,3,3] | $0, $1, None, 2, 1",
    "conv2d.default | f32[2,4,6,7] f32[6,4,3,3] | $0, $1, None, [2]",
    "conv2d.default | f32[4,6,7] f32[6,4,3,3] | $0, $1",
    "conv2d.default | f32[s0=2/3,4,6,7] f32[6,4,3,3] f32[6] | $0, $1, $2",
    "conv3d.default | f32[1,2,4,5,6] f32[3,2,2,2,2] | $0, $1",
    "conv1d.padding | f32[2,3,8] f32[4,3,4] f32[4] | $0, $1, $2, [1], 'same'",
    "conv1d.padding | f32[2,3,8] f32[4,3,3] f32[4] | $0, $1, $2, [2], 'valid'",
    "conv2d.padding | f32[2,4,6,7] f32[6,4,3,3] | $0, $1, None, [1,1], 'same', [2,1]",
    "conv2d.padding | f32[2,4,6,7] f32[6,4,3,2] | $0, $1, None, [1,1], 'same'",
    "conv3d.padding | f32[1,2,4,5,6] f32[3,2,2,2,3] | $0, $1, None, [1,1,1], 'same'",
    "conv_transpose1d.default | f32[2,3,8] f32[3,4,3] f32[4] | $0, $1, $2, [2], [1], [1]",
    "conv_transpose2d.input | f32[2,4,6,7] f32[4,3,3,3] f32[6] | $0, $1, $2, [2,2], [1,1], [1,0], 2, [1,1]",
    "conv_transpose2d.input | f32[4,6,7] f32[4,3,3,3] | $0, $1",
    "conv_transpose3d.input | f32[1,2,4,5,6] f32[2,3,2,2,2] | $0, $1",
    "_convolution.default | f32[2,4,6,7] f32[6,4,3,3] | $0, $1, None, [1,1], [0,0], [1,1], False, [0,0], 1, "
    "False, False, True, True",
    "max_pool1d.default | f32[2,3,8] | $0, [3], [2], [1] | exact",
    "max_pool1d.default | f32[2,3,8] | $0, 3 | exact",
    "max_pool1d_with_indices.default | f32[2,3,8] | $0, [3], [2] | ->2 exact",
    "max_pool2d.default | f32[2,3,8,9] | $0, [3,3], [2,2], [1,1] | exact",
    "max_pool2d.default | f32[2,3,8,9] | $0, [2,2] | exact",
    "max_pool2d.default | f32[3,8,9] | $0, [3,2], [2,2], [1,1], [1,1], True | exact",
    "max_pool2d.default | f32[s0=2/3,3,8,9] | $0, [2,2] | exact",
    "max_pool3d.default | f32[1,2,4,5,6] | $0, [2,2,2] | exact",
    "adaptive_avg_pool2d.default | f32[2,3,8,6] | $0, [1,1]",
    "adaptive_avg_pool2d.default | f32[2,3,8,6]~0231 | $0, [1,1]",
    "adaptive_avg_pool2d.default | f32[2,3,8,6] | $0, [4,3]",
    "adaptive_avg_pool2d.default | f32[s0=2/4,3,8,6] | $0, [1,1]",
    "adaptive_avg_pool3d.default | f32[2,3,4,6,4] | $0, [1,1,1]",
    "adaptive_avg_pool3d.default | f32[2,3,4,6,4] | $0, [2,3,2]",
    "pad.default | f32[2,3,4] | $0, [1,2] | exact",
    "pad.default | f32[2,3,4] | $0, [1,0,2,1], 'constant', 3.5 | exact",
    "pad.default | f32[2,3,4] | $0, [1,2], 'reflect' | exact",
    "pad.default | f32[2,3,4,5] | $0, [1,2,1,0], 'reflect' | exact",
    "pad.default | f32[2,3,4] | $0, [1,2], 'replicate' | exact",
    "pad.default | f32[2,3,4,5] | $0, [1,2,1,0], 'replicate' | exact",
    "pad.default | f32[1,2,3,4,5] | $0, [1,2,1,0,1,1], 'replicate' | exact",
    "pad.default | f32[2,3,4] | $0, [1,2], 'circular' | stays: there is no rule for its mode",
    "replication_pad1d.default | f32[3,4] | $0, [1,2] | exact",
    "upsample_nearest2d.default | f32[1,2,3,4] | $0, [6,8] | exact",
    "upsample_nearest2d.default | f32[1,2,3,4] | $0, [6,6], 2.0, 1.5 | exact",
    "upsample_bilinear2d.default | f32[1,2,3,4] | $0, [6,7], True",
    "upsample_bilinear2d.default | f32[1,2,3,4] | $0, [6,6], False, 2.0, 1.5",
};

constexpr const char* kNormCases[] = {
    "batch_norm.default | f32[2,3,4,4] f32[3] f32[3] f32[3] f32[3]p | $0, $1, $2, $3, $4, False, 0.1, 1e-5, "
    "False",
    "batch_norm.default | f32[2,3] f32[3] f32[3]p | $0, None, None, $1, $2, False, 0.1, 1e-3, True",
    "batch_norm.default | f32[s0=2/4,3,4] f32[3] f32[3] f32[3] f32[3]p | $0, $1, $2, $3, $4, False, 0.1, "
    "1e-5, False",
    "batch_norm.default | f32[4,3,5] f32[3] f32[3] | $0, $1, $2, None, None, True, 0.1, 1e-5, False | e-4",
    "batch_norm.default | f32[4,3,5] f32[3] f32[3]p | $0, None, None, $1, $2, True, 0.1, 1e-5, False | "
    "stays: it "
    "writes its running statistics, which is to be made functional",
    "instance_norm.default | f32[2,3,4,5] | $0, None, None, None, None, True, 0.1, 1e-5, False | e-4",
    "instance_norm.default | f32[2,3,6] f32[3] f32[3] | $0, $1, $2, None, None, True, 0.1, 1e-5, False | e-4",
    "layer_norm.default | f32[2,3,4] f32[4] f32[4] | $0, [4], $1, $2, 1e-5, False",
    "layer_norm.default | f32[2,3,4] | $0, [3,4]",
    "layer_norm.default | f32[s0=2/3,4] f32[4] | $0, [4], $1",
    "group_norm.default | f32[2,6,4] f32[6] f32[6] | $0, 3, $1, $2, 1e-5 | e-4",
    "group_norm.default | f32[2,6,4,3] | $0, 2 | e-4",
    "group_norm.default | f32[2,6,4]~102 f32[6] | $0, 2, $1 | e-4",
    "rms_norm.default | f32[2,3,4] f32[4] | $0, [4], $1, 1e-6",
    "rms_norm.default | f32[2,3,4] | $0, [3,4]",
    "rms_norm.default | f16[2,8] f16[8] | $0, [8], $1 | e-3",
};

constexpr const char* kActivationCases[] = {
    "silu.default | f32[2,3] | $0",
    "silu.default | bf16[2,3] | $0 | e-2",
    "hardswish.default | f32[4,5] | $0",
    "hardsigmoid.default | f32[4,5] | $0",
    "softplus.default | f32[4,5] | $0",
    "softplus.default | f64[4,5] | $0, 2.0, 1.5",
    "mish.default | f32[4,5] | $0",
    "relu6.default | f32[4,5] | $0 | exact",
    "selu.default | f32[4,5] | $0",
    "celu.default | f32[4,5] | $0, 1.5",
    "prelu.default | f32[2,3,4] f32[3] | $0, $1 | exact",
    "prelu.default | f32[2,3] f32[1] | $0, $1 | exact",
    "_prelu_kernel.default | f32[2,3] f32[1,3] | $0, $1 | exact",
    "glu.default | f32[2,6] | $0",
    "glu.default | f32[4,3] | $0, 0",
    "threshold.default | f32[4,5] | $0, 0.5, -2.0 | exact",
    "threshold.default | i64[4,5]<9 | $0, 3, 20 | exact",
    "log_sigmoid.default | f32[4,5] | $0",
    "hardshrink.default | f32[4,5] | $0, 1.25 | exact",
    "softshrink.default | f32[4,5] | $0, 1.25",
    "softmax.int | f32[2,3] | $0, -1",
    "softmax.int | f32[2,3] | $0, 0, torch.float64",
    "softmax.int | f32[s0=2/4,3] | $0, 1",
    "softmax.int | bf16[2,3] | $0, 1, torch.float32 | e-3",
    "log_softmax.int | f32[2,3] | $0, 1",
    "special_softmax.default | f32[2,3] | $0, 1",
    "special_log_softmax.default | f32[2,3] | $0, 1, dtype=torch.float64",
    "_safe_softmax.default | f32[2,3]n | $0, -1",
    "_safe_softmax.default | f32[2,3] | $0, -1, torch.float64",
    "dropout.default | f32[2,3] | $0, 0.5, False | exact",
    "dropout.default | f32[2,3] | $0, 0.0, True | exact",
    "dropout.default | f32[2,3] | $0, 0.5, True | random",
    "feature_dropout.default | f32[2,3] | $0, 0.5, False | exact",
    "alpha_dropout.default | f32[2,3] | $0, 0.5, False | exact",
    "alpha_dropout.default | f32[2,3] | $0, 0.5, True | stays: there is no rule for training",
    "feature_alpha_dropout.default | f32[2,3] | $0, 0.5, False | exact",
};

constexpr const char* kAttentionCases[] = {
    "scaled_dot_product_attention.default | f32[2,3,4,8] f32[2,3,5,8] f32[2,3,5,8] | $0, $1, $2",
    "scaled_dot_product_attention.default | f32[2,3,4,8] f32[2,3,5,8] f32[2,3,5,8] b[4,5] | $0, $1, $2, $3",
    "scaled_dot_product_attention.default | f32[2,3,4,8] f32[2,3,5,8] f32[2,3,5,8] f32[2,1,4,5] | $0, $1, "
    "$2, $3",
    "scaled_dot_product_attention.default | f32[2,3,4,8] f32[2,3,4,8] f32[2,3,4,8] | $0, $1, $2, None, 0.0, "
    "True",
    "scaled_dot_product_attention.default | f32[3,4,8] f32[3,5,8] f32[3,5,6] | $0, $1, $2, scale=0.25",
    "scaled_dot_product_attention.default | f32[4,8] f32[5,8] f32[5,8] | $0, $1, $2, scale=-0.5",
    "scaled_dot_product_attention.default | f32[2,4,4,8] f32[2,2,5,8] f32[2,2,5,8] | $0, $1, $2, "
    "enable_gqa=True",
    "scaled_dot_product_attention.default | f16[2,3,4,8] f16[2,3,5,8] f16[2,3,5,8] | $0, $1, $2 | e-2",
    "scaled_dot_product_attention.default | f32[1,2,s0=4/6,8] f32[1,2,s0=4/6,8] f32[1,2,s0=4/6,8] | $0, $1, "
    "$2",
    "scaled_dot_product_attention.default | f32[1,2,s0=4/6,8] f32[1,2,s0=4/6,8] f32[1,2,s0=4/6,8] | $0, $1, "
    "$2, "
    "is_causal=True",
    "scaled_dot_product_attention.default | f32[2,3,4,8]~0213 f32[2,3,5,8] f32[2,3,5,8] | $0, $1, $2, None, "
    "0.5 | "
    "stays: it drops out, which is random",
};

constexpr const char* kPointwiseCases[] = {
    "rsub.Scalar | f32[2,3] | $0, 1.5 | exact",
    "rsub.Scalar | i64[2,3]<9 | $0, 3, 2 | exact",
    "rsub.Scalar | i64[2,3]<9 | $0, 1.5 | exact",
    "rsub.Tensor | f32[2,3] f32[3] | $0, $1, alpha=2",
    "addcmul.default | f32[2,3] f32[3] f32[2,1] | $0, $1, $2",
    "addcmul.default | f32[2,3] f32[3] f32[2,1] | $0, $1, $2, value=0.5",
    "addcdiv.default | f32[2,3] f32[3] f32[2,1]p | $0, $1, $2, value=2",
    "lerp.Scalar | f32[2,3] f32[2,3] | $0, $1, 0.25",
    "lerp.Scalar | f32[2,3] f32[2,3] | $0, $1, 0.75",
    "lerp.Tensor | f32[2,3] f32[2,3] f32[3] | $0, $1, $2",
    "square.default | f32[2,3] | $0 | exact",
    "square.default | i64[2,3]<9 | $0 | exact",
    "floor_divide.default | f32[2,3] f32[3]p | $0, $1 | exact",
    "floor_divide.default | i64[2,3]<9 i64[2,3]<1 | $0, 2 | exact",
    "floor_divide.Scalar | f32[2,3] | $0, 0.75 | exact",
    "remainder.Scalar_Tensor | f32[2,3]p | 7.5, $0 | exact",
    "clamp_min.default | f32[2,3] | $0, 0.5 | exact",
    "clamp_min.Tensor | f32[2,3] f32[3] | $0, $1 | exact",
    "clamp_max.default | i64[2,3]<9 | $0, 4 | exact",
    "clamp_max.Tensor | f32[2,3] f32[3] | $0, $1 | exact",
    "clip.default | f32[2,3] | $0, -0.5, 0.5 | exact",
    "clip.Tensor | f32[2,3] f32[3] | $0, None, $1 | exact",
    "isfinite.default | f32[2,3]n | $0 | exact",
    "isfinite.default | i64[2,3] | $0 | exact",
    "isposinf.default | f32[2,3]n | $0 | exact",
    "isneginf.default | f32[2,3]n | $0 | exact",
    "nan_to_num.default | f32[2,3]n | $0 | exact",
    "nan_to_num.default | f64[2,3]n | $0, 1.0, 2.0, 3.0 | exact",
    "nan_to_num.default | i64[2,3]<4 | $0 | exact",
    "sgn.default | f32[2,3] | $0 | exact",
    "frac.default | f32[2,3] | $0 | exact",
    "exp2.default | f32[2,3] | $0",
    "special_exp2.default | f32[2,3] | $0",
    "deg2rad.default | f32[2,3] | $0",
    "rad2deg.default | f32[2,3] | $0",
    "logaddexp.default | f32[2,3]n f32[2,3] | $0, $1",
    "xlogy.Tensor | f32[2,3] f32[2,3]p | $0, $1",
    "special_xlogy.default | f32[2,3] f32[2,3]p | $0, $1",
    "logit.default | f32[2,3]u | $0",
    "logit.default | f32[2,3] | $0, 0.125",
    "special_logit.default | f32[2,3]u | $0",
    "where.ScalarSelf | b[2,3] f32[2,3] | $0, 1.5, $1 | exact",
    "where.ScalarOther | b[2,3] f32[2,3] | $0, $1, -1.0 | exact",
    "where.ScalarOther | b[2,3] i64[2,3]<5 | $0, $1, 7 | exact",
    "where.Scalar | b[2,3] | $0, 1.5, 2.5 | exact",
    "where.Scalar | b[2,3] | $0, 1, 2 | exact",
    "masked_fill.Scalar | f32[2,3] b[3] | $0, $1, -10000.0 | exact",
    "masked_fill.Scalar | i64[2,3]<5 b[2,3] | $0, $1, 7 | exact",
    "masked_fill.Scalar | f32[2,3] b[2,3] | $0, $1, 7 | exact",
    "masked_fill.Scalar | b[2,3] b[2,3] | $0, $1, 1 | exact",
    "masked_fill.Tensor | f32[2,3] b[2,3] f32[] | $0, $1, $2 | exact",
    "__and__.Scalar | i64[2,3]<9 | $0, 5 | exact",
    "__and__.Tensor | b[2,3] b[2,3] | $0, $1 | exact",
    "__or__.Scalar | i64[2,3]<9 | $0, 5 | exact",
    "__or__.Tensor | i64[2,3]<9 i64[2,3]<9 | $0, $1 | exact",
    "__xor__.Scalar | i64[2,3]<9 | $0, 5 | exact",
    "__xor__.Tensor | i64[2,3]<9 i64[3]<9 | $0, $1 | exact",
    "_unsafe_index.Tensor | f32[4,3] i64[2]<4 | $0, [$1] | exact",
    "_unsafe_index_put.default | f32[4,3] i64[2]<1 f32[3] | $0, [$1], $2 | exact",
    "absolute.default | f32[2,3] | $0 | exact",
    "arccos.default | f32[2,3]u | $0 | exact",
    "arccosh.default | f32[2,3]p | $0 | exact",
    "arcsin.default | f32[2,3]u | $0 | exact",
    "arcsinh.default | f32[2,3] | $0 | exact",
    "arctan.default | f32[2,3] | $0 | exact",
    "arctan2.default | f32[2,3] f32[2,3] | $0, $1 | exact",
    "arctanh.default | f32[2,3]u | $0 | exact",
    "divide.Scalar | f32[2,3] | $0, 2.0 | exact",
    "divide.Scalar_mode | f32[2,3] | $0, 2.0, rounding_mode='floor' | exact",
    "divide.Tensor | f32[2,3] f32[2,3]p | $0, $1 | exact",
    "divide.Tensor_mode | f32[2,3] f32[2,3]p | $0, $1, rounding_mode='trunc' | exact",
    "fix.default | f32[2,3] | $0 | exact",
    "greater.Scalar | f32[2,3] | $0, 0 | exact",
    "greater.Tensor | f32[2,3] f32[3] | $0, $1 | exact",
    "greater_equal.Scalar | f32[2,3] | $0, 0 | exact",
    "greater_equal.Tensor | f32[2,3] f32[3] | $0, $1 | exact",
    "less.Scalar | f32[2,3] | $0, 0 | exact",
    "less.Tensor | f32[2,3] f32[3] | $0, $1 | exact",
    "less_equal.Scalar | f32[2,3] | $0, 0 | exact",
    "less_equal.Tensor | f32[2,3] f32[3] | $0, $1 | exact",
    "max.other | f32[2,3] f32[3] | $0, $1 | exact",
    "min.other | f32[2,3] f32[3] | $0, $1 | exact",
    "multiply.Scalar | f32[2,3] | $0, 2.0 | exact",
    "multiply.Tensor | f32[2,3] f32[3] | $0, $1 | exact",
    "negative.default | f32[2,3] | $0 | exact",
    "not_equal.Scalar | i64[2,3]<4 | $0, 1 | exact",
    "not_equal.Tensor | i64[2,3]<4 i64[2,3]<4 | $0, $1 | exact",
    "special_erf.default | f32[2,3] | $0 | exact",
    "special_expit.default | f32[2,3] | $0 | exact",
    "special_expm1.default | f32[2,3] | $0 | exact",
    "special_log1p.default | f32[2,3]p | $0 | exact",
    "special_logsumexp.default | f32[2,3] | $0, [1]",
    "special_round.default | f32[2,3] | $0 | exact",
    "subtract.Scalar | f32[2,3] | $0, 2.0 | exact",
    "subtract.Tensor | f32[2,3] f32[3] | $0, $1, alpha=2 | exact",
    "true_divide.Scalar | f32[2,3] | $0, 2.0 | exact",
    "true_divide.Tensor | i64[2,3]<9 i64[2,3]<1 | $0, 4 | exact",
};

constexpr const char* kIndexCases[] = {
    "index_copy.default | f32[5,3] i64[2]<5 f32[2,3] | $0, 0, $1, $2 | exact",
    "index_copy.default | f32[3,5] i64[2]<5 f32[3,2] | $0, -1, $1, $2 | exact",
    "index_add.default | f32[5,3] i64[2]<5 f32[2,3] | $0, 0, $1, $2, alpha=2",
    "index_add.default | f32[3,5] i64[4]<5 f32[3,4] | $0, 1, $1, $2",
    "index_fill.int_Scalar | f32[3,5] i64[2]<5 | $0, 1, $1, 2.5 | exact",
    "index_fill.int_Tensor | f32[3,5] i64[2]<3 f32[] | $0, 0, $1, $2 | exact",
    "select_scatter.default | f32[3,5] f32[5] | $0, $1, 0, 2 | exact",
    "select_scatter.default | f32[3,5] f32[3] | $0, $1, -1, -2 | exact",
    "select_scatter.default | f32[s0=3/4,5] f32[s0=3/4] | $0, $1, 1, 0 | exact",
    "take.default | f32[3,5] i64[2,2]<15 | $0, $1 | exact",
    "take_along_dim.default | f32[3,5] i64[3,2]<5 | $0, $1, 1 | exact",
    "take_along_dim.default | f32[3,1] i64[1,4]<3 | $0, $1, 0 | exact",
    "take_along_dim.default | f32[3,5] i64[4]<15 | $0, $1 | exact",
    "masked_select.default | f32[3,5] b[5] | $0, $1 | exact",
    "argwhere.default | b[3,5] | $0 | exact",
};

constexpr const char* kReductionCases[] = {
    "sum.default | f32[2,3] | $0",
    "sum.default | b[2,3] | $0 | exact",
    "sum.default | f32[2,3] | $0, dtype=torch.float64",
    "max.default | f32[2,3] | $0 | exact",
    "min.default | i64[2,3]<9 | $0 | exact",
    "aminmax.default | f32[2,3] | $0 | ->2 exact",
    "aminmax.default | f32[2,3] | $0, dim=1, keepdim=True | ->2 exact",
    "all.default | b[2,3] | $0 | exact",
    "all.default | u8[2,3]<3 | $0 | exact",
    "all.dim | b[2,3] | $0, 1 | exact",
    "all.dim | f32[2,3] | $0, -1, True | exact",
    "all.dims | b[2,3,2] | $0, [0,1] | exact",
    "var.default | f32[2,3] | $0",
    "std.default | f32[2,3] | $0, False",
    "std.dim | f32[2,3,4] | $0, [0,2], True, True",
    "std.correction | f32[2,3] | $0, [1], correction=0",
    "std.correction | f32[2,3] | $0, None, correction=1, keepdim=True",
    "var_mean.default | f32[2,3] | $0 | ->2",
    "var_mean.dim | f32[2,3] | $0, [1], False | ->2",
    "var_mean.correction | f32[2,3] | $0, [1], correction=1, keepdim=True | ->2",
    "std_mean.default | f32[2,3] | $0 | ->2",
    "std_mean.dim | f32[2,3] | $0, [0] | ->2",
    "std_mean.correction | f32[2,3] | $0, [0], correction=0 | ->2",
    "linalg_vector_norm.default | f32[2,3,4] | $0, 2, [1,2]",
    "linalg_vector_norm.default | f32[2,3] | $0, 1, [1], True",
    "linalg_vector_norm.default | f32[2,3] | $0, 3.0",
    "linalg_vector_norm.default | f32[2,3] | $0, inf, [0]",
    "linalg_vector_norm.default | f32[2,3] | $0, -inf, [0]",
    "linalg_vector_norm.default | f32[2,3] | $0, 0, [0]",
    "linalg_vector_norm.default | f32[2,3] | $0, 2, [0], dtype=torch.float64",
    "linalg_vector_norm.default | f32[s0=2/5,3] | $0, 2, [0]",
    "norm.Scalar | f32[2,3] | $0",
    "norm.ScalarOpt_dtype | f32[2,3] | $0, 2, dtype=torch.float64",
    "norm.ScalarOpt_dim | f32[2,3] | $0, 3, [1], True",
    "norm.ScalarOpt_dim_dtype | f32[2,3] | $0, 2, [1], False, dtype=torch.float64",
    "frobenius_norm.dim | f32[2,3] | $0, [0,1]",
    "logsumexp.default | f32[2,3] | $0, [1]",
    "logsumexp.default | f32[2,3]n | $0, [0,1], True",
    "logsumexp.default | f32[2,3,4] | $0, [0,-1]",
    "count_nonzero.default | i64[2,3]<3 | $0 | exact",
    "count_nonzero.dim_IntList | i64[2,3]<3 | $0, [1] | exact",
    "nansum.default | f32[4,3] | $0, [1]",
    "argsort.default | f32[2,5] | $0, 1, True | exact",
    "msort.default | f32[5,2] | $0 | exact",
    "trace.default | f32[3,4] | $0",
    "cosine_similarity.default | f32[4,6] f32[4,6] | $0, $1",
    "cosine_similarity.default | f32[2,4,6] f32[1,4,1] | $0, $1, -1, 1e-6",
    "pairwise_distance.default | f32[4,6] f32[4,6] | $0, $1 | e-4",
    "pairwise_distance.default | f32[4,6] f32[4,6] | $0, $1, 1.0, 1e-6, True",
};

constexpr const char* kLossCases[] = {
    "mse_loss.default | f32[2,3] f32[2,3] | $0, $1",
    "mse_loss.default | f32[2,3] f32[2,3] | $0, $1, 0",
    "mse_loss.default | f32[2,3] f32[2,3] | $0, $1, 2",
    "l1_loss.default | f32[2,3] f32[2,3] | $0, $1",
    "smooth_l1_loss.default | f32[4,3] f32[4,3] | $0, $1, 0, 0.75",
    "smooth_l1_loss.default | f32[4,3] f32[4,3] | $0, $1",
    "huber_loss.default | f32[4,3] f32[4,3] | $0, $1, 0, 1.5",
    "binary_cross_entropy.default | f32[4,3]u f32[4,3]u f32[3]p | $0, $1, $2",
    "binary_cross_entropy.default | f32[4,3]u f32[4,3]u | $0, $1, None, 0",
    "binary_cross_entropy_with_logits.default | f32[4,3] f32[4,3]u | $0, $1",
    "binary_cross_entropy_with_logits.default | f32[4,3] f32[4,3]u f32[3]p f32[3]p | $0, $1, $2, $3, 0",
    "nll_loss.default | f32[4,3] i64[4]<3 | $0, $1",
    "nll_loss.default | f32[4,3] i64[4]<3 f32[3]p | $0, $1, $2, 1, 1",
    "nll_loss.default | f32[4,3] i64[4]<3 | $0, $1, None, 0, 0",
    "nll_loss2d.default | f32[2,3,4,5] i64[2,4,5]<3 f32[3]p | $0, $1, $2",
    "nll_loss_nd.default | f32[2,3,4] i64[2,4]<3 | $0, $1, None, 2",
    "nll_loss_forward.default | f32[4,3] i64[4]<3 f32[3]p | $0, $1, $2, 1, -100 | ->2",
    "nll_loss2d_forward.default | f32[2,3,4,5] i64[2,4,5]<3 | $0, $1, None, 2, 1 | ->2",
    "cross_entropy_loss.default | f32[4,3] i64[4]<3 | $0, $1",
    "cross_entropy_loss.default | f32[2,3,4] i64[2,4]<3 f32[3]p | $0, $1, $2, 1, 2",
    "cross_entropy_loss.default | f32[3] i64[]<3 | $0, $1",
    "cross_entropy_loss.default | f32[4,3] f32[4,3]u | $0, $1",
    "cross_entropy_loss.default | f32[4,3] f32[4,3]u | $0, $1, None, 0",
    "cross_entropy_loss.default | f32[4,3] i64[4]<3 | $0, $1, None, 1, -100, 0.1 | stays: it smooths labels",
    "kl_div.default | f32[4,3] f32[4,3]u | $0, $1",
    "kl_div.default | f32[4,3] f32[4,3] | $0, $1, 2, log_target=True",
    "soft_margin_loss.default | f32[4,3] f32[4,3] | $0, $1",
};

constexpr const char* kRecurrentCases[] = {
    "lstm_cell.default | f32[2,3] f32[2,4] f32[2,4] f32[16,3] f32[16,4] f32[16] f32[16] | $0, [$1,$2], $3, "
    "$4, $5, "
    "$6 | ->2",
    "lstm_cell.default | f32[2,3] f32[2,4] f32[2,4] f32[16,3] f32[16,4] | $0, [$1,$2], $3, $4 | ->2",
    "gru_cell.default | f32[2,3] f32[2,4] f32[12,3] f32[12,4] f32[12] f32[12] | $0, $1, $2, $3, $4, $5",
    "rnn_tanh_cell.default | f32[2,3] f32[2,4] f32[4,3] f32[4,4] f32[4] f32[4] | $0, $1, $2, $3, $4, $5",
    "rnn_relu_cell.default | f32[2,3] f32[2,4] f32[4,3] f32[4,4] f32[4] f32[4] | $0, $1, $2, $3, $4, $5",
    "lstm.input | f32[5,2,3] f32[1,2,4] f32[1,2,4] f32[16,3] f32[16,4] f32[16] f32[16] | $0, [$1,$2], "
    "[$3,$4,$5,$6], True, 1, 0.0, False, False, False | ->3",
    "lstm.input | f32[2,5,3] f32[2,2,4] f32[2,2,4] f32[16,3] f32[16,4] f32[16,3] f32[16,4] | $0, [$1,$2], "
    "[$3,$4,$5,$6], False, 1, 0.0, False, True, True | ->3",
    "gru.input | f32[5,2,3] f32[2,2,4] f32[12,3] f32[12,4] f32[12,4] f32[12,4] | $0, $1, [$2,$3,$4,$5], "
    "False, 2, "
    "0.0, False, False, False | ->2",
    "rnn_tanh.input | f32[5,2,3] f32[1,2,4] f32[4,3] f32[4,4] f32[4] f32[4] | $0, $1, [$2,$3,$4,$5], True, "
    "1, 0.0, "
    "False, False, False | ->2",
    "rnn_relu.input | f32[5,2,3] f32[1,2,4] f32[4,3] f32[4,4] f32[4] f32[4] | $0, $1, [$2,$3,$4,$5], True, "
    "1, 0.0, "
    "False, False, False | ->2",
    "lstm.input | f32[5,2,3] f32[1,2,4] f32[1,2,4] f32[16,3] f32[16,4] | $0, [$1,$2], [$3,$4], False, 1, "
    "0.5, True, "
    "False, False | stays: it drops out, which is random",
};

using Cases = std::span<const char* const>;

const std::vector<Cases>& allCases() {
  static const std::vector<Cases> all = {kViewCases,      kJoinCases,        kFactoryCases, kCopyCases,
                                         kMatrixCases,    kConvolutionCases, kNormCases,    kActivationCases,
                                         kAttentionCases, kPointwiseCases,   kIndexCases,   kReductionCases,
                                         kLossCases,      kRecurrentCases};
  return all;
}

// The run's tensors are as the nodes describe them; sizes with symbols only in the first run.
void expectDescribedValues(const ExportedProgram& program, const std::vector<c10::IValue>& inputs) {
  RunOptions options;
  options.tap = [](const TapEvent& event) {
    if (!event.value.isTensor()) return;
    const at::Tensor& tensor = event.value.toTensor();
    const TensorMeta* const meta = event.node.value() == nullptr ? nullptr : event.node.value()->tensor();
    ASSERT_NE(meta, nullptr) << event.node.text();
    EXPECT_EQ(toScalarType(meta->dtype), tensor.scalar_type()) << event.node.text();
    ASSERT_EQ(meta->sizes.size(), static_cast<size_t>(tensor.dim())) << event.node.text();
    for (size_t i = 0; i < meta->sizes.size(); ++i) {
      const auto dim = static_cast<int64_t>(i);
      if (meta->sizes[i].isSymbolic()) continue;
      EXPECT_EQ(meta->sizes[i].value(), tensor.size(dim)) << event.node.text() << " dimension " << i;
      if (meta->strides[i].isSymbolic() || tensor.size(dim) == 1 || tensor.numel() == 0) continue;
      EXPECT_EQ(meta->strides[i].value(), tensor.stride(dim)) << event.node.text() << " dimension " << i;
    }
  };
  Interpreter(program, options).run(inputs);
}

size_t callsOf(const ExportedProgram& program, std::string_view op) {
  return static_cast<size_t>(std::ranges::count_if(program.graph().nodes(),
                                                   [&](const Node& node) { return node.callsOperator(op); }));
}

std::string renderAll(const std::vector<Diagnostic>& diagnostics) {
  std::string out;
  for (const Diagnostic& diagnostic : diagnostics) out += diagnostic.render() + '\n';
  return out;
}

void checkRuleCase(const RuleCase& rule) {
  ExportedProgram program = rule.program.clone();
  const std::vector<UndecomposedOperator> left = decompose(program);
  const std::string textAfter = fxText(program.graphModule());
  SCOPED_TRACE(fxText(rule.program.graphModule()) + "decomposed\n" + textAfter);
  if (!rule.stays.empty()) {
    EXPECT_EQ(textAfter, fxText(rule.program.graphModule()));
    ASSERT_EQ(left.size(), 1u);
    EXPECT_EQ(left[0].reason, rule.stays);
    return;
  }
  std::vector<std::string> names;
  for (const UndecomposedOperator& op : left)
    names.push_back(op.name + (op.reason.empty() ? "" : ": " + op.reason));
  std::vector<std::string> allowed;
  for (const std::string& op : rule.left) allowed.push_back(op + ": there is no rule for it");
  EXPECT_EQ(names, allowed);
  EXPECT_EQ(callsOf(program, rule.op), 0u);
  EXPECT_EQ(renderAll(checkProgram(program)), "");
  EXPECT_EQ(renderAll(checkShapes(program)), "");

  ExportedProgram again = rule.program.clone();
  decompose(again);
  EXPECT_EQ(fxText(again.graphModule()), textAfter);
  decompose(again);
  EXPECT_EQ(fxText(again.graphModule()), textAfter);

  for (const std::vector<c10::IValue>& inputs : rule.inputs) {
    if (&inputs == &rule.inputs.front()) expectDescribedValues(program, inputs);
    VerifyOptions options;
    options.tolerance = {rule.tolerance, rule.tolerance};
    if (rule.isRandom) options.tolerance.absolute = options.tolerance.relative = 1e300;
    const VerifyReport report = verifyLowering(rule.program, program, inputs, options);
    EXPECT_TRUE(report.agrees() || rule.isRandom) << report.text();
  }
}

TEST(DecomposeRules, GiveWhatTheOperatorGives) {
  for (const Cases& cases : allCases()) {
    for (const char* text : cases) {
      SCOPED_TRACE(text);
      try {
        checkRuleCase(readRuleCase(text));
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
    }
  }
}

TEST(DecomposeRules, EachHasACase) {
  std::set<std::string> tested;
  for (const Cases& cases : allCases()) {
    for (const std::string_view text : cases)
      tested.insert("aten." + std::string(text.substr(0, text.find(' '))));
  }
  for (const auto& [name, rule] : detail::allDecompositions()) {
    // Checked by the programs of the corpus: their results are no tensors.
    if (name == "aten.item.default" || name == "aten._assert_tensor_metadata.default") continue;
    EXPECT_TRUE(tested.contains(name)) << name;
  }
}

}  // namespace
}  // namespace edgefx::test
