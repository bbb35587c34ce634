// Runs a program and what became of it on the same inputs. The README shows the lines between the markers.
// [readme]
#include <edgefx/edgefx.h>

#include <cstdio>

int main(int, char** argv) {
  const edgefx::ExportedProgram before = edgefx::loadProgram(argv[1]);
  const edgefx::ExportedProgram after = edgefx::loadProgram(argv[2]);
  const edgefx::VerifyReport report = edgefx::verifyLowering(before, after);
  std::fputs(report.text(true).c_str(), stdout);  // differences of each result, the first node that deviates
  return report.agrees() ? 0 : 1;
}
// [readme]
