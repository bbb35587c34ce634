#include <edgefx/support/warning.h>

#include <cstdio>
#include <mutex>
#include <utility>

namespace edgefx {
namespace {

struct Sink {
  // Recursive, for a handler may itself cause a warning.
  std::recursive_mutex mutex;
  WarningHandler handler = [](const Warning& warning) {
    std::fprintf(stderr, "edgefx: warning: %s [%s]\n", warning.message.c_str(), warning.category.c_str());
  };
};

Sink& sink() {
  static Sink& instance = *new Sink();
  return instance;
}

}  // namespace

WarningHandler setWarningHandler(WarningHandler handler) {
  std::lock_guard lock(sink().mutex);
  return std::exchange(sink().handler, std::move(handler));
}

void warn(const Warning& warning) {
  std::lock_guard lock(sink().mutex);
  if (sink().handler) sink().handler(warning);
}

}  // namespace edgefx
