#include "run/kernel.h"

#include <edgefx/ir/operators.h>

#include "support/fail.h"

#include <fmt/ostream.h>

#include <algorithm>
#include <string>
#include <utility>

namespace edgefx::detail {
namespace {

bool runsOnCpu(const c10::OperatorHandle& handle) {
  if constexpr (requires { handle.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU); }) {
    return handle.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU);
  } else {
    return true;
  }
}

std::string_view overloadOf(Target target) {
  return target.kind() == TargetKind::Packet ? std::string_view("default") : target.overload();
}

std::optional<Kernel> findInDispatcher(Target target) {
  std::string name(target.ns());
  name += "::";
  name += target.op();
  const std::string_view overload = overloadOf(target);
  const auto found = c10::Dispatcher::singleton().findSchema(
      {std::move(name), overload == "default" ? std::string() : std::string(overload)});
  if (!found || !runsOnCpu(*found)) return std::nullopt;
  return Kernel{&found->schema(), *found};
}

std::optional<Kernel> findAmongEquivalents(Target target) {
  std::string name(target.ns());
  name += '.';
  name += target.op();
  name += '.';
  name += overloadOf(target);
  const OperatorEquivalent* found = findEquivalent(name);
  if (found == nullptr) return std::nullopt;
  return Kernel{&found->schema, std::nullopt, found->run, found->replacesOlder};
}

// Position of the argument that a call gives as its i-th.
std::optional<size_t> position(const Kernel& kernel, const OperatorInfo* declared, size_t i) {
  const std::vector<c10::Argument>& arguments = kernel.schema->arguments();
  if (declared == nullptr) return i < arguments.size() ? std::optional(i) : std::nullopt;
  if (i >= declared->arguments.size()) return std::nullopt;
  const std::string& name = declared->arguments[i].name;
  if (i < arguments.size() && arguments[i].name() == name) return i;
  const auto found = kernel.schema->argumentIndexWithName(name);
  return found ? std::optional(static_cast<size_t>(*found)) : std::nullopt;
}

// Nothing if the schema lacks an argument that is given and is not None, or must have one that is not.
std::optional<BoundCall> bindTo(const Kernel& kernel, const OperatorInfo* declared,
                                std::span<const Argument> args, KeyedArguments kwargs) {
  const std::vector<c10::Argument>& parameters = kernel.schema->arguments();
  BoundCall bound{kernel, std::vector<const Argument*>(parameters.size(), nullptr)};
  auto give = [&](std::optional<size_t> at, const Argument& value) {
    if (!at) return value.isNone();
    if (bound.arguments[*at] != nullptr) return false;
    bound.arguments[*at] = &value;
    return true;
  };
  for (size_t i = 0; i < args.size(); ++i) {
    if (!give(position(kernel, declared, i), args[i])) return std::nullopt;
  }
  for (auto [key, value] : kwargs) {
    const auto found = kernel.schema->argumentIndexWithName(std::string(key));
    if (!give(found ? std::optional(static_cast<size_t>(*found)) : std::nullopt, value)) return std::nullopt;
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (bound.arguments[i] == nullptr && !parameters[i].default_value() &&
        parameters[i].type()->kind() != c10::TypeKind::OptionalType) {
      return std::nullopt;
    }
  }
  return bound;
}

// Whether an operator of LibTorch takes what its declaration of today takes.
bool takesAll(const c10::FunctionSchema& found, const c10::FunctionSchema& today) {
  return std::ranges::all_of(today.arguments(), [&](const c10::Argument& argument) {
    const auto at = found.argumentIndexWithName(argument.name());
    return at && *found.arguments()[static_cast<size_t>(*at)].type() == *argument.type();
  });
}

std::string declarationOf(const Kernel& kernel) {
  return fmt::format("{}", fmt::streamed(*kernel.schema));
}

}  // namespace

std::optional<Kernel> findKernel(Target target) {
  if (!target.isOperator() && target.kind() != TargetKind::Packet) return std::nullopt;
  if (auto kernel = findInDispatcher(target)) return kernel;
  return findAmongEquivalents(target);
}

std::optional<BoundCall> bindCall(Target target, std::span<const Argument> args, KeyedArguments kwargs) {
  if (!target.isOperator() && target.kind() != TargetKind::Packet) return std::nullopt;
  const OperatorInfo* declared = findOperator(target);
  std::optional<Kernel> first = findInDispatcher(target);
  std::optional<Kernel> second = findAmongEquivalents(target);
  if (first && second && second->replacesOlder && !takesAll(*first->schema, *second->schema))
    std::swap(first, second);
  for (const std::optional<Kernel>& kernel : {first, second}) {
    if (!kernel) continue;
    if (auto bound = bindTo(*kernel, declared, args, kwargs)) return bound;
  }
  if (!first && !second) return std::nullopt;
  fail<VerificationError>("the arguments do not fit the operator, which is declared as {}",
                          declarationOf(first ? *first : *second));
}

}  // namespace edgefx::detail
