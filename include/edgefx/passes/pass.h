#pragma once

#include <edgefx/program/exported_program.h>

#include <functional>
#include <memory>
#include <string_view>

namespace edgefx {

// Something that is done to a program: a simplification, a check, a change of dialect. Immutable, so that
// pass managers and threads can share it.
class Pass {
 public:
  Pass() = default;
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;
  virtual ~Pass() = default;

  // Not empty. Stands in errors and lists; "dead-code".
  virtual std::string_view name() const = 0;
  // Changes the program in place, with its signature and tables, and says whether it changed something. What
  // it says is told to observers; whether there is a new program is found by looking. May throw anything: see
  // PassManager.
  virtual bool run(ExportedProgram& program) const = 0;
};

using PassRef = std::shared_ptr<const Pass>;

// A pass that looks at one graph at a time. It is run on the top level graph, then on each that nodes name,
// depth first; graphs that a run makes are reached too, those that it drops are not.
//
// It needs not care for the signature, which follows the nodes, whatever their names and places are
// afterwards. Placeholders of parameters, buffers and constants may be erased, with them go spec and tensor;
// the top level graph may get no new ones (see ProgramRewriter). User inputs stay and keep their order, and
// so do results: each may be another node. Everything else is a VerificationError that names the node.
class GraphPass : public Pass {
 public:
  bool run(ExportedProgram& program) const final;

 protected:
  virtual bool runOnGraph(GraphModule& module) const = 0;
};

// Passes from functions. They throw UsageError if the name or the function is empty.
PassRef programPass(std::string_view name, std::function<bool(ExportedProgram& program)> run);
PassRef graphPass(std::string_view name, std::function<bool(GraphModule& module)> run);

}  // namespace edgefx
