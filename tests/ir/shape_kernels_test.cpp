#include <edgefx/ir/scalar_type.h>

#include "ir/convert_argument.h"
#include "ir/shape_testing.h"

// The dispatcher's header needs the other one before it.
// clang-format off
#include <ATen/core/ivalue.h>
#include <ATen/core/dispatch/Dispatcher.h>
// clang-format on
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

// The rules against what LibTorch's kernels make of tensors with data.
namespace edgefx::test {
namespace {

class DataLeaves : public detail::LeafValues {
 public:
  c10::IValue node(const Node& node) const override { return tensors.at(&node); }
  c10::IValue symbolic(const SymExpr& /*expression*/) const override { return {}; }

  std::unordered_map<const Node*, at::Tensor> tensors;
};

std::string describeKernelValue(const c10::IValue& value) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    TensorMeta meta;
    meta.dtype = *fromScalarType(tensor.scalar_type());
    meta.sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
    // What the stride of a dimension with one element is, does not matter.
    for (int64_t i = 0; i < tensor.dim(); ++i)
      meta.strides.emplace_back(tensor.size(i) == 1 ? -1 : tensor.stride(i));
    return describeForTest(ValueMeta::of(std::move(meta)).get());
  }
  std::string out;
  for (const at::Tensor& tensor : value.toTensorVector())
    out += (out.empty() ? "" : ", ") + describeKernelValue(tensor);
  return "[" + out + "]";
}

ValueRef withoutSingleStrides(const ValueRef& value) {
  if (!value) return value;
  if (const ValueMeta::Sequence* held = value->sequence()) {
    ValueMeta::Sequence copy = *held;
    for (ValueRef& element : copy.elements) element = withoutSingleStrides(element);
    return ValueMeta::of(std::move(copy));
  }
  if (value->tensor() == nullptr) return value;
  TensorMeta meta = *value->tensor();
  for (size_t i = 0; i < meta.sizes.size(); ++i) {
    if (meta.sizes[i] == SymInt(1)) meta.strides[i] = SymInt(-1);
  }
  return ValueMeta::of(std::move(meta));
}

class KernelBench {
 public:
  KernelBench() {
    const auto real = [](std::vector<int64_t> sizes) { return at::zeros(sizes, at::kFloat); };
    image = &add(real({2, 3, 4, 5}));
    channelsLast = &add(real({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast));
    swapped = &add(real({5, 4, 3, 2}).permute({3, 2, 1, 0}));
    sparse = &add(real({2, 3, 4, 10}).slice(3, 0, 10, 2));
    repeated = &add(real({2, 3, 1, 5}).expand({2, 3, 4, 5}));
    single = &add(real({2, 3, 1, 1}).contiguous(at::MemoryFormat::ChannelsLast));
    row = &add(real({5}));
    column = &add(real({3, 1, 1}));
    scalar = &add(at::zeros({}, at::kDouble));
    ints = &add(at::zeros({2, 3, 4, 5}, at::kInt));
    bytes = &add(at::zeros({4, 5}, at::kByte));
    mask = &add(at::zeros({4, 5}, at::kBool));
    halves = &add(at::zeros({4, 5}, at::kHalf));
    complexes = &add(at::zeros({4, 5}, at::kComplexFloat));
    matrix = &add(real({4, 5}));
    turned = &add(real({5, 4}).t());
    narrowed = &add(real({8, 10}).slice(0, 0, 8, 2).slice(1, 0, 5));
    batch = &add(real({2, 4, 5}));
    turnedBatch = &add(real({2, 5, 4}).transpose(1, 2));
    none = &add(real({0, 5}));
    empty = &add(real({0}));
    index = &add(at::zeros({3}, at::kLong));
    indices = &add(at::zeros({2, 1}, at::kLong));
    images = {image, channelsLast, swapped, sparse, repeated};
    all = {image,  channelsLast, swapped,  sparse, repeated,    single, row,
           column, scalar,       ints,     bytes,  mask,        halves, complexes,
           matrix, turned,       narrowed, batch,  turnedBatch, none,   empty};
  }

  Node& add(const at::Tensor& tensor) {
    TensorMeta meta;
    meta.dtype = *fromScalarType(tensor.scalar_type());
    meta.sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
    meta.strides.assign(tensor.strides().begin(), tensor.strides().end());
    Node& node = bench.input(ValueMeta::of(std::move(meta)));
    leaves.tensors.emplace(&node, tensor);
    return node;
  }

  // What the kernel makes; "fault" if it refuses.
  std::string run(const Node& node) const {
    const Target target = node.target();
    std::string overload(target.overload() == "default" ? std::string_view() : target.overload());
    const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(
        (std::string(target.ns()) + "::" + std::string(target.op())).c_str(), overload.c_str());
    const auto& declared = op.schema().arguments();
    try {
      torch::jit::Stack stack;
      for (size_t i = 0; i < declared.size(); ++i) {
        const Argument* given = node.findArg(i);
        if (given == nullptr) given = node.findKwarg(declared[i].name());
        stack.push_back(given == nullptr
                            ? detail::defaultArgument(declared[i])
                            : detail::convertArgument(detail::toIValue(*given, leaves), declared[i]));
      }
      const at::AutoDispatchBelowAutograd guard;
      op.callBoxed(stack);
      if (stack.size() == 1) return describeKernelValue(stack.front());
      std::string out;
      for (const c10::IValue& value : stack) out += (out.empty() ? "" : ", ") + describeKernelValue(value);
      return "(" + out + ")";
    } catch (const std::exception&) {
      return "fault";
    }
  }

  // The rule says what the kernel does, or nothing. Where the kernel refuses, it may say anything but crash.
  void check(Target target, const Args& args, const Kwargs& kwargs = {}) {
    Node& node = bench.graph.call(target, args, kwargs);
    std::string found;
    try {
      found = describeForTest(withoutSingleStrides(inferValue(node)).get());
    } catch (const UsageError&) {
      // That the kernel refuses, too, is seen of some only: it takes milliseconds.
      if (++faults % 20 != 0) return;
      found = "fault";
    }
    ++calls;
    if (found == "null") {
      ++unknown;
      return;
    }
    const std::string expected = run(node);
    int& count = compared[std::string(target.name())];
    if (expected == "fault") return;
    ++count;
    EXPECT_EQ(found, expected) << node.text() << inputText(node);
  }

  // Of each operator some call was one that both take.
  ~KernelBench() {
    for (const auto& [name, count] : compared) EXPECT_GT(count, 0) << name;
  }

  static std::string inputText(const Node& node) {
    std::string out;
    for (const Node& input : node.inputs()) out += "\n  " + describeForTest(input.value());
    return out;
  }

  ShapeBench bench;
  DataLeaves leaves;
  Node *image, *channelsLast, *swapped, *sparse, *repeated, *single, *row, *column, *scalar, *ints, *bytes,
      *mask, *halves, *complexes, *matrix, *turned, *narrowed, *batch, *turnedBatch, *none, *empty, *index,
      *indices;
  std::vector<Node*> images, all;
  std::map<std::string, int> compared;
  int calls = 0, unknown = 0, faults = 0;
};

TEST(ShapeKernels, Pointwise) {
  KernelBench k;
  for (const char* op : {"aten.add.Tensor", "aten.div.Tensor", "aten.maximum.default", "aten.gt.Tensor",
                         "aten.pow.Tensor_Tensor", "aten.logical_and.default", "aten.atan2.default"}) {
    for (Node* a : k.all) {
      for (Node* b : k.all) k.check(op, {a, b});
    }
  }
  for (Node* x : k.all) {
    for (const char* op :
         {"aten.relu.default", "aten.sigmoid.default", "aten.abs.default", "aten.neg.default",
          "aten.logical_not.default", "aten.gelu.default", "aten.isnan.default", "aten.rsqrt.default",
          "aten.sign.default", "aten.silu.default", "aten.hardtanh.default", "aten.nan_to_num.default",
          "aten.bitwise_not.default", "aten.round.default", "aten.leaky_relu.default"}) {
      k.check(op, {x});
    }
    for (const Arg& number : {Arg(2), Arg(2.5), Arg(true)}) {
      for (const char* op :
           {"aten.add.Scalar", "aten.mul.Scalar", "aten.div.Scalar", "aten.eq.Scalar",
            "aten.pow.Tensor_Scalar", "aten.pow.Scalar", "aten.remainder.Scalar", "aten.fmod.Scalar",
            "aten.clamp.default", "aten.rsub.Scalar", "aten.add.Tensor", "aten.mul.Tensor"}) {
        if (std::string_view(op) == "aten.pow.Scalar") {
          k.check(op, {number, x});
        } else {
          k.check(op, {x, number});
        }
      }
    }
    for (Node* y : k.all) {
      k.check("aten.where.self", {k.mask, x, y});
      k.check("aten.lerp.Scalar", {x, y, 0.5});
      k.check("aten.addcmul.default", {x, y, k.matrix});
    }
    k.check("aten.masked_fill.Scalar", {x, k.mask, 1});
  }
  EXPECT_LT(k.unknown, k.calls / 20);
}

TEST(ShapeKernels, Views) {
  KernelBench k;
  for (Node* x : k.all) {
    for (int64_t a = -4; a < 4; ++a) {
      k.check("aten.unsqueeze.default", {x, a});
      k.check("aten.squeeze.dim", {x, a});
      k.check("aten.select.int", {x, a, 1});
      k.check("aten.unbind.int", {x, a});
      k.check("aten.flip.default", {x, {a}});
      k.check("aten.slice.Tensor", {x, a, 1, 3});
      k.check("aten.slice.Tensor", {x, a, -2, 100, 2});
      k.check("aten.slice.Tensor", {x, a, 3, 1});
      k.check("aten.narrow.default", {x, a, 1, 2});
      k.check("aten.split.Tensor", {x, 2, a});
      k.check("aten.chunk.default", {x, 3, a});
      k.check("aten.repeat_interleave.self_int", {x, 2, a});
      for (int64_t b = -4; b < 4; ++b) {
        k.check("aten.transpose.int", {x, a, b});
        k.check("aten.movedim.int", {x, a, b});
        k.check("aten.flatten.using_ints", {x, a, b});
        k.check("aten.diagonal.default", {x, 1, a, b});
      }
    }
    for (const Arg& sizes :
         {Arg{-1}, Arg{2, -1}, Arg{6, 20}, Arg{2, 3, 20}, Arg{2, 3, 2, 2, 5}, Arg{3, 2, 4, 5}, Arg{4, 5},
          Arg{1, 2, 3, 4, 5}, Arg{0, -1}, Arg{20}, Arg{2, 1, 3, 4, 5}}) {
      k.check("aten.view.default", {x, sizes});
      k.check("aten.reshape.default", {x, sizes});
      // With 0 and -1 for new dimensions the kernel makes a tensor of size -1.
      if (x != k.scalar) k.check("aten.expand.default", {x, sizes});
      k.check("aten.repeat.default", {x, sizes});
      k.check("aten._unsafe_view.default", {x, sizes});
    }
    k.check("aten.squeeze.default", {x});
    k.check("aten.t.default", {x});
    k.check("aten.permute.default", {x, {3, 0, 2, 1}});
    k.check("aten.permute.default", {x, {1, 0}});
    k.check("aten.roll.default", {x, {1}, {0}});
    k.check("aten.constant_pad_nd.default", {x, {1, 2, 0, 1}});
    k.check("aten.view_as_real.default", {x});
    for (MemoryFormat format :
         {MemoryFormat::Contiguous, MemoryFormat::ChannelsLast, MemoryFormat::Preserve}) {
      k.check("aten.clone.default", {x}, {{"memory_format", format}});
      k.check("aten.contiguous.default", {x}, {{"memory_format", format}});
      k.check("aten._to_copy.default", {x}, {{"memory_format", format}, {"dtype", Dtype::Float16}});
      k.check("aten.to.dtype", {x, Dtype::Float32, false, false, format});
      k.check("aten.empty_like.default", {x}, {{"memory_format", format}});
      k.check("aten.full_like.default", {x, 1.5}, {{"memory_format", format}});
    }
    k.check("aten.clone.default", {x});
    k.check("aten.new_zeros.default", {x, {2, 3}});
  }
  EXPECT_LT(k.unknown, k.calls / 20);
}

TEST(ShapeKernels, Joins) {
  KernelBench k;
  for (Node* a : k.all) {
    for (Node* b : k.all) {
      for (int64_t dim = -2; dim < 2; ++dim) {
        k.check("aten.cat.default", {{a, b}, dim});
        k.check("aten.stack.default", {{a, b}, dim});
      }
    }
  }
}

TEST(ShapeKernels, Matrices) {
  KernelBench k;
  std::vector<Node*> operands = {k.row,         k.matrix, k.turned,  k.narrowed, k.batch,
                                 k.turnedBatch, k.image,  k.swapped, k.none,     k.scalar};
  operands.push_back(&k.add(at::zeros({5, 6})));
  operands.push_back(&k.add(at::zeros({6, 5}).t()));
  operands.push_back(&k.add(at::zeros({2, 5, 6})));
  operands.push_back(&k.add(at::zeros({3, 5, 6})));
  operands.push_back(&k.add(at::zeros({6, 5})));
  operands.push_back(&k.add(at::zeros({6})));
  operands.push_back(&k.add(at::zeros({2, 1, 5, 6})));
  for (Node* a : operands) {
    for (Node* b : operands) {
      for (const char* op : {"aten.mm.default", "aten.bmm.default", "aten.matmul.default",
                             "aten.linear.default", "aten.mv.default", "aten.dot.default"}) {
        k.check(op, {a, b});
      }
      for (Node* c : {k.row, k.scalar, operands.back(), &k.add(at::zeros({6}))})
        k.check("aten.addmm.default", {c, a, b});
    }
  }
}

TEST(ShapeKernels, ImagesAndNorms) {
  KernelBench k;
  std::vector<Node*> inputs = k.images;
  inputs.push_back(k.single);
  inputs.push_back(&k.add(at::zeros({3, 4, 5})));
  for (Node* x : inputs) {
    for (Node* weight :
         {&k.add(at::zeros({6, 3, 2, 3})), &k.add(at::zeros({6, 3, 1, 1})), &k.add(at::zeros({3, 1, 2, 2})),
          &k.add(at::zeros({6, 3, 2, 3}).contiguous(at::MemoryFormat::ChannelsLast))}) {
      k.check("aten.conv2d.default", {x, weight});
      k.check("aten.conv2d.default", {x, weight, Arg(), {2, 1}, {1, 0}, {1, 2}});
      k.check("aten.conv2d.default", {x, weight, Arg(), {1, 1}, {0, 0}, {1, 1}, 3});
      k.check("aten.conv2d.padding", {x, weight, Arg(), {1, 1}, "same"});
      k.check("aten.conv2d.padding", {x, weight, Arg(), {1, 1}, "valid"});
      k.check("aten.convolution.default", {x, weight, Arg(), {1, 1}, {1, 1}, {1, 1}, false, {0, 0}, 1});
      k.check("aten.conv_transpose2d.input", {x, weight, Arg(), {2, 2}, {1, 0}, {1, 1}});
    }
    for (const bool ceil : {false, true}) {
      k.check("aten.max_pool2d.default", {x, {2, 2}, {2, 2}, {0, 0}, {1, 1}, ceil});
      k.check("aten.max_pool2d_with_indices.default", {x, {3, 2}, {2, 2}, {1, 1}, {1, 1}, ceil});
      k.check("aten.avg_pool2d.default", {x, {2, 2}, {2, 2}, {1, 1}, ceil});
      k.check("aten.avg_pool2d.default", {x, {3, 3}, {1, 1}, {0, 0}, ceil});
    }
    k.check("aten.adaptive_avg_pool2d.default", {x, {2, 2}});
    k.check("aten.adaptive_avg_pool2d.default", {x, {1, 1}});
    k.check("aten.upsample_nearest2d.default", {x, {8, 10}});
    k.check("aten.upsample_nearest2d.vec", {x, Arg(), {2.0, 1.5}});
    k.check("aten.upsample_bilinear2d.vec", {x, Arg(), false, {2.0, 2.0}});
    k.check("aten.layer_norm.default", {x, {5}});
    k.check("aten.native_layer_norm.default", {x, {4, 5}, Arg(), Arg(), 1e-5});
    Node& three = k.add(at::zeros({3}));
    k.check("aten.batch_norm.default", {x, Arg(), Arg(), three, three, false, 0.1, 1e-5, false});
    k.check("aten.native_batch_norm.default", {x, Arg(), Arg(), three, three, true, 0.1, 1e-5});
    k.check("aten.native_batch_norm.default", {x, Arg(), Arg(), three, three, false, 0.1, 1e-5});
    k.check("aten.group_norm.default", {x, 3});
    k.check("aten.native_group_norm.default", {x, Arg(), Arg(), 2, 3, 20, 3, 1e-5});
  }
}

TEST(ShapeKernels, Reductions) {
  KernelBench k;
  for (Node* x : k.all) {
    for (const bool keep : {false, true}) {
      for (const Arg& dims : {Arg{0}, Arg{-1}, Arg{1, 3}, Arg{-2, 0}}) {
        for (const char* op : {"aten.sum.dim_IntList", "aten.mean.dim", "aten.amax.default", "aten.var.dim",
                               "aten.std.dim", "aten.logsumexp.default"}) {
          if (std::string_view(op).ends_with("d.dim") || std::string_view(op).starts_with("aten.var")) {
            k.check(op, {x, dims, true, keep});
          } else {
            k.check(op, {x, dims, keep});
          }
        }
      }
      for (int64_t dim = -3; dim < 3; ++dim) {
        for (const char* op :
             {"aten.max.dim", "aten.argmax.default", "aten.any.dim", "aten.all.dim", "aten.prod.dim_int"}) {
          k.check(op, {x, dim, keep});
        }
        k.check("aten.cumsum.default", {x, dim});
        k.check("aten._softmax.default", {x, dim, false});
        k.check("aten.log_softmax.int", {x, dim});
        k.check("aten.topk.default", {x, 2, dim});
        k.check("aten.sort.default", {x, dim});
      }
    }
    for (const char* op : {"aten.sum.default", "aten.mean.default", "aten.max.default", "aten.any.default",
                           "aten.prod.default", "aten.argmax.default", "aten.amin.default"}) {
      k.check(op, {x});
    }
    k.check("aten.sum.default", {x}, {{"dtype", Dtype::Float64}});
    k.check("aten.linalg_vector_norm.default", {x, 2, Arg{0}, true});
  }
}

TEST(ShapeKernels, Indices) {
  KernelBench k;
  Node& zero = k.add(at::zeros({}));
  for (Node* x : k.all) {
    for (Node* i : {k.index, k.indices}) {
      for (Node* j : {k.index, k.indices}) {
        k.check("aten.index.Tensor", {x, {i}});
        k.check("aten.index.Tensor", {x, {Arg(), i}});
        k.check("aten.index.Tensor", {x, {i, j}});
        k.check("aten.index.Tensor", {x, {Arg(), i, j}});
        k.check("aten.index.Tensor", {x, {i, Arg(), j}});
        k.check("aten.index.Tensor", {x, {Arg(), i, Arg(), j}});
      }
      for (int64_t dim = -2; dim < 2; ++dim) {
        k.check("aten.index_select.default", {x, dim, i});
        k.check("aten.gather.default", {x, dim, i});
      }
      k.check("aten.embedding.default", {x, i});
    }
    k.check("aten.index_put.default", {x, {k.index}, zero});
    if (x != k.empty) k.check("aten.tril.default", {x});
  }
}

TEST(ShapeKernels, Factories) {
  KernelBench k;
  for (const Arg& value : {Arg(1), Arg(1.5), Arg(true)}) {
    k.check("aten.full.default", {{2, 3}, value});
    k.check("aten.scalar_tensor.default", {value});
  }
  for (const auto& [start, end, step] :
       {std::tuple(Arg(0), Arg(7), Arg(2)), std::tuple(Arg(7), Arg(0), Arg(-3)),
        std::tuple(Arg(0), Arg(1.0), Arg(0.3)), std::tuple(Arg(3), Arg(3), Arg(1)),
        std::tuple(Arg(3), Arg(2), Arg(1))}) {
    k.check("aten.arange.start_step", {start, end, step});
  }
  k.check("aten.arange.default", {5});
  k.check("aten.arange.start", {2, 5.5});
  k.check("aten.zeros.default", {{2, 0}});
  k.check("aten.ones.default", {{2, 3}}, {{"dtype", Dtype::Int32}});
  k.check("aten.empty.memory_format", {{2, 3, 4, 5}}, {{"memory_format", MemoryFormat::ChannelsLast}});
  k.check("aten.empty_strided.default", {{2, 3}, {1, 2}});
  k.check("aten.linspace.default", {0, 1, 7});
  k.check("aten.eye.default", {4});
  k.check("aten.eye.m", {4, 5});
}

}  // namespace
}  // namespace edgefx::test
