#include <edgefx/backend/backend_details.h>

#include <utility>

namespace edgefx {

std::vector<std::vector<PreprocessResult>> BackendDetails::preprocessMethods(
    std::vector<MethodPartitions> methods) const {
  std::vector<std::vector<PreprocessResult>> results;
  results.reserve(methods.size());
  for (MethodPartitions& method : methods) {
    std::vector<PreprocessResult>& made = results.emplace_back();
    made.reserve(method.partitions.size());
    for (Partition& partition : method.partitions) {
      made.push_back(preprocess(std::move(partition.program), partition.compileSpecs));
    }
  }
  return results;
}

}  // namespace edgefx
