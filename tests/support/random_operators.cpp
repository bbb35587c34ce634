#include "support/random_calls.h"
#include "support/tensor_forms.h"

#include <iterator>

// The operators of random programs, by kind.
namespace edgefx::test {

using namespace forms;

void RandomCalls::addUnary() {
  const auto x = pick(isNumber);
  if (!x) return;
  if (dice_.percent(15) && isFloat(x->tensor)) {
    Node* clamped = call("aten.clamp.default", {*x->node, -3.0, 3.0});
    if (clamped != nullptr) call("aten.exp.default", {*clamped});
    return;
  }
  call(oneOf({"aten.relu.default", "aten.neg.default", "aten.abs.default", "aten.sigmoid.default",
              "aten.tanh.default", "aten.cos.default", "aten.sin.default", "aten.tanh.default"}),
       {*x->node});
}

void RandomCalls::addBinary() {
  const auto a = pick(isNumber);
  if (!a) return;
  const auto b = pick([&](const at::Tensor& tensor) { return broadcasts(a->tensor, tensor); });
  if (isBool(b->tensor)) {
    call(oneOf({"aten.add.Tensor", "aten.mul.Tensor"}), {*a->node, *b->node});
    return;
  }
  const char* name = oneOf({"aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor", "aten.add.Tensor",
                            "aten.sub.Tensor", "aten.mul.Tensor", "aten.div.Tensor", "aten.maximum.default"});
  Kwargs kwargs;
  if (Target(name).op() == "add" || Target(name).op() == "sub") {
    if (dice_.percent(20)) kwargs.emplace_back("alpha", Arg(2));
  }
  if (dice_.percent(50)) {
    call(name, {*a->node, *b->node}, kwargs);
  } else {
    call(name, {*b->node, *a->node}, kwargs);
  }
}

void RandomCalls::addScalarOperand() {
  const auto x = pick(isNumber);
  if (!x) return;
  if (dice_.percent(20)) {
    call("aten.pow.Tensor_Scalar", {*x->node, 2});
    return;
  }
  const char* name = oneOf({"aten.add.Tensor", "aten.mul.Tensor", "aten.add.Scalar", "aten.mul.Scalar",
                            "aten.sub.Tensor", "aten.rsub.Scalar", "aten.div.Tensor"});
  call(name, {*x->node, scalar()});
}

void RandomCalls::addComparison() {
  const auto a = pick(isNumber);
  if (!a) return;
  if (dice_.percent(50)) {
    const char* name = oneOf({"aten.gt.Scalar", "aten.lt.Scalar", "aten.ge.Scalar", "aten.ne.Scalar"});
    call(name, {*a->node, scalar()});
    return;
  }
  const auto b = pick([&](const at::Tensor& tensor) { return broadcasts(a->tensor, tensor); });
  call(oneOf({"aten.gt.Tensor", "aten.le.Tensor", "aten.eq.Tensor"}), {*a->node, *b->node});
}

void RandomCalls::addLogical() {
  const auto a = pick(isBool);
  if (!a) return addComparison();
  const size_t kind = dice_.below(3);
  if (kind == 0) {
    call(oneOf({"aten.logical_not.default", "aten.bitwise_not.default"}), {*a->node});
    return;
  }
  const auto b = pick([&](const at::Tensor& tensor) { return broadcasts(a->tensor, tensor); });
  if (kind == 1) {
    call(oneOf({"aten.logical_and.default", "aten.logical_or.default"}), {*a->node, *b->node});
    return;
  }
  const auto c = pick([&](const at::Tensor& tensor) {
    return tensor.scalar_type() == b->tensor.scalar_type() && broadcasts(a->tensor, tensor) &&
           broadcasts(b->tensor, tensor);
  });
  call("aten.where.self", {*a->node, *b->node, *c->node});
}

void RandomCalls::addCast() {
  static constexpr Dtype kDtypes[] = {Dtype::Float16, Dtype::BFloat16, Dtype::Float64, Dtype::Int64,
                                      Dtype::Bool,    Dtype::Float32,  Dtype::Float32};
  const Dtype dtype = kDtypes[dice_.below(std::size(kDtypes))];
  const Value x = recent();
  Node* narrow = cast(x, dtype);
  // Few operators have kernels for those.
  if (narrow != nullptr && (dtype == Dtype::Float16 || dtype == Dtype::BFloat16) && dice_.percent(60))
    cast(valueOf(*narrow), Dtype::Float32);
}

void RandomCalls::addView() {
  const auto picked = pick([](const at::Tensor& tensor) { return tensor.dim() > 0; });
  if (!picked) return;
  const Value x = *picked;
  const at::Tensor& t = x.tensor;
  const int64_t dim = anyDim(t), other = anyDim(t);
  switch (dice_.below(10)) {
    case 0:
      if (t.is_contiguous()) call("aten.view.default", {*x.node, Arg::list({-1})});
      return;
    case 1: {
      Args sizes;
      for (int64_t size : t.sizes()) {
        if (size % 2 == 0) sizes.emplace_back(2);
        sizes.emplace_back(size % 2 == 0 ? size / 2 : size);
      }
      call(t.is_contiguous() ? "aten.view.default" : "aten.reshape.default", {*x.node, Arg::list(sizes)});
      return;
    }
    case 2: {
      std::vector<int64_t> order;
      for (int64_t d = 0; d < t.dim(); ++d) order.push_back((d + 1 + dim) % t.dim());
      call("aten.permute.default", {*x.node, sizesArg(order)});
      return;
    }
    case 3:
      call("aten.transpose.int", {*x.node, dim, other});
      return;
    case 4:
      call("aten.unsqueeze.default", {*x.node, dim});
      return;
    case 5:
      call("aten.squeeze.dim", {*x.node, dim});
      return;
    case 6: {
      std::vector<int64_t> sizes = t.sizes().vec();
      if (t.size(0) == 1) {
        sizes[0] = 3;
      } else {
        sizes.insert(sizes.begin(), 2);
      }
      call("aten.expand.default", {*x.node, sizesArg(sizes)});
      return;
    }
    case 7:
      call("aten.select.int", {*x.node, dim, -1});
      return;
    case 8:
      if (dice_.percent(30)) {
        call("aten.slice.Tensor", {*x.node, dim, 0, int64_t{9223372036854775807}, 2});
        return;
      }
      [[fallthrough]];
    default:
      call("aten.slice.Tensor", {*x.node, dim, other % 2, std::max<int64_t>(1, t.size(dim) - 1)});
  }
}

void RandomCalls::addParts() {
  const auto x = pick([](const at::Tensor& tensor) { return tensor.dim() > 0 && tensor.size(-1) > 1; });
  if (!x) return;
  const int64_t size = x->tensor.size(-1);
  Node* parts = nullptr;
  switch (dice_.below(3)) {
    case 0:
      parts = call("aten.split.Tensor", {*x->node, 1, -1});
      break;
    case 1:
      parts = call("aten.chunk.default", {*x->node, 2, -1});
      break;
    default:
      parts = call("aten.split_with_sizes.default", {*x->node, Arg::list({1, size - 1}), -1});
  }
  if (parts != nullptr) items(parts, std::min<size_t>(known_.at(parts).toListRef().size(), 3));
}

void RandomCalls::addJoin() {
  const auto a = pick([](const at::Tensor& tensor) { return tensor.dim() > 0 && tensor.dim() < 4; });
  if (!a) return;
  const auto b = pick([&](const at::Tensor& tensor) {
    return tensor.sizes() == a->tensor.sizes() && tensor.scalar_type() == a->tensor.scalar_type();
  });
  Args all{*a->node, *b->node};
  if (dice_.percent(30)) all.emplace_back(*a->node);
  const int64_t dim = anyDim(a->tensor);
  call(oneOf({"aten.cat.default", "aten.stack.default"}), {Arg::list(all), dim});
}

void RandomCalls::addMatrix() {
  const auto isMatrix = [](const at::Tensor& tensor) { return isFull(tensor) && tensor.dim() == 2; };
  const auto w = pick(isMatrix);
  if (!w) return;
  const auto fits = [&](int64_t size) {
    return pick([&](const at::Tensor& tensor) {
      return isMatrix(tensor) && tensor.scalar_type() == w->tensor.scalar_type() && tensor.size(1) == size;
    });
  };
  const int64_t rows = w->tensor.size(0), columns = w->tensor.size(1);
  if (dice_.percent(40)) {
    const auto x = fits(columns);  // w itself fits
    const auto bias = pick([&](const at::Tensor& tensor) {
      return tensor.dim() == 1 && tensor.size(0) == rows && tensor.scalar_type() == w->tensor.scalar_type();
    });
    Args args{*x->node, *w->node};
    if (bias && dice_.percent(60)) args.emplace_back(*bias->node);
    call("aten.linear.default", args);
    return;
  }
  const auto x = fits(rows);
  if (!x) return;
  switch (dice_.below(4)) {
    case 0: {
      const auto bias = pick([&](const at::Tensor& tensor) {
        return tensor.scalar_type() == w->tensor.scalar_type() && tensor.dim() == 1 &&
               (tensor.size(0) == columns || tensor.size(0) == 1);
      });
      if (bias) call("aten.addmm.default", {*bias->node, *x->node, *w->node}, {{"alpha", 0.5}});
      return;
    }
    case 1: {
      Node* left = call("aten.unsqueeze.default", {*x->node, 0});
      Node* right = call("aten.unsqueeze.default", {*w->node, 0});
      if (left != nullptr && right != nullptr) call("aten.bmm.default", {*left, *right});
      return;
    }
    default:
      call(oneOf({"aten.mm.default", "aten.matmul.default"}), {*x->node, *w->node});
  }
}

void RandomCalls::addNetwork() {
  const auto isImage = [](const at::Tensor& tensor) {
    return tensor.scalar_type() == at::kFloat && tensor.dim() == 4;
  };
  const auto image = pick(
      [&](const at::Tensor& tensor) { return isImage(tensor) && tensor.size(2) > 2 && tensor.size(3) > 2; });
  if (image && dice_.percent(70)) {
    const int64_t channels = image->tensor.size(1);
    const auto vector = [&] {
      return pick([&](const at::Tensor& tensor) {
        return tensor.scalar_type() == at::kFloat && tensor.dim() == 1 && tensor.size(0) == channels;
      });
    };
    const auto w =
        pick([&](const at::Tensor& tensor) { return isImage(tensor) && tensor.size(1) == channels; });
    switch (dice_.below(4)) {
      case 0: {
        Node* pool = call("aten.max_pool2d_with_indices.default",
                          {*image->node, Arg::list({2, 2}), Arg::list({2, 2})});
        return items(pool, 2);
      }
      case 1: {
        const auto weight = vector(), mean = vector();
        if (!weight) return;
        Node* variance = call("aten.abs.default", {*mean->node});
        if (variance == nullptr) return;
        if (dice_.percent(50)) {
          call("aten.batch_norm.default",
               {*image->node, *weight->node, *weight->node, *mean->node, *variance, false, 0.1, 1e-5, true});
          return;
        }
        Node* norm = call("aten._native_batch_norm_legit_no_training.default",
                          {*image->node, *weight->node, *weight->node, *mean->node, *variance, 0.1, 1e-5});
        if (norm != nullptr) item(*norm, 0);
        return;
      }
      default:
        if (w && w->tensor.size(2) <= image->tensor.size(2) + 2 &&
            w->tensor.size(3) <= image->tensor.size(3) + 2) {
          call("aten.convolution.default",
               {*image->node, *w->node, nullptr, Arg::list({1, 1}), Arg::list({1, 1}), Arg::list({1, 1}),
                false, Arg::list({0, 0}), 1});
        }
        return;
    }
  }
  const auto x = pick([](const at::Tensor& tensor) { return isFull(tensor) && tensor.dim() > 0; });
  if (!x) return;
  switch (dice_.below(4)) {
    case 0:
      call("aten._softmax.default", {*x->node, -1, false});
      return;
    case 1:
      call("aten.softmax.int", {*x->node, -1});
      return;
    case 2:
      call("aten.layer_norm.default", {*x->node, Arg::list({x->tensor.size(-1)})});
      return;
    default: {
      Node* norm = call("aten.native_layer_norm.default",
                        {*x->node, Arg::list({x->tensor.size(-1)}), nullptr, nullptr, 1e-5});
      return items(norm, 3);
    }
  }
}

void RandomCalls::addReduction() {
  const auto x = pick([](const at::Tensor& tensor) { return tensor.dim() > 0; });
  if (!x) return;
  const int64_t dim = anyDim(x->tensor);
  const bool keeps = dice_.percent(40);
  switch (dice_.below(7)) {
    case 0:
      call("aten.sum.default", {*x->node});
      return;
    case 1:
      call("aten.sum.dim_IntList", {*x->node, Arg::list({dim}), keeps});
      return;
    case 2:
      if (isFloat(x->tensor)) call("aten.mean.dim", {*x->node, Arg::list({dim}), keeps});
      return;
    case 3:
      call("aten.amax.default", {*x->node, Arg::list({dim}), keeps});
      return;
    case 4:
      if (isNumber(x->tensor)) call("aten.argmax.default", {*x->node, dim, keeps});
      return;
    case 5:
      call("aten.any.dim", {*x->node, dim, keeps});
      return;
    default:
      if (isFloat(x->tensor)) call("aten.mean.default", {*x->node});
  }
}

// Whole numbers from 0 up to the bound.
std::optional<RandomCalls::Value> RandomCalls::index(int64_t bound, bool isFlat) {
  const auto x =
      pick([&](const at::Tensor& tensor) { return isWhole(tensor) && (!isFlat || tensor.dim() == 1); });
  if (!x) return std::nullopt;
  Node* made = call("aten.remainder.Scalar", {*x->node, bound});
  if (made == nullptr) return std::nullopt;
  return valueOf(*made);
}

void RandomCalls::addLookup() {
  const auto x = pick([](const at::Tensor& tensor) { return tensor.dim() > 0; });
  if (!x) return;
  const int64_t dim = anyDim(x->tensor);
  const size_t kind = dice_.below(4);
  const auto at = index(x->tensor.size(kind == 1 || kind == 3 ? 0 : dim), kind != 1 && kind != 3);
  if (!at) return;
  switch (kind) {
    case 0:
      call("aten.index_select.default", {*x->node, dim, *at->node});
      return;
    case 1:
      if (x->tensor.dim() == 2 && isFull(x->tensor)) call("aten.embedding.default", {*x->node, *at->node});
      return;
    case 2:
      if (x->tensor.dim() == 1) call("aten.gather.default", {*x->node, 0, *at->node});
      return;
    default:
      call("aten.index.Tensor", {*x->node, Arg::list({*at->node})});
  }
}

void RandomCalls::addSorted() {
  const auto x = pick([](const at::Tensor& tensor) { return isFull(tensor) && tensor.dim() > 0; });
  if (!x) return;
  if (dice_.percent(50)) {
    const auto k = static_cast<int64_t>(1 + dice_.below(static_cast<size_t>(x->tensor.size(-1))));
    items(call("aten.topk.default", {*x->node, k}), 2);
  } else {
    items(call("aten.sort.default", {*x->node, -1}), 2);
  }
}

void RandomCalls::addNew() {
  static constexpr Dtype kDtypes[] = {Dtype::Float32, Dtype::Float32, Dtype::Float64, Dtype::Int64};
  const Dtype dtype = kDtypes[dice_.below(std::size(kDtypes))];
  const size_t kind = dice_.below(values_.empty() ? 2 : 5);
  if (kind == 0) {
    call("aten.full.default", {Arg::list({2, 4}), 1},
         {{"dtype", dtype}, {"device", Arg::device("cpu")}, {"pin_memory", false}});
  } else if (kind == 1) {
    call("aten.arange.default", {4}, {{"dtype", dtype}, {"layout", Layout::Strided}});
  } else {
    const Value x = recent();
    call(oneOf({"aten.zeros_like.default", "aten.ones_like.default", "aten.clone.default"}), {*x.node});
  }
}

void RandomCalls::addWrite() {
  const auto x = pick([&](const at::Tensor& tensor) { return isNumber(tensor) && isWritable(tensor); });
  if (!x) return;
  const at::Tensor& t = x->tensor;
  const auto y = pick([&](const at::Tensor& tensor) {
    return tensor.scalar_type() == t.scalar_type() && tensor.sizes() == t.sizes() && !tensor.is_alias_of(t);
  });
  switch (dice_.below(8)) {
    case 0:
    case 1:
      if (y) call("aten.add_.Tensor", {*x->node, *y->node});
      return;
    case 2:
      call("aten.add_.Tensor", {*x->node, 1});
      return;
    case 3:
      call("aten.mul_.Tensor", {*x->node, -1});
      return;
    case 4:
      if (y) call("aten.copy_.default", {*x->node, *y->node});
      return;
    case 5:
      call(oneOf({"aten.relu_.default", "aten.neg_.default"}), {*x->node});
      return;
    case 6:
      call("aten.fill_.Scalar", {*x->node, 2});
      return;
    default:
      call("aten.zero_.default", {*x->node});
  }
}

}  // namespace edgefx::test
