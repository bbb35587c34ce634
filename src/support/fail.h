#pragma once

#include <edgefx/support/error.h>

#include <fmt/format.h>

#include <utility>

namespace edgefx::detail {

// Throws E with a formatted message. Arguments are formatted only here, on the failing path.
template <typename E, typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw E(Diagnostic(fmt::format(format, std::forward<Args>(args)...)));
}

}  // namespace edgefx::detail
