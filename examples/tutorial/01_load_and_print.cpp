// 01: a program of torch.export comes in. What does it hold?
//   01_load_and_print MODEL.pt2

#include <edgefx/edgefx.h>
#include <edgefx/program/tensor_table.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: 01_load_and_print MODEL.pt2\n", stderr), 2;
  try {
    const edgefx::ExportedProgram program = edgefx::loadProgram(argv[1]);

    // The graph, as Python's print(program.graph) shows it, and what each input and result stands for.
    std::printf("%s\n", edgefx::fxText(program.graph()).c_str());
    std::printf("%s\n", edgefx::text(program.signature).c_str());

    // Weights are mapped from the file: nothing of them has been read so far.
    for (const auto& [name, stored] : program.stateDict()) {
      std::printf("%s: %zu bytes\n", name.c_str(), stored.storage().size());
    }
  } catch (const edgefx::Error& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
  }
}
