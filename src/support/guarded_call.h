#pragma once

#include <edgefx/support/error.h>

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace edgefx::detail {

// Calls somebody else's code. An Error passes through with `place` filled in; anything else that is thrown is
// nested in a LoweringError that says that `who` threw it.
template <typename Call>
auto guardedCall(const Diagnostic& place, std::string_view who, Call&& call) {
  auto failed = [&](const std::string& what) {
    Diagnostic diagnostic = place;
    diagnostic.message = fmt::format("{} threw {}", who, what);
    return LoweringError(std::move(diagnostic));
  };
  try {
    return call();
  } catch (Error& error) {
    error.fillIn(place);
    throw;
  } catch (const c10::Error& error) {
    std::throw_with_nested(failed(fmt::format("an error of LibTorch: {}", error.what_without_backtrace())));
  } catch (const std::exception& error) {
    std::throw_with_nested(failed(fmt::format("an exception: {}", error.what())));
  } catch (...) {
    std::throw_with_nested(failed("something that is no std::exception"));
  }
}

}  // namespace edgefx::detail
