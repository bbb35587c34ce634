#include "dialect/decomposition.h"

#include <algorithm>

namespace edgefx::detail {
namespace {

size_t spatialRank(const ShapeCall& c) {
  const std::string_view op = c.op();
  const size_t digit = op.find_first_of("123");
  return digit == std::string_view::npos ? 0 : static_cast<size_t>(op[digit] - '0');
}

// Numbers for each spatial dimension, nodes among them.
Arg spatialArg(const Decomposition& c, size_t i, std::string_view key, size_t rank, int64_t otherwise) {
  const Argument* const found = c.find(i, key);
  if (found == nullptr) return Arg::list(Arg::List(rank, Arg(otherwise)));
  if (!found->isSequence()) return Arg::list(Arg::List(rank, Arg(*found)));
  const std::span<const Argument> items = found->items();
  if (items.size() == 1) return Arg::list(Arg::List(rank, Arg(items.front())));
  return Arg::list(Arg::List(items.begin(), items.end()));
}

Arg zeroes(size_t rank) {
  return Arg::list(Arg::List(rank, Arg(0)));
}

Arg nodeOrNone(Node* node) {
  return node == nullptr ? Arg(nullptr) : Arg(*node);
}

// A sample without batch is given one for the while.
template <typename Make>
Node& withBatch(Decomposition& c, Node& x, size_t rank, Make&& make) {
  c.need(c.rank(x) == rank + 2 || c.rank(x) == rank + 1, "the rank does not fit");
  if (c.rank(x) == rank + 2) return make(x);
  Node& result = make(c.emit("unsqueeze.default", {x, 0}));
  return c.emit("squeeze.dim", {result, 0});
}

Replacement convRule(Decomposition& c) {
  const size_t rank = spatialRank(c);
  const Arg stride = spatialArg(c, 3, "stride", rank, 1), dilation = spatialArg(c, 5, "dilation", rank, 1);
  const Arg padding = spatialArg(c, 4, "padding", rank, 0);
  return withBatch(c, c.in(0, "input"), rank, [&](Node& x) -> Node& {
    return c.emit("convolution.default", {x, c.in(1, "weight"), nodeOrNone(c.findIn(2, "bias")), stride,
                                          padding, dilation, false, zeroes(rank), c.argOr(6, "groups", 1)});
  });
}

Replacement convTransposeRule(Decomposition& c) {
  const size_t rank = spatialRank(c);
  const Arg stride = spatialArg(c, 3, "stride", rank, 1), padding = spatialArg(c, 4, "padding", rank, 0);
  const Arg more = spatialArg(c, 5, "output_padding", rank, 0);
  const Arg dilation = spatialArg(c, 7, "dilation", rank, 1);
  return withBatch(c, c.in(0, "input"), rank, [&](Node& x) -> Node& {
    return c.emit("convolution.default", {x, c.in(1, "weight"), nodeOrNone(c.findIn(2, "bias")), stride,
                                          padding, dilation, true, more, c.argOr(6, "groups", 1)});
  });
}

// Padding by name: "valid" or "same".
Replacement convPaddingRule(Decomposition& c) {
  const size_t rank = spatialRank(c);
  const Argument& padding = c.at(4, "padding");
  c.need(padding.isString(), "the padding is no text");
  const Arg stride = spatialArg(c, 3, "stride", rank, 1), dilation = spatialArg(c, 5, "dilation", rank, 1);
  Node& weight = c.in(1, "weight");
  std::vector<int64_t> before(rank, 0);
  Arg::List more(2 * rank, Arg(0));  // behind, from the last dimension on
  bool isEven = true;
  if (padding.asString() == "same") {
    const Dims factors = c.perDimension(5, "dilation", rank, SymInt(1));
    for (size_t i = 0; i < rank; ++i) {
      const int64_t total = c.known(symMul(factors[i], symSub(c.size(weight, i + 2), SymInt(1))));
      before[i] = total / 2;
      if (total % 2 == 0) continue;
      isEven = false;
      more[2 * (rank - 1 - i) + 1] = Arg(1);
    }
  } else {
    c.need(padding.asString() == "valid", "the padding is neither 'same' nor 'valid'");
  }
  return withBatch(c, c.in(0, "input"), rank, [&](Node& x) -> Node& {
    Node& padded = isEven ? x : c.emit("constant_pad_nd.default", {x, Arg::list(more), 0.0});
    return c.emit("convolution.default", {padded, weight, nodeOrNone(c.findIn(2, "bias")), stride,
                                          Arg::list(Arg::List(before.begin(), before.end())), dilation, false,
                                          zeroes(rank), c.argOr(6, "groups", 1)});
  });
}

// aten._convolution has the arguments of aten.convolution, then hints for kernels.
Replacement innerConvRule(Decomposition& c) {
  Args args;
  for (size_t i = 0; i < 9; ++i) {
    const Argument* const found = c.node().findArg(i);
    c.need(found != nullptr, "an argument is missing");
    args.emplace_back(*found);
  }
  return c.emit("convolution.default", args);
}

constexpr NamedDecomposition kConvolutionDecompositions[] = {
    {"conv1d.default", convRule},
    {"conv2d.default", convRule},
    {"conv3d.default", convRule},
    {"conv1d.padding", convPaddingRule},
    {"conv2d.padding", convPaddingRule},
    {"conv3d.padding", convPaddingRule},
    {"conv_transpose1d.default", convTransposeRule},
    {"conv_transpose2d.input", convTransposeRule},
    {"conv_transpose3d.input", convTransposeRule},
    {"_convolution.default", innerConvRule},
};

}  // namespace

std::span<const NamedDecomposition> convolutionDecompositions() {
  return kConvolutionDecompositions;
}

}  // namespace edgefx::detail
