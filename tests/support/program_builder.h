#pragma once

#include <edgefx/program/exported_program.h>
#include <edgefx/program/tensor_table.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Small programs made in memory.
namespace edgefx::test {

// A contiguous float32 tensor (or of another dtype) with the values 0, 0.25, 0.5, ... minus 1.
at::Tensor sampleTensor(const std::vector<int64_t>& sizes, Dtype dtype = Dtype::Float32);

// The value of a node that holds a contiguous tensor.
ValueRef tensorValue(std::vector<SymInt> sizes, Dtype dtype = Dtype::Float32);

// Builds a program front to back: inputs, then calls, then results, each in the order of the calls below.
// Every input and result gets its spec, and every tensor its table entry.
class ProgramBuilder {
 public:
  // Placeholders; those of tensors are named by `target` with '_' for '.', after "p_", "b_", "c_" or "obj_".
  Node& parameter(std::string_view target, at::Tensor tensor);
  Node& buffer(std::string_view target, at::Tensor tensor, bool persistent = true);
  Node& constant(std::string_view target, at::Tensor tensor);
  Node& customObject(std::string_view target, std::string_view className);
  Node& token(std::string_view name);
  // A tensor or symbolic number, by the kind of `value`.
  Node& userInput(std::string_view name, ValueRef value);
  Node& constantInput(std::string_view name, ConstantScalar value);

  // Named after the operator without its overload, as torch.export does, unless `name` is given.
  Node& call(Target target, const Args& args, ValueRef value, std::string_view name = {});
  // A get_attr node of a new child module with that graph.
  Node& branch(std::string_view name, std::unique_ptr<Graph> graph);

  void result(OutputKind kind, Node& node, std::optional<std::string> target = {});
  void userOutput(Node& node) { result(OutputKind::UserOutput, node); }
  void constantOutput(ConstantScalar value);

  // The program so far, without the output node.
  ExportedProgram& program() { return program_; }
  Graph& graph() { return program_.graph(); }

  // Adds the output node and the calling convention: the user inputs as positional arguments, a tuple of
  // results.
  ExportedProgram finish();

 private:
  Node& storedInput(InputKind kind, std::string_view prefix, std::string_view target, StoredTensor tensor);

  ExportedProgram program_;
  Args results_;
};

// relu(linear(x, weight) * scale): %p_weight (parameter "weight", float32[4, 4]), %b_scale (persistent buffer
// "scale", float32[4]), %x (float32[1, 4]), %linear, %mul, %relu.
ExportedProgram tinyProgram();

// The same, with the buffer "count" (float32[]) that a call of aten.add.Tensor counts up: %b_count, %add.
ExportedProgram countingProgram();

}  // namespace edgefx::test
