#include <edgefx/support/error.h>
#include <edgefx/version.h>

#include <dlfcn.h>

#include <cstdio>

// Loads the plugin, which throws an exception of edgefx; it can be caught here by its type only if plugin and
// program share one copy of edgefx.
int main(int argc, char** argv) {
  void* plugin = argc == 2 ? dlopen(argv[1], RTLD_NOW) : nullptr;
  if (plugin == nullptr) {
    std::fprintf(stderr, "cannot load the plugin: %s\n", argc == 2 ? dlerror() : "no path given");
    return 1;
  }
  auto* run = reinterpret_cast<void (*)()>(dlsym(plugin, "run"));
  try {
    run();
  } catch (const edgefx::LoweringError& error) {
    std::printf("edgefx %d.%d: %s\n", edgefx::kVersionMajor, edgefx::kVersionMinor, error.what());
    return 0;
  }
  return 1;
}
