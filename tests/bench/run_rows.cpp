#include <edgefx/run/interpreter.h>

#include "bench/bench_rows.h"
#include "support/program_builder.h"

// The dispatcher's header needs the other one before it.
// clang-format off
#include <ATen/core/ivalue.h>
#include <ATen/core/dispatch/Dispatcher.h>
// clang-format on
#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/GradMode.h>

#include <stdexcept>
#include <string>

namespace edgefx::bench {
namespace {

using test::ProgramBuilder;
using test::sampleTensor;
using test::tensorValue;

constexpr int64_t kElements = 16;

// x, then x + b, relu, * b, neg, and so on.
ExportedProgram makeTinyOperators(size_t nodes) {
  ProgramBuilder builder;
  Node& b = builder.buffer("b", sampleTensor({kElements}));
  Node* value = &builder.userInput("x", tensorValue({kElements}));
  for (size_t i = 0; i < nodes; ++i) {
    static const Target kTargets[] = {"aten.add.Tensor", "aten.relu.default", "aten.mul.Tensor",
                                      "aten.neg.default"};
    const Target target = kTargets[i % 4];
    const Args args = i % 2 == 0 ? Args{*value, b} : Args{*value};
    value = &builder.call(target, args, tensorValue({kElements}));
  }
  builder.userOutput(*value);
  return builder.finish();
}

template <typename Signature>
auto typed(const char* name, const char* overload) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload).typed<Signature>();
}

at::Tensor runByHand(size_t nodes, at::Tensor value, const at::Tensor& b) {
  static const auto add =
      typed<at::Tensor(const at::Tensor&, const at::Tensor&, const at::Scalar&)>("aten::add", "Tensor");
  static const auto relu = typed<at::Tensor(const at::Tensor&)>("aten::relu", "");
  static const auto mul = typed<at::Tensor(const at::Tensor&, const at::Tensor&)>("aten::mul", "Tensor");
  static const auto neg = typed<at::Tensor(const at::Tensor&)>("aten::neg", "");
  const at::NoGradGuard noGradients;
  const at::AutoDispatchBelowADInplaceOrView belowAutograd;
  for (size_t i = 0; i < nodes; ++i) {
    switch (i % 4) {
      case 0:
        value = add.call(value, b, 1);
        break;
      case 1:
        value = relu.call(value);
        break;
      case 2:
        value = mul.call(value, b);
        break;
      default:
        value = neg.call(value);
    }
  }
  return value;
}

}  // namespace

void addRunRows(const Options& options, Table& table) {
  if (!options.wants("14")) return;
  constexpr size_t kNodes = 10'000;
  constexpr double kMicro = 1e-3;  // of nanoseconds
  const ExportedProgram program = makeTinyOperators(kNodes);
  Interpreter interpreter(program);
  const at::Tensor x = sampleTensor({kElements});
  const at::Tensor b = sampleTensor({kElements});
  if (!interpreter.run({x})[0].toTensor().equal(runByHand(kNodes, x, b))) {
    throw std::runtime_error("the interpreter and the hand-written loop give different results");
  }
  const auto times = medians({making("run", [&] { return interpreter.run({x}); }),
                              making("by hand", [&] { return runByHand(kNodes, x, b); })},
                             options.repetitionsAt(kNodes));
  table.add({"14", "run tiny operators / dispatcher calls by hand", kNodes, times[0] * kMicro,
             times[1] * kMicro, "us", Goal{1.2, 1.5}});
}

}  // namespace edgefx::bench
