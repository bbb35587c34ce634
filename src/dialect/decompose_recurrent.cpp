#include "dialect/decomposition.h"
#include "dialect/matrix_product.h"

#include <algorithm>

// Recurrent cells, and networks of them unrolled over time.
namespace edgefx::detail {
namespace {

constexpr int64_t kMostSteps = 2048;  // of time, in all layers

enum class CellKind { Tanh, Relu, Gru, Lstm };

CellKind cellKindOf(std::string_view op) {
  if (op.starts_with("lstm")) return CellKind::Lstm;
  if (op.starts_with("gru")) return CellKind::Gru;
  return op.starts_with("rnn_relu") ? CellKind::Relu : CellKind::Tanh;
}

struct CellState {
  Node* hidden = nullptr;
  Node* memory = nullptr;  // LSTM
};

struct CellWeights {
  Node* input = nullptr;
  Node* hidden = nullptr;
  Node* inputBias = nullptr;
  Node* hiddenBias = nullptr;
};

CellState lstmStep(Decomposition& c, Node& gates, const CellState& state) {
  const std::vector<Node*> parts = c.emitItems("chunk.default", {gates, 4, 1});
  c.need(parts.size() == 4, "its weights do not fit");
  Node& in = c.emit("sigmoid.default", {*parts[0]});
  Node& forget = c.emit("sigmoid.default", {*parts[1]});
  Node& cell = c.emit("tanh.default", {*parts[2]});
  Node& out = c.emit("sigmoid.default", {*parts[3]});
  Node& kept = c.emit("mul.Tensor", {forget, *state.memory});
  Node& memory = c.emit("add.Tensor", {kept, c.emit("mul.Tensor", {in, cell})});
  return {&c.emit("mul.Tensor", {out, c.emit("tanh.default", {memory})}), &memory};
}

CellState gruStep(Decomposition& c, Node& fromInput, Node& fromHidden, const CellState& state) {
  const std::vector<Node*> in = c.emitItems("chunk.default", {fromInput, 3, 1});
  const std::vector<Node*> own = c.emitItems("chunk.default", {fromHidden, 3, 1});
  c.need(in.size() == 3 && own.size() == 3, "its weights do not fit");
  Node& reset = c.emit("sigmoid.default", {c.emit("add.Tensor", {*own[0], *in[0]})});
  Node& update = c.emit("sigmoid.default", {c.emit("add.Tensor", {*own[1], *in[1]})});
  Node& kept = c.emit("mul.Tensor", {*own[2], reset});
  Node& fresh = c.emit("tanh.default", {c.emit("add.Tensor", {*in[2], kept})});
  Node& way = c.emit("mul.Tensor", {c.emit("sub.Tensor", {*state.hidden, fresh}), update});
  return {&c.emit("add.Tensor", {way, fresh}), nullptr};
}

// One step; `fromInput` is the input's part of the gates.
CellState cellStep(Decomposition& c, CellKind kind, Node& fromInput, Node& fromHidden,
                   const CellState& state) {
  if (kind == CellKind::Gru) return gruStep(c, fromInput, fromHidden, state);
  Node& gates = c.emit("add.Tensor", {fromHidden, fromInput});
  if (kind == CellKind::Lstm) return lstmStep(c, gates, state);
  return {&c.emit(kind == CellKind::Relu ? "relu.default" : "tanh.default", {gates}), nullptr};
}

Replacement cellRule(Decomposition& c) {
  const CellKind kind = cellKindOf(c.op());
  CellState state;
  if (kind == CellKind::Lstm) {
    const std::vector<Node*> held = c.list(1, "hx");
    c.need(held.size() == 2, "its state is no pair");
    state = {held[0], held[1]};
  } else {
    state.hidden = &c.in(1, "hx");
  }
  Node& x = c.in(0, "input");
  c.need(c.rank(x) == 2, "its input has no batch");
  // LibTorch calculates the state's part first.
  Node& fromHidden = linearProduct(c, *state.hidden, c.in(3, "w_hh"), c.findIn(5, "b_hh"));
  Node& fromInput = linearProduct(c, x, c.in(2, "w_ih"), c.findIn(4, "b_ih"));
  const CellState made = cellStep(c, kind, fromInput, fromHidden, state);
  if (kind != CellKind::Lstm) return *made.hidden;
  return Replacement({made.hidden, made.memory});
}

// One layer in one direction over an input of [time, batch, features].
Node& runLayer(Decomposition& c, CellKind kind, Node& x, const CellWeights& weights, CellState& state,
               bool isReversed) {
  const int64_t steps = c.known(c.size(x, 0));
  Node& fromInput = linearProduct(c, x, *weights.input, weights.inputBias);
  std::vector<Node*> results(static_cast<size_t>(steps));
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t step = isReversed ? steps - 1 - i : i;
    Node& part = c.emit("select.int", {fromInput, 0, step});
    Node& fromHidden = linearProduct(c, *state.hidden, *weights.hidden, weights.hiddenBias);
    state = cellStep(c, kind, part, fromHidden, state);
    results[static_cast<size_t>(step)] = state.hidden;
  }
  Arg::List all(results.begin(), results.end());
  return c.emit("stack.default", {Arg::list(std::move(all))});
}

// (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
Replacement networkRule(Decomposition& c) {
  const CellKind kind = cellKindOf(c.op());
  Node* x = &c.in(0, "input");
  const std::vector<Node*> params = c.list(2, "params");
  const bool hasBiases = c.boolean(3, "has_biases", true), isTwoWay = c.boolean(7, "bidirectional", false);
  const bool isBatchFirst = c.boolean(8, "batch_first", false);
  const int64_t layers = c.integer(4, "num_layers");
  c.need(c.rank(*x) == 3 && layers >= 1 && layers <= kMostSteps, "its rank or number of layers does not fit");
  c.need(!c.boolean(6, "train", false) || c.number(5, "dropout", 0) == 0, "it drops out, which is random");
  const size_t ways = isTwoWay ? 2 : 1, perLayer = hasBiases ? 4 : 2;
  c.need(params.size() == static_cast<size_t>(layers) * ways * perLayer,
         "it has projections or lacks weights");
  if (isBatchFirst) x = &c.transpose(*x, 0, 1);
  const int64_t steps = c.known(c.size(*x, 0));
  c.need(steps >= 1 && steps <= kMostSteps && steps * layers * static_cast<int64_t>(ways) <= kMostSteps,
         "it has too many steps to unroll");

  const std::vector<Node*> given =
      kind == CellKind::Lstm ? c.list(1, "hx") : std::vector<Node*>{&c.in(1, "hx")};
  c.need(given.size() == (kind == CellKind::Lstm ? 2U : 1U), "its state does not fit");
  std::vector<Node*> hidden, memory;
  for (size_t i = 0; i < static_cast<size_t>(layers) * ways; i += ways) {
    std::vector<Node*> results;
    for (size_t way = 0; way < ways; ++way) {
      Node* const* const first = params.data() + (i + way) * perLayer;
      CellWeights weights{first[0], first[1]};
      if (hasBiases) weights.inputBias = first[2], weights.hiddenBias = first[3];
      CellState state;
      state.hidden = &c.emit("select.int", {*given[0], 0, i + way});
      if (kind == CellKind::Lstm) state.memory = &c.emit("select.int", {*given[1], 0, i + way});
      results.push_back(&runLayer(c, kind, *x, weights, state, way == 1));
      hidden.push_back(state.hidden);
      memory.push_back(state.memory);
    }
    x = ways == 1 ? results[0] : &c.emit("cat.default", {{*results[0], *results[1]}, 2});
  }
  const auto stacked = [&](const std::vector<Node*>& parts) -> Node* {
    return &c.emit("stack.default", {Arg::list(Arg::List(parts.begin(), parts.end()))});
  };
  Node* const output = isBatchFirst ? &c.transpose(*x, 0, 1) : x;
  std::vector<Node*> items{output, stacked(hidden)};
  if (kind == CellKind::Lstm) items.push_back(stacked(memory));
  return Replacement(std::move(items));
}

constexpr NamedDecomposition kRecurrentDecompositions[] = {
    {"lstm_cell.default", cellRule},     {"gru_cell.default", cellRule},  {"rnn_tanh_cell.default", cellRule},
    {"rnn_relu_cell.default", cellRule}, {"lstm.input", networkRule},     {"gru.input", networkRule},
    {"rnn_tanh.input", networkRule},     {"rnn_relu.input", networkRule},
};

}  // namespace

std::span<const NamedDecomposition> recurrentDecompositions() {
  return kRecurrentDecompositions;
}

}  // namespace edgefx::detail
