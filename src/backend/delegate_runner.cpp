#include <edgefx/backend/backend_registry.h>

#include <ATen/core/ivalue.h>

namespace edgefx {

std::optional<std::vector<c10::IValue>> BackendDetails::run(const LoweredModule&,
                                                            std::span<const c10::IValue>) const {
  return std::nullopt;
}

DelegateRunner delegateRunner(const BackendRegistry& registry) {
  return [&registry](const LoweredModule& module,
                     std::span<const c10::IValue> arguments) -> std::optional<std::vector<c10::IValue>> {
    const BackendDetails* backend = registry.findDelegateBackend(module.backendId);
    if (backend == nullptr) return std::nullopt;
    return backend->run(module, arguments);
  };
}

}  // namespace edgefx
