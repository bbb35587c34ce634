#pragma once

#include <edgefx/program/exported_program.h>

#include <set>
#include <string>
#include <string_view>

namespace at {
class Tensor;
}

namespace nhwc {

// The stored tensors behind the placeholders of a program, whose signature must not change meanwhile.
class Weights {
 public:
  explicit Weights(const edgefx::ExportedProgram& program);

  // Null for other nodes, and for what the program writes. O(log inputs).
  const at::Tensor* find(const edgefx::Node* placeholder) const;

 private:
  const edgefx::ExportedProgram& program_;
  edgefx::SignatureIndex index_;
  std::set<std::string_view> written_;
};

// A convolution of float32 [N, C, H, W], in the form of Core ATen.
bool isImageConvolution(const edgefx::Node& node);
// The same for max pooling.
bool isImagePooling(const edgefx::Node& node);

}  // namespace nhwc
