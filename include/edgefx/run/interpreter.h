#pragma once

#include <edgefx/program/exported_program.h>
#include <edgefx/program/lowered_module.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace c10 {
struct IValue;
}
namespace at {
class Tensor;
}

namespace edgefx {

// The value of a node, as soon as it is known.
struct TapEvent {
  const Node& node;
  std::string_view graph;  // dotted path of the node's graph module, empty for the top level
  const c10::IValue& value;
};

// Runs a delegate on the arguments of its call and returns the results, or nothing to have the delegate's own
// program run instead.
using DelegateRunner = std::function<std::optional<std::vector<c10::IValue>>(
    const LoweredModule& module, std::span<const c10::IValue> arguments)>;

struct RunOptions {
  // Called for every placeholder, operator and function, in order of execution, nested graphs and the
  // programs of delegates included (a delegate's path is the dotted path of its name). What it throws ends
  // the run.
  std::function<void(const TapEvent& event)> tap{};
  DelegateRunner delegateRunner{};
};

// An operator or function that a program calls and that cannot run in this process.
struct MissingOperator {
  std::string name;  // as Target::fxText() has it
  size_t calls = 0;
  std::string firstNode;  // name of the first node that calls it
  std::string graph;      // dotted path of that node's graph module
};

// What of the program cannot run in this process, nested graphs and delegates included, in order of first
// call. LibTorch's dispatcher, which knows the operators of plugins too, is asked first, then a table of
// operators that older releases lack. O(nodes).
std::vector<MissingOperator> missingOperators(const ExportedProgram& program);

// Runs a program on LibTorch's CPU kernels, of either dialect, functional or not. Keeps a state of its own:
// buffers that the program writes are copies, which carry over from one call to the next; the program itself
// is never changed. Not to be used from several threads at once.
class Interpreter {
 public:
  // Prepares the program, which must outlive the interpreter unchanged. Throws UnsupportedError naming every
  // operator that is missing (see missingOperators) and tensors that this LibTorch cannot hold, and
  // VerificationError for graphs and tables that do not hold together. O(nodes).
  explicit Interpreter(const ExportedProgram& program, RunOptions options = {});
  ~Interpreter();
  Interpreter(Interpreter&&) noexcept;
  Interpreter& operator=(Interpreter&&) noexcept;

  // Runs once on the user inputs: all leaves of the arguments in order (see run/pytree.h), None and numbers
  // included. Returns the user outputs, the loss and the gradients, in the order of the signature. Inputs
  // that the program mutates are written at the end, buffers are updated in the interpreter's state. Results
  // never share memory with that state. Throws UsageError for inputs that the program does not take (number,
  // kind, dtype, shape, range constraints), and ExecutionError naming node, operator, arguments and source
  // line if something fails on the way; inputs and state are then as they were.
  std::vector<c10::IValue> run(std::span<const c10::IValue> inputs);
  std::vector<c10::IValue> run(const std::vector<c10::IValue>& inputs);

  // The same with arguments as Python calls the program with, and results nested as the program gives them,
  // by its calling convention (see run/pytree.h). Throws also what flattenInputs and unflatten throw.
  c10::IValue call(const std::vector<c10::IValue>& args,
                   const std::vector<std::pair<std::string, c10::IValue>>& kwargs = {});

  // A parameter, buffer or constant by its name in the state dict or the constants. Buffers that delegates
  // took along are found too. Throws UsageError if no input of the program has it. O(inputs).
  at::Tensor state(std::string_view target) const;
  // Names of those that a run may write, through the signature or in place, in the order of the inputs. What
  // delegates took along is not among them. O(inputs).
  std::vector<std::string> writtenState() const;
  // Takes the program's own values again.
  void resetState();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace edgefx
