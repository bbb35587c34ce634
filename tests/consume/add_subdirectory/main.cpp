#include <edgefx/support/error.h>
#include <edgefx/version.h>

static_assert(edgefx::kVersionMajor >= 0);

std::string describe(const edgefx::Error& error) {
  return error.what();
}
