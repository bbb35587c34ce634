#include "dialect/decomposition.h"
#include "ir/shape_layout.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

// aten.einsum as products of pairs of operands, from left to right.
namespace edgefx::detail {
namespace {

struct EinsumEquation {
  std::vector<std::string> operands;  // labels of each
  std::string result;
};

EinsumEquation readEquation(Decomposition& c, std::string_view text, size_t count) {
  EinsumEquation equation;
  std::string all;
  for (const char letter : text) {
    if (letter != ' ') all += letter;
  }
  const size_t arrow = all.find("->");
  std::string left = all.substr(0, arrow);
  for (size_t begin = 0;;) {
    const size_t comma = left.find(',', begin);
    equation.operands.push_back(left.substr(begin, comma - begin));
    if (comma == std::string::npos) break;
    begin = comma + 1;
  }
  c.need(equation.operands.size() == count, "operands and their labels differ in number");
  for (const std::string& labels : equation.operands) {
    for (const char label : labels) {
      c.need(std::isalpha(static_cast<unsigned char>(label)) != 0, "the equation has an ellipsis");
      c.need(std::ranges::count(labels, label) == 1, "an operand has a label twice");
    }
  }
  if (arrow != std::string::npos) {
    equation.result = all.substr(arrow + 2);
  } else {
    // In LibTorch's order: upper case letters before lower case ones.
    for (char label = 'A'; label <= 'z'; ++label) {
      if (std::ranges::count(left, label) == 1) equation.result += label;
    }
    std::erase(equation.result, ',');
  }
  for (const char label : equation.result) {
    c.need(std::ranges::count(equation.result, label) == 1 && left.find(label) != std::string::npos &&
               label != ',',
           "a label of the result does not fit");
  }
  return equation;
}

bool isOneSize(const SymInt& size) {
  return !size.isSymbolic() && size.value() == 1;
}

Arg dimsArg(const std::vector<size_t>& dims) {
  return Arg::list(Arg::List(dims.begin(), dims.end()));
}

std::vector<size_t> joinedDims(std::initializer_list<const std::vector<size_t>*> lists) {
  std::vector<size_t> all;
  for (const auto* list : lists) all.insert(all.end(), list->begin(), list->end());
  return all;
}

// at::native::sumproduct_pair with keepdim: the sum over `sums` of the product, these dimensions then of
// size 1.
Node& sumProduct(Decomposition& c, Node* left, Node* right, const std::vector<size_t>& sums) {
  if (sums.empty()) return c.emit("mul.Tensor", {*left, *right});
  const size_t rank = c.rank(*left);
  std::vector<size_t> both, leftOnly, rightOnly, summed;
  SymInt bothSize(1), leftSize(1), rightSize(1), sumSize(1);
  for (size_t dim = 0; dim < rank; ++dim) {
    const SymInt sizeLeft = c.size(*left, dim), sizeRight = c.size(*right, dim);
    const bool isLeft = !isOneSize(sizeLeft), isRight = !isOneSize(sizeRight);
    if (std::ranges::find(sums, dim) != sums.end()) {
      summed.push_back(dim);
      if (isLeft && isRight) {
        sumSize = symMul(sumSize, sizeLeft);
      } else if (isLeft) {
        left = &c.emit("sum.dim_IntList", {*left, {dim}, true});
      } else if (isRight) {
        right = &c.emit("sum.dim_IntList", {*right, {dim}, true});
      }
    } else if (isLeft && isRight) {
      both.push_back(dim);
      bothSize = symMul(bothSize, sizeLeft);
    } else if (isLeft) {
      leftOnly.push_back(dim);
      leftSize = symMul(leftSize, sizeLeft);
    } else {
      rightOnly.push_back(dim);
      rightSize = symMul(rightSize, sizeRight);
    }
  }
  const std::vector<size_t> orderLeft = joinedDims({&both, &leftOnly, &summed, &rightOnly});
  const std::vector<size_t> orderRight = joinedDims({&both, &summed, &rightOnly, &leftOnly});
  const std::vector<size_t> orderResult = joinedDims({&both, &leftOnly, &summed, &rightOnly});
  Dims sizes;
  for (const size_t dim : both) sizes.push_back(c.size(*left, dim));
  for (const size_t dim : leftOnly) sizes.push_back(c.size(*left, dim));
  sizes.insert(sizes.end(), summed.size(), SymInt(1));
  for (const size_t dim : rightOnly) sizes.push_back(c.size(*right, dim));
  std::vector<size_t> back(rank);
  for (size_t i = 0; i < rank; ++i) back[orderResult[i]] = i;

  Node& turnedLeft = c.emit("permute.default", {*left, dimsArg(orderLeft)});
  Node& flatLeft = c.reshape(turnedLeft, Dims{bothSize, leftSize, sumSize});
  Node& turnedRight = c.emit("permute.default", {*right, dimsArg(orderRight)});
  Node& flatRight = c.reshape(turnedRight, Dims{bothSize, sumSize, rightSize});
  Node& product = c.emit("bmm.default", {flatLeft, flatRight});
  return c.emit("permute.default", {c.view(product, sizes), dimsArg(back)});
}

// The operand with a dimension for every label, of size 1 for those that it lacks.
Node& withAllLabels(Decomposition& c, Node& operand, const std::string& labels, const std::string& all) {
  Node* wide = &operand;
  std::vector<size_t> order;
  size_t missing = labels.size();
  for (const char label : all) {
    const size_t place = labels.find(label);
    if (place == std::string::npos) wide = &c.emit("unsqueeze.default", {*wide, missing});
    order.push_back(place == std::string::npos ? missing++ : place);
  }
  return c.emit("permute.default", {*wide, dimsArg(order)});
}

Replacement einsumRule(Decomposition& c) {
  const Argument& text = c.at(0, "equation");
  std::vector<Node*> operands = c.list(1, "tensors");
  c.need(text.isString() && !operands.empty() && c.find(kKeywordOnly, "path") == nullptr, "a path is given");
  const EinsumEquation equation = readEquation(c, text.asString(), operands.size());

  std::string all = equation.result;  // then the labels that are summed over
  std::array<size_t, 128> last{};     // the last operand with each label
  for (size_t i = 0; i < operands.size(); ++i) {
    c.need(c.rank(*operands[i]) == equation.operands[i].size(), "the labels do not fit the rank");
    for (const char label : equation.operands[i]) {
      if (all.find(label) == std::string::npos) all += label;
      last[static_cast<size_t>(label)] = i;
    }
  }
  std::sort(all.begin() + static_cast<ptrdiff_t>(equation.result.size()), all.end());
  for (size_t i = 0; i < operands.size(); ++i) {
    operands[i] = &withAllLabels(c, *operands[i], equation.operands[i], all);
  }

  Node* product = operands.front();
  const size_t kept = equation.result.size();
  const auto sumsOf = [&](size_t operand) {
    std::vector<size_t> sums;
    for (size_t dim = kept; dim < all.size(); ++dim) {
      if (last[static_cast<size_t>(all[dim])] == operand) sums.push_back(dim);
    }
    return sums;
  };
  if (operands.size() == 1) {
    const std::vector<size_t> sums = sumsOf(0);
    return sums.empty() ? *product : c.emit("sum.dim_IntList", {*product, dimsArg(sums)});
  }
  // What only the first operand has is summed together with the second.
  for (size_t i = 1; i < operands.size(); ++i) {
    std::vector<size_t> sums = i == 1 ? sumsOf(0) : std::vector<size_t>();
    for (const size_t dim : sumsOf(i)) sums.push_back(dim);
    product = &sumProduct(c, product, operands[i], sums);
  }
  if (all.size() == kept) return *product;
  Dims sizes = c.meta(*product).sizes;
  sizes.resize(kept);
  return c.view(*product, sizes);
}

constexpr NamedDecomposition kEinsumDecompositions[] = {
    {"einsum.default", einsumRule},
};

}  // namespace

std::span<const NamedDecomposition> einsumDecompositions() {
  return kEinsumDecompositions;
}

}  // namespace edgefx::detail
