#include <edgefx/backend/backend_details.h>

namespace edgefx {

std::vector<std::vector<PreprocessResult>> BackendDetails::preprocessMethods(
    std::span<const MethodPartitions> methods) const {
  std::vector<std::vector<PreprocessResult>> results;
  results.reserve(methods.size());
  for (const MethodPartitions& method : methods) {
    std::vector<PreprocessResult>& made = results.emplace_back();
    made.reserve(method.partitions.size());
    for (const Partition& partition : method.partitions) {
      made.push_back(preprocess(partition.program, partition.compileSpecs));
    }
  }
  return results;
}

}  // namespace edgefx
