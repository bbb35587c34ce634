#pragma once

#include "ir/shape_call.h"

#include <optional>

namespace edgefx::detail {

// The type that holds values of both; nothing if PyTorch has none.
std::optional<Dtype> promoteDtypes(Dtype a, Dtype b);

// torch.result_type: operands are added one by one, and tensors with dimensions count for more than those
// without, and these for more than plain numbers, unless the others are of a higher kind (bool, whole,
// floating, complex).
class DtypePromotion {
 public:
  void addTensor(const TensorMeta& tensor) {
    add(tensor.sizes.empty() ? scalar_ : dimensioned_, tensor.dtype);
  }
  // A tensor or a number; ShapeUnknown if it is neither.
  void add(const Argument& operand);
  // ShapeUnknown if there is none.
  Dtype result() const;

 private:
  static void add(std::optional<Dtype>& place, Dtype dtype);

  std::optional<Dtype> dimensioned_, scalar_, number_;
};

// float32 for whole numbers and bools.
Dtype floatingOf(Dtype dtype);
// int64 for whole numbers and bools: what sums and products are taken in.
Dtype accumulatedOf(Dtype dtype);
// float32 of complex64 and so on.
Dtype realOf(Dtype dtype);

}  // namespace edgefx::detail
