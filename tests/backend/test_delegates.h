#pragma once

#include <edgefx/backend/backend_registry.h>
#include <edgefx/ir/fx_text.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace edgefx::test {

// A partitioner that is a function.
class FunctionPartitioner final : public Partitioner {
 public:
  using Partition = std::function<PartitionResult(const ExportedProgram&)>;

  explicit FunctionPartitioner(Partition partition, std::string name = "test")
      : partition_(std::move(partition)), name_(std::move(name)) {}

  std::string_view name() const override { return name_; }
  PartitionResult partition(const ExportedProgram& program) const override { return partition_(program); }

 private:
  Partition partition_;
  std::string name_;
};

// A backend whose payload is the text of the graph it is given, so that a test can look at it.
class TextBackend final : public BackendDetails {
 public:
  explicit TextBackend(std::string name) : name_(std::move(name)) {}

  std::string_view name() const override { return name_; }
  PreprocessResult preprocess(ExportedProgram program, std::span<const CompileSpec>) const override {
    return {SharedBytes::copyOf(fxText(program.graph()))};
  }

 private:
  std::string name_;
};

inline BackendRegistry textBackends(const std::vector<std::string>& names) {
  BackendRegistry registry;
  for (const std::string& name : names) registry.add(std::make_unique<TextBackend>(name));
  return registry;
}

inline std::string render(const std::vector<Diagnostic>& diagnostics) {
  std::string out;
  for (const Diagnostic& diagnostic : diagnostics) out += diagnostic.render() + "\n";
  return out;
}

}  // namespace edgefx::test
