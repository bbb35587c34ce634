#pragma once

#include "support/random_program.h"

#include <ATen/core/ivalue.h>

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace edgefx::test {

// What a value is: dtypes, sizes and strides of tensors, inside of tuples and lists, too.
ValueRef describeValue(const c10::IValue& value);

// Values between -1 and 1, the same on every platform.
at::Tensor randomTensor(Dice& dice, const std::vector<int64_t>& sizes, Dtype dtype = Dtype::Float32);

// Writes calls into a graph, each of which it runs at once: what LibTorch does not take is not written, and
// every node has its true description. Data does not matter, for indices are taken modulo the size.
class RandomCalls {
 public:
  struct Value {
    Node* node;
    at::Tensor tensor;
  };

  // `writes`: whether operators may write in place.
  RandomCalls(Dice& dice, GraphModule& owner, int depth, bool writes);

  // `tensor` may be written by the calls if `isWritable`.
  void addInput(Node& node, at::Tensor tensor, bool isWritable);
  // Adds about that many operators, control flow included.
  void add(size_t count);

  // The call of an operator; null, and no node, if its kernel refuses the arguments or gives a large tensor.
  Node* call(Target target, const Args& args, const Kwargs& kwargs = {});
  // A node that the caller knows the value of.
  Node& known(Target target, const Args& args, c10::IValue value, ValueRef description);
  Value valueOf(Node& node) const;

  bool hasValues() const { return !values_.empty(); }
  // Any value, one of the last, or one of a kind if there is one.
  Value any() { return values_[dice_.below(values_.size())]; }
  Value recent();
  template <typename Test>
  std::optional<Value> pick(Test&& test) {
    const size_t count = values_.size();
    if (count == 0) return std::nullopt;
    const size_t back = dice_.percent(60) ? dice_.below(std::min<size_t>(count, 6)) : dice_.below(count);
    for (size_t i = 0; i < count; ++i) {
      const Value& value = values_[(2 * count - 1 - back - i) % count];
      if (test(value.tensor)) return value;
    }
    return std::nullopt;
  }

  // The value, or a contiguous one made of it: of its own memory if it is an input; of this dtype and shape.
  Value contiguous(const Value& value);
  Value conform(const Value& value, const at::Tensor& like);
  Node* cast(const Value& value, Dtype dtype);

 private:
  // A branch that was written, and what it may be called with.
  struct Branch {
    std::string name;
    std::vector<at::Tensor> operands, results;
  };
  using Operands = std::vector<Value>;

  Node* callUnbounded(Target target, const Args& args, const Kwargs& kwargs = {});
  c10::IValue evaluate(const Node& node) const;
  void keep(Node& node, const c10::IValue& value);
  Node* item(Node& sequence, int64_t index);
  void items(Node* sequence, size_t count);
  bool isWritable(const at::Tensor& tensor) const;
  const char* oneOf(std::initializer_list<const char*> names);
  Arg scalar();
  int64_t anyDim(const at::Tensor& tensor);
  std::optional<Value> index(int64_t bound, bool isFlat);

  void addOne();
  void addUnary();
  void addBinary();
  void addScalarOperand();
  void addComparison();
  void addLogical();
  void addCast();
  void addView();
  void addParts();
  void addJoin();
  void addMatrix();
  void addNetwork();
  void addReduction();
  void addLookup();
  void addSorted();
  void addNew();
  void addWrite();

  void addControlFlow();
  void addCond();
  void addWhile();
  void addMap();
  void addScan();
  void addSubgraph();
  Value condition();
  Operands someOperands(size_t most);
  template <typename Fill>
  Branch makeBranch(std::string_view prefix, const std::vector<at::Tensor>& operands, bool writes,
                    Fill&& fill);
  Branch freeBranch(std::string_view prefix, const std::vector<at::Tensor>& operands,
                    const std::vector<at::Tensor>* like, bool writes);
  // A branch that was written before for such operands and, if given, such results.
  const Branch* findBranch(const std::vector<at::Tensor>& operands, const std::vector<at::Tensor>* like);
  Node& attribute(const Branch& branch);
  void callGraphs(const char* name, const Args& args, const std::vector<at::Tensor>& results);

  Dice& dice_;
  GraphModule& owner_;
  Graph& graph_;
  int depth_;
  bool writes_;
  size_t numCalls_ = 0;
  std::vector<Value> values_;
  std::unordered_map<const Node*, c10::IValue> known_;  // never iterated over
  std::unordered_set<const void*> readOnly_;            // storages
  std::vector<Branch> branches_;
  std::unordered_map<std::string, Node*> attributes_;
};

}  // namespace edgefx::test
