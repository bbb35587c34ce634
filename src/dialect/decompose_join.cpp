#include "dialect/decomposition.h"
#include "ir/shape_layout.h"

#include <algorithm>

// Tensors put together, and repeated.
namespace edgefx::detail {
namespace {

Arg nodesArg(const std::vector<Node*>& nodes) {
  return Arg::list(Arg::List(nodes.begin(), nodes.end()));
}

Node& catAlong(Decomposition& c, const std::vector<Node*>& parts, int64_t dim) {
  return dim == 0 ? c.emit("cat.default", {nodesArg(parts)}) : c.emit("cat.default", {nodesArg(parts), dim});
}

Node& stackAlong(Decomposition& c, std::vector<Node*> parts, int64_t dim) {
  c.need(!parts.empty(), "there are no tensors");
  Dims sizes = c.meta(*parts.front()).sizes;
  const size_t rank = sizes.size();
  const size_t place = c.dimension(dim, rank + 1);
  if (place == rank) {
    for (Node*& part : parts) part = &c.emit("unsqueeze.default", {*part, place});
    return catAlong(c, parts, dim);
  }
  sizes.insert(sizes.begin() + static_cast<ptrdiff_t>(place), SymInt(static_cast<int64_t>(parts.size())));
  return c.reshape(c.emit("cat.default", {nodesArg(parts), place}), sizes);
}

Replacement stackRule(Decomposition& c) {
  return stackAlong(c, c.list(0, "tensors"), c.integer(1, "dim", 0));
}

Replacement concatRule(Decomposition& c) {
  return catAlong(c, c.list(0, "tensors"), c.integer(1, "dim", 0));
}

// Tensors of at least this rank, new dimensions in front.
std::vector<Node*> raised(Decomposition& c, std::vector<Node*> parts, size_t wanted) {
  for (Node*& part : parts) {
    const Dims& sizes = c.meta(*part).sizes;
    if (sizes.size() >= wanted) continue;
    Dims more(wanted - sizes.size(), SymInt(1));
    more.insert(more.end(), sizes.begin(), sizes.end());
    part = &c.view(*part, more);
  }
  return parts;
}

Replacement hstackRule(Decomposition& c) {
  const std::vector<Node*> parts = raised(c, c.list(0, "tensors"), 1);
  c.need(!parts.empty(), "there are no tensors");
  return catAlong(c, parts, c.rank(*parts.front()) == 1 ? 0 : 1);
}

Replacement vstackRule(Decomposition& c) {
  const std::vector<Node*> parts = raised(c, c.list(0, "tensors"), 2);
  c.need(!parts.empty(), "there are no tensors");
  return catAlong(c, parts, 0);
}

Replacement columnStackRule(Decomposition& c) {
  std::vector<Node*> parts = c.list(0, "tensors");
  c.need(!parts.empty(), "there are no tensors");
  for (Node*& part : parts) {
    if (c.rank(*part) <= 1) part = &c.reshape(*part, {elementCount(c.meta(*part).sizes), SymInt(1)});
  }
  return catAlong(c, parts, 1);
}

Replacement broadcastTensorsRule(Decomposition& c) {
  std::vector<Node*> parts = c.list(0, "tensors");
  std::vector<Dims> shapes;
  for (const Node* part : parts) shapes.push_back(c.meta(*part).sizes);
  const Dims sizes = broadcast(c, shapes);
  for (Node*& part : parts) part = &c.expand(*part, sizes);
  return Replacement(std::move(parts));
}

Replacement meshgridRule(Decomposition& c) {
  std::vector<Node*> parts = c.list(0, "tensors");
  const Argument* const indexing = c.find(kKeywordOnly, "indexing");
  const bool isSwapped =
      indexing != nullptr && indexing->isString() && indexing->asString() == "xy" && parts.size() >= 2;
  if (isSwapped) std::swap(parts[0], parts[1]);
  Dims sizes;
  for (const Node* part : parts) sizes.push_back(elementCount(c.meta(*part).sizes));
  for (size_t i = 0; i < parts.size(); ++i) {
    Dims own(parts.size(), SymInt(1));
    own[i] = sizes[i];
    parts[i] = &c.expand(c.view(*parts[i], own), sizes);
  }
  if (isSwapped) std::swap(parts[0], parts[1]);
  return Replacement(std::move(parts));
}

Replacement tileRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const Argument& dims = c.at(1, "dims");
  const size_t rank = c.rank(x), given = dims.items().size();
  Arg::List repeats(rank > given ? rank - given : 0, Arg(1));
  for (const Argument& item : dims.items()) repeats.emplace_back(item);
  return c.emit("repeat.default", {x, Arg::list(std::move(repeats))});
}

Replacement repeatInterleaveRule(Decomposition& c) {
  Node* x = &c.in(0, "self");
  const SymInt repeats = c.size(1, "repeats");
  const bool isFlat = c.find(2, "dim") == nullptr;
  if (isFlat) x = &c.reshape(*x, {elementCount(c.meta(*x).sizes)});
  c.need(c.rank(*x) > 0, "a scalar is not repeated");
  const size_t dim = isFlat ? 0 : c.wrap(c.integer(2, "dim"), *x);
  Dims sizes = c.meta(*x).sizes, flat = sizes;
  sizes.insert(sizes.begin() + static_cast<ptrdiff_t>(dim) + 1, repeats);
  flat[dim] = symMul(flat[dim], repeats);
  Node& wide = c.expand(c.emit("unsqueeze.default", {*x, dim + 1}), sizes);
  Node& copy = c.emit("clone.default", {wide}, {{"memory_format", MemoryFormat::Contiguous}});
  return c.view(copy, flat);
}

constexpr NamedDecomposition kJoinDecompositions[] = {
    {"stack.default", stackRule},
    {"concat.default", concatRule},
    {"concatenate.default", concatRule},
    {"hstack.default", hstackRule},
    {"vstack.default", vstackRule},
    {"row_stack.default", vstackRule},
    {"column_stack.default", columnStackRule},
    {"broadcast_tensors.default", broadcastTensorsRule},
    {"meshgrid.default", meshgridRule},
    {"meshgrid.indexing", meshgridRule},
    {"tile.default", tileRule},
    {"repeat_interleave.self_int", repeatInterleaveRule},
};

}  // namespace

std::span<const NamedDecomposition> joinDecompositions() {
  return kJoinDecompositions;
}

}  // namespace edgefx::detail
