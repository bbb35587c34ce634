#pragma once

#include <functional>
#include <string>

namespace edgefx {

struct Warning {
  // "experimental", "schema", "plugin": what kind of thing is reported.
  std::string category;
  std::string message;
};

using WarningHandler = std::function<void(const Warning&)>;

// Replaces the handler that receives every warning of the library and returns the old one. The default writes
// a line to stderr; an empty handler drops warnings. Handlers may be called from any thread, one call at a
// time.
WarningHandler setWarningHandler(WarningHandler handler);

// Reports to the current handler.
void warn(const Warning& warning);

}  // namespace edgefx
