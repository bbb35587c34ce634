#pragma once

// A device that runs parts of a program: what it can take, and who compiles it. The README shows the lines
// between the markers.

// [readme]
#include <edgefx/edgefx.h>

namespace npu {

inline edgefx::OperatorSupport supported() {
  return edgefx::support::operators({"aten.addmm.default", "aten.any.default", "aten.bmm.default",
                                     "aten.clone.default", "aten.expand_copy.default", "aten.mm.default",
                                     "aten.ne.Scalar", "aten.permute_copy.default", "aten.view_copy.default",
                                     "higher_order.cond"}) &&
         edgefx::support::dtypes({edgefx::Dtype::Float32, edgefx::Dtype::Bool});
}

struct Partitioner : edgefx::Partitioner {
  explicit Partitioner(edgefx::ControlFlow flow) : controlFlow(flow) {}
  std::string_view name() const override { return "npu-partitioner"; }
  edgefx::PartitionResult partition(const edgefx::ExportedProgram& program) const override {
    return edgefx::partitionBySupport(program, supported(), {.spec = {"npu"}, .controlFlow = controlFlow});
  }
  edgefx::ControlFlow controlFlow;
};

struct Backend : edgefx::BackendDetails {
  std::string_view name() const override { return "npu"; }
  edgefx::PreprocessResult preprocess(const edgefx::ExportedProgram& program,
                                      std::span<const edgefx::CompileSpec> /*specs*/) const override {
    return {edgefx::SharedBytes::copyOf(edgefx::fxText(program.graphModule()))};  // your compiler goes here
  }
};

inline edgefx::ExportedProgram lower(const edgefx::ExportedProgram& program,
                                     const edgefx::Partitioner& partitioner) {
  edgefx::BackendRegistry registry;
  registry.add(std::make_unique<Backend>());
  return edgefx::toBackend(program, partitioner, registry);
}

}  // namespace npu
// [readme]
