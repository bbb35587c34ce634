#pragma once

#include <ATen/core/ivalue.h>

#include <string>

namespace edgefx::tools {

// "float32[2, 3], min -1, max 4.5, mean 0.25", with the values instead if there are few: for people.
std::string valueText(const c10::IValue& value);

}  // namespace edgefx::tools
