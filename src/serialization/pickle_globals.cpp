#include "serialization/pickle_globals.h"

#include <algorithm>
#include <iterator>

namespace edgefx::detail {

namespace {

constexpr KnownPickleGlobal kGlobals[] = {
    {"torch._utils._rebuild_tensor_v2", PickleGlobalKind::TensorV2},
    {"torch._utils._rebuild_tensor_v3", PickleGlobalKind::TensorV3},
    {"torch._utils._rebuild_parameter", PickleGlobalKind::Parameter},
    {"torch._utils._rebuild_parameter_with_state", PickleGlobalKind::ParameterWithState},
    {"torch._tensor._rebuild_from_type_v2", PickleGlobalKind::TensorWithState},
    {"torch.Tensor", PickleGlobalKind::TensorClass},
    {"collections.OrderedDict", PickleGlobalKind::OrderedDict},
    {"torch.device", PickleGlobalKind::Device},
    {"torch.storage.UntypedStorage", PickleGlobalKind::Storage},
    {"torch.FloatStorage", PickleGlobalKind::Storage, Dtype::Float32},
    {"torch.DoubleStorage", PickleGlobalKind::Storage, Dtype::Float64},
    {"torch.HalfStorage", PickleGlobalKind::Storage, Dtype::Float16},
    {"torch.BFloat16Storage", PickleGlobalKind::Storage, Dtype::BFloat16},
    {"torch.ByteStorage", PickleGlobalKind::Storage, Dtype::UInt8},
    {"torch.CharStorage", PickleGlobalKind::Storage, Dtype::Int8},
    {"torch.ShortStorage", PickleGlobalKind::Storage, Dtype::Int16},
    {"torch.IntStorage", PickleGlobalKind::Storage, Dtype::Int32},
    {"torch.LongStorage", PickleGlobalKind::Storage, Dtype::Int64},
    {"torch.BoolStorage", PickleGlobalKind::Storage, Dtype::Bool},
    {"torch.ComplexFloatStorage", PickleGlobalKind::Storage, Dtype::Complex64},
    {"torch.ComplexDoubleStorage", PickleGlobalKind::Storage, Dtype::Complex128},
};

}  // namespace

const KnownPickleGlobal* findPickleGlobal(std::string_view module, std::string_view name) {
  const auto* at =
      std::find_if(std::begin(kGlobals), std::end(kGlobals), [&](const KnownPickleGlobal& known) {
        return known.name.size() == module.size() + 1 + name.size() && known.name.starts_with(module) &&
               known.name[module.size()] == '.' && known.name.ends_with(name);
      });
  return at != std::end(kGlobals) ? at : nullptr;
}

const KnownPickleGlobal& knownPickleGlobal(PickleGlobal global) {
  return *std::find_if(std::begin(kGlobals), std::end(kGlobals),
                       [&](const KnownPickleGlobal& known) { return known.name == global.name; });
}

}  // namespace edgefx::detail
