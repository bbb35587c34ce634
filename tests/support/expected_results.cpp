#include "support/expected_results.h"

#include <torch/version.h>

namespace edgefx::test {

namespace fs = std::filesystem;

std::optional<fs::path> expectedResults(const CorpusProgram& program) {
  if (program.kind == CorpusKind::Case) return std::nullopt;
  if (program.kind == CorpusKind::Torch26) {
    fs::path file = program.file;
    file.replace_extension(".expected.pt");
    return fs::exists(file) ? std::optional(file) : std::nullopt;
  }
  const fs::path folder = program.file.parent_path();
  if (fs::exists(folder / "expected.pt")) return folder / "expected.pt";
  // The subset holds equal files once.
  std::string sibling = folder.filename().string();
  const std::string core = "_core";
  if (!sibling.ends_with(core)) return std::nullopt;
  sibling.resize(sibling.size() - core.size());
  const fs::path file = folder.parent_path() / sibling / "expected.pt";
  return fs::exists(file) ? std::optional(file) : std::nullopt;
}

const std::set<std::string>& cannotRunHere() {
#if TORCH_VERSION_MAJOR >= 2
  static const std::set<std::string> names;
#else
  static const std::set<std::string> names{"associative_scan", "new_dtypes", "new_dtypes_core",
                                           "torch-2.6/uint16"};
#endif
  return names;
}

}  // namespace edgefx::test
