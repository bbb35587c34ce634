// 02: nodes, their arguments and users, and what is known of their values.
//   02_walk MODEL.pt2

#include <edgefx/edgefx.h>

#include <cstdio>
#include <map>
#include <string>

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: 02_walk MODEL.pt2\n", stderr), 2;
  const edgefx::ExportedProgram program = edgefx::loadProgram(argv[1]);

  // The graph and every graph nested in it: the branches of control flow.
  std::map<std::string, size_t> calls;
  for (const edgefx::ConstNestedModule& nested : edgefx::namedModules(program.graphModule())) {
    for (const edgefx::Node& node : nested.module->graph().nodes()) {
      if (!node.isCall()) continue;
      ++calls[std::string(node.target().name())];

      // A value has a description: dtype, sizes (numbers or symbols), strides.
      const edgefx::TensorMeta* tensor = node.value() == nullptr ? nullptr : node.value()->tensor();
      std::printf("%%%s takes %zu nodes, has %zu users%s%s\n", std::string(node.name()).c_str(),
                  node.numInputs(), node.numUsers(), tensor == nullptr ? "" : ", is ",
                  tensor == nullptr ? "" : node.value()->text().c_str());
    }
  }
  for (const auto& [name, count] : calls) std::printf("%4zu x %s\n", count, name.c_str());
}
