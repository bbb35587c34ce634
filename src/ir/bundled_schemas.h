#pragma once

#include <edgefx/ir/operators.h>

#include <optional>
#include <string_view>

namespace edgefx::detail {

// The schema of an operator that LibTorch 1.13 lacks or declares otherwise than torch 2.14, by its name with
// overload ("aten.squeeze.dims"); nothing for all others.
std::optional<OperatorInfo> findBundledSchema(std::string_view name);

// The schema's text, "aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)"; empty for all others.
std::string_view bundledSchemaText(std::string_view name);

// Reads "aten::f.overload(Tensor(a!) self, *, int[2] k=[1, 2]) -> (Tensor, Tensor)" without checking it: for
// texts of our own only. Types with brackets of their own, such as Dict(str, Tensor), are not understood.
OperatorInfo readSchema(std::string_view schema);

}  // namespace edgefx::detail
