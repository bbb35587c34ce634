#include <edgefx/backend/plugin.h>
#include <edgefx/support/error.h>

#include "backend/plugin_entry.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace edgefx {
namespace {

constexpr const char* kEntryPoint = "edgefxPlugin";

template <typename... Args>
Diagnostic fault(const std::string& library, fmt::format_string<Args...> format, Args&&... args) {
  Diagnostic diagnostic(fmt::format(format, std::forward<Args>(args)...));
  diagnostic.file = library;
  return diagnostic;
}

// "1.13" of "1.13.1".
std::string_view minorVersion(std::string_view version) {
  size_t dot = version.find('.');
  return dot == std::string_view::npos ? version : version.substr(0, version.find('.', dot + 1));
}

void checkVersion(const std::string& library, std::string_view what, const char* built,
                  std::string_view running) {
  std::string_view found = built == nullptr ? std::string_view("unknown") : std::string_view(built);
  if (minorVersion(found) == minorVersion(running)) return;
  throw Error(
      fault(library, "expected a plugin built with {} {}, found one built with {}", what, running, found));
}

struct CloseLibrary {
  void operator()(void* library) const { dlclose(library); }
};

}  // namespace

void detail::admitPlugin(const Plugin& plugin, const std::string& library, BackendRegistry& registry) {
  // First, for the other fields mean something else in another ABI.
  if (plugin.abi != kPluginAbi) {
    throw Error(fault(library, "expected a plugin of ABI {}, found ABI {}", kPluginAbi, plugin.abi));
  }
  checkVersion(library, "edgefx", plugin.edgefxVersion, kVersion);
  checkVersion(library, "LibTorch", plugin.torchVersion, TORCH_VERSION);
  if (plugin.registerBackends == nullptr)
    throw Error(fault(library, "the plugin has no function that registers"));

  try {
    BackendRegistry own;
    plugin.registerBackends(own);
    registry.addAll(std::move(own));
  } catch (Error& error) {
    error.fillIn(fault(library, ""));
    throw;
  } catch (const std::exception& error) {
    std::throw_with_nested(
        Error(fault(library, "the plugin failed to register its backends: {}", error.what())));
  } catch (...) {
    std::throw_with_nested(Error(fault(library, "the plugin failed to register its backends")));
  }
}

void loadPlugin(const std::filesystem::path& library, BackendRegistry& registry) {
  // Absolute, for a bare file name would be looked for in the system's folders instead.
  std::error_code unknown;
  const std::filesystem::path path = std::filesystem::absolute(library, unknown);
  if (unknown) throw Error(fault(library.string(), "cannot open the plugin: {}", unknown.message()));
  std::unique_ptr<void, CloseLibrary> handle(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (handle == nullptr) {
    const char* reason = dlerror();
    throw Error(
        fault(library.string(), "cannot open the plugin: {}", reason == nullptr ? "unknown reason" : reason));
  }
  auto* entryPoint = reinterpret_cast<Plugin (*)()>(dlsym(handle.get(), kEntryPoint));
  if (entryPoint == nullptr) {
    throw Error(fault(library.string(), "expected a plugin, found a library without the entry point {}",
                      kEntryPoint));
  }

  const Plugin plugin = entryPoint();
  // From here on backends, exceptions and interned names may point into it.
  static_cast<void>(handle.release());
  detail::admitPlugin(plugin, library.string(), registry);
}

}  // namespace edgefx
