#include "dialect/lifted_scalars.h"

#include <edgefx/program/tensor_table.h>

#include "rewrite/input_place.h"
#include "support/fail.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/scalar_tensor.h>
#include <c10/util/complex.h>

#include <algorithm>
#include <string>
#include <utility>

namespace edgefx::detail {
namespace {

at::Scalar scalarOf(const Argument& number) {
  switch (number.kind()) {
    case ArgumentKind::Bool:
      return number.asBool();
    case ArgumentKind::Int:
      return number.asInt();
    case ArgumentKind::Float:
      return number.asFloat();
    case ArgumentKind::Complex: {
      const auto [real, imaginary] = number.asComplex();
      return c10::complex<double>(real, imaginary);
    }
    default:
      fail<InternalError>("an argument that is no number was to become a tensor");
  }
}

}  // namespace

struct LiftedScalars::Lifted {
  std::string name;
  StoredTensor tensor;
};

LiftedScalars::LiftedScalars(ExportedProgram& program) : program_(program) {
  const std::vector<InputSpec>& inputs = program.signature.inputs;
  const InputPlace place = placeOfStoredInputs(program);
  position_ = place.position;
  place_ = place.point;
  nextNumber_ = static_cast<size_t>(std::ranges::count(inputs, InputKind::Buffer, &InputSpec::kind));
}

LiftedScalars::~LiftedScalars() = default;

Node& LiftedScalars::add(const Argument& number, Dtype dtype) {
  Graph& graph = program_.graph();
  std::string name;
  do {
    name = "_lifted_tensor_constant" + std::to_string(nextNumber_++);
  } while (graph.uniqueName(name) != name || program_.stateDict().contains(name) ||
           program_.constants().contains(name));
  StoredTensor tensor(at::scalar_tensor(scalarOf(number), at::TensorOptions(*toScalarType(dtype))));
  const InsertionGuard guard(graph, place_);
  Node& node = graph.placeholder(name, name);
  node.setValue(ValueMeta::of(*tensor.meta()));
  lifted_.push_back({std::move(name), std::move(tensor)});
  return node;
}

void LiftedScalars::finish() {
  std::vector<InputSpec> specs;
  specs.reserve(lifted_.size());
  for (Lifted& lifted : lifted_) {
    InputSpec& spec = specs.emplace_back();
    spec.kind = InputKind::Buffer;
    spec.arg.name = lifted.name;
    spec.target = lifted.name;
    spec.persistent = true;
    program_.stateDict().set(lifted.name, std::move(lifted.tensor));
  }
  std::vector<InputSpec>& inputs = program_.signature.inputs;
  inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(std::min(position_, inputs.size())),
                std::make_move_iterator(specs.begin()), std::make_move_iterator(specs.end()));
  lifted_.clear();
}

}  // namespace edgefx::detail
