#include "run/evaluate_call.h"

#include "run/kernel.h"
#include "run/widened_call.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>

#include <utility>
#include <vector>

namespace edgefx::detail {

std::optional<c10::IValue> evaluateCall(const Node& call, const LeafValues& leaves) {
  const std::optional<BoundCall> bound = bindCall(call.target(), call.args(), call.kwargs());
  if (!bound) return std::nullopt;
  const std::vector<c10::Argument>& declared = bound->kernel.schema->arguments();
  std::vector<c10::IValue> arguments;
  for (size_t i = 0; i < declared.size(); ++i) {
    const Argument* given = bound->arguments[i];
    arguments.push_back(given == nullptr ? defaultArgument(declared[i])
                                         : convertArgument(toIValue(*given, leaves), declared[i]));
  }
  const at::NoGradGuard noGradients;
  const at::AutoDispatchBelowADInplaceOrView belowAutograd;
  std::vector<c10::IValue> stack = arguments;
  try {
    bound->kernel.call(stack);
  } catch (const c10::Error& error) {
    if (!lacksNarrowType(error)) throw;
    stack = std::move(arguments);
    callWidened(bound->kernel, stack);
  }
  if (stack.empty()) return c10::IValue();
  if (stack.size() == 1) return std::move(stack.back());
  return c10::ivalue::Tuple::create(std::move(stack));
}

}  // namespace edgefx::detail
