#include <edgefx/support/error.h>

extern "C" void run() {
  edgefx::Diagnostic diagnostic("thrown by the plugin");
  diagnostic.backend = "consumer";
  throw edgefx::LoweringError(diagnostic);
}
