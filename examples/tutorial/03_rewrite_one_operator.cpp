// 03: relu(x) becomes clamp(x, 0, None), by a plain loop.
//   03_rewrite_one_operator MODEL.pt2 OUT.pt2

#include <edgefx/edgefx.h>

#include <cstdio>
#include <string>

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("usage: 03_rewrite_one_operator MODEL.pt2 OUT.pt2\n", stderr), 2;
  const edgefx::ExportedProgram before = edgefx::loadProgram(argv[1]);
  edgefx::ExportedProgram program = before.clone();  // weights are shared, not copied
  edgefx::Graph& graph = program.graph();

  for (edgefx::Node& relu : graph.nodes()) {  // nodes may be made and erased on the way
    if (!relu.callsOperator("aten.relu.default")) continue;
    edgefx::InsertionGuard guard(graph, edgefx::before(relu));
    edgefx::Node& clamp = graph.call("aten.clamp.default", {relu.arg(0), 0});
    clamp.setValue(relu.valueRef());  // the same dtype and shape
    clamp.setMeta(relu.metaRef());    // and the same origin
    relu.replaceAllUsesWith(clamp);
    program.signature.renameOutput(relu.name(), clamp.name());  // in case it was a result
    graph.erase(relu);
  }

  // Does it hold together, and compute the same?
  if (!edgefx::checkProgram(program).empty()) return 1;
  const edgefx::VerifyReport report = edgefx::verifyLowering(before, program);
  std::printf("%s\n%s", edgefx::fxText(program.graph()).c_str(), report.text(true).c_str());
  edgefx::saveProgram(program, argv[2]);
  return report.agrees() ? 0 : 1;
}
