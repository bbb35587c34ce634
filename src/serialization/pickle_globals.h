#pragma once

#include <edgefx/ir/dtype.h>

#include "serialization/pickle_value.h"

#include <string_view>

namespace edgefx::detail {

enum class PickleGlobalKind {
  TensorV2,
  TensorV3,
  Parameter,
  ParameterWithState,
  TensorWithState,
  TensorClass,
  OrderedDict,
  Device,
  Storage
};

struct KnownPickleGlobal {
  std::string_view name;
  PickleGlobalKind kind;
  Dtype dtype = Dtype::Unknown;  // of the elements of a storage, Unknown if untyped
};

// The global if it is on the list of those whose meaning the reader knows, else null. Dtypes are not on it.
const KnownPickleGlobal* findPickleGlobal(std::string_view module, std::string_view name);

const KnownPickleGlobal& knownPickleGlobal(PickleGlobal global);

}  // namespace edgefx::detail
