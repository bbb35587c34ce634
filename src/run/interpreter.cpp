#include <edgefx/run/interpreter.h>
#include <edgefx/run/pytree.h>

#include "run/input_binding.h"
#include "run/program_state.h"
#include "run/session.h"
#include "support/fail.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace edgefx {
namespace {

using detail::GraphPlan;
using detail::Values;

// Which operators cannot run, of a program and its delegates.
void addMissing(std::vector<MissingOperator>& all, const std::vector<MissingOperator>& more,
                const std::string& path) {
  for (MissingOperator missing : more) {
    const auto known =
        std::ranges::find_if(all, [&](const MissingOperator& other) { return other.name == missing.name; });
    if (known != all.end()) {
      known->calls += missing.calls;
      continue;
    }
    missing.graph = childPath(path, missing.graph);
    all.push_back(std::move(missing));
  }
}

void throwMissing(const std::vector<MissingOperator>& missing) {
  if (missing.empty()) return;
  std::string list;
  for (const MissingOperator& one : missing) {
    list += fmt::format("{}'{}' (node '%{}'{}", list.empty() ? "" : ", ", one.name, one.firstNode,
                        one.graph.empty() ? std::string() : " of graph " + one.graph);
    list += one.calls > 1 ? fmt::format(", {} calls)", one.calls) : std::string(")");
  }
  detail::fail<UnsupportedError>("{} operator{} cannot run here: {}", missing.size(),
                                 missing.size() == 1 ? "" : "s", list);
}

// Delegates of a graph that its nodes call, in order.
template <typename Visit>
void forEachDelegate(const detail::ProgramPlan& plan, Visit&& visit) {
  for (const auto& graph : plan.graphs()) {
    for (const detail::Step& step : graph->steps) {
      if (step.kind == detail::StepKind::Delegate)
        visit(*step.delegate, childPath(graph->path, step.delegate->name));
    }
  }
}

// Plans of a program and of what its delegates hold, each made once.
using Plans = std::unordered_map<const ExportedProgram*, std::shared_ptr<const detail::ProgramPlan>>;

const detail::ProgramPlan& planFor(const ExportedProgram& program, Plans& plans) {
  std::shared_ptr<const detail::ProgramPlan>& plan = plans[&program];
  if (plan == nullptr) plan = std::make_shared<const detail::ProgramPlan>(program);
  return *plan;
}

void collectMissing(const ExportedProgram& program, const std::string& path, int depth, Plans& plans,
                    std::vector<MissingOperator>& all) {
  constexpr int kDeepest = 64;
  if (depth > kDeepest)
    detail::fail<UnsupportedError>("delegates hold each other more than {} deep", kDeepest);
  const detail::ProgramPlan& plan = planFor(program, plans);
  addMissing(all, plan.missing(), path);
  forEachDelegate(plan, [&](const GraphModule::Delegate& delegate, const std::string& at) {
    collectMissing(delegate.module->program, childPath(path, at), depth + 1, plans, all);
  });
}

}  // namespace

std::vector<MissingOperator> missingOperators(const ExportedProgram& program) {
  Plans plans;
  std::vector<MissingOperator> all;
  collectMissing(program, "", 0, plans, all);
  return all;
}

class Interpreter::Impl : public detail::StepHost {
 public:
  // What the interpreters of a program and of its delegates share.
  struct Common {
    RunOptions options;
    Plans plans{};
  };

  Impl(const ExportedProgram& program, std::shared_ptr<Common> common, std::string path)
      : program_(program),
        common_(std::move(common)),
        path_(std::move(path)),
        plan_(planFor(program, common_->plans)),
        inputs_(program),
        state_(program, plan_.top().writesInput) {
    checkSignature();
    throwMissing(plan_.missing());
    findWritten();
    // Delegates that are run by others need not be able to run here.
    if (!common_->options.delegateRunner) {
      forEachDelegate(plan_, [&](const GraphModule::Delegate& delegate, const std::string& at) {
        innerOf(delegate, at);
      });
    }
  }

  std::vector<c10::IValue> runOrRestore(std::span<const c10::IValue> inputs) {
    const Snapshot before = snapshot();
    try {
      return run(inputs);
    } catch (...) {
      restore(before);
      throw;
    }
  }

  const ExportedProgram& program() const { return program_; }

  // Null if no input has the target.
  const at::Tensor* findState(std::string_view target) const {
    const std::vector<InputSpec>& specs = program_.signature.inputs;
    for (size_t i = 0; i < specs.size(); ++i) {
      if (isStoredTensor(specs[i].kind) && specs[i].target == target) return &state_.at(i);
    }
    for (const auto& [delegate, inner] : delegates_) {
      if (const at::Tensor* found = inner->findState(target)) return found;
    }
    return nullptr;
  }

  std::vector<std::string> writtenState() const {
    std::vector<bool> isWritten = plan_.top().writesInput;
    for (const Written& write : writtenState_) isWritten[write.input] = true;
    std::vector<std::string> targets;
    const std::vector<InputSpec>& specs = program_.signature.inputs;
    for (size_t i = 0; i < specs.size(); ++i) {
      if (isWritten[i] && isStoredTensor(specs[i].kind) && specs[i].target)
        targets.push_back(*specs[i].target);
    }
    return targets;
  }

  void resetState() {
    state_ = detail::ProgramState(program_, plan_.top().writesInput);
    delegates_.clear();
  }

  Values runDelegate(const GraphPlan& plan, const GraphModule::Delegate& delegate,
                     Values arguments) override {
    if (const DelegateRunner& runner = common_->options.delegateRunner) {
      if (auto results = runner(*delegate.module, arguments)) return std::move(*results);
    }
    return innerOf(delegate, childPath(plan.path, delegate.name)).runOnArguments(std::move(arguments));
  }

  // The arguments of a delegate's call: tokens among them only order effects.
  Values runOnArguments(Values arguments) {
    Values inputs;
    size_t at = 0;
    for (const InputSpec& spec : program_.signature.inputs) {
      if (isStoredTensor(spec.kind)) continue;
      if (at < arguments.size() && spec.kind != InputKind::Token) inputs.push_back(std::move(arguments[at]));
      ++at;
    }
    if (at != arguments.size()) {
      detail::fail<UsageError>("the delegate takes {} arguments, got {}", at, arguments.size());
    }
    return run(inputs, true);
  }

  bool isTapped() const override { return static_cast<bool>(common_->options.tap); }

  void tap(const GraphPlan& plan, const Node& node, const c10::IValue& value) override {
    common_->options.tap({node, childPath(path_, plan.path), value});
  }

 private:
  struct Snapshot {
    std::vector<at::Tensor> state;
    std::map<const GraphModule::Delegate*, Snapshot> delegates;
  };

  void checkSignature() const {
    const GraphPlan& top = plan_.top();
    if (top.placeholders.size() != program_.signature.inputs.size() ||
        top.results.size() != program_.signature.outputs.size()) {
      detail::fail<VerificationError>(
          "the signature has {} inputs and {} outputs, the graph {} placeholders and {} results",
          program_.signature.inputs.size(), program_.signature.outputs.size(), top.placeholders.size(),
          top.results.size());
    }
  }

  // Where mutations go: positions of inputs.
  void findWritten() {
    const GraphSignature& signature = program_.signature;
    const SignatureIndex index(signature);
    std::unordered_map<const InputSpec*, size_t> userInputs;
    for (size_t i = 0; i < signature.inputs.size(); ++i) {
      if (signature.inputs[i].kind == InputKind::UserInput)
        userInputs.emplace(&signature.inputs[i], userInputs.size());
    }
    for (size_t i = 0; i < signature.outputs.size(); ++i) {
      const OutputSpec& output = signature.outputs[i];
      if (!isMutation(output.kind)) continue;
      const std::string target = output.target.value_or("");
      const InputSpec* input = nullptr;
      if (output.kind == OutputKind::UserInputMutation) {
        input = index.findInput(target);
      } else {
        for (InputKind kind : {InputKind::Buffer, InputKind::Parameter}) {
          if (input == nullptr) input = index.findTarget(kind, target);
        }
      }
      if (input == nullptr) {
        detail::fail<VerificationError>("output '{}' writes '{}', which is no input", output.arg.name,
                                        target);
      }
      if (output.kind == OutputKind::UserInputMutation) {
        writtenInputs_.push_back({i, userInputs.at(input)});
      } else {
        writtenState_.push_back({i, static_cast<size_t>(input - signature.inputs.data())});
      }
    }
  }

  // `at` is the delegate's path in this program.
  Impl& innerOf(const GraphModule::Delegate& delegate, const std::string& at) {
    std::unique_ptr<Impl>& inner = delegates_[&delegate];
    if (inner == nullptr) {
      inner = std::make_unique<Impl>(delegate.module->program, common_, childPath(path_, at));
    }
    return *inner;
  }

  Snapshot snapshot() const {
    Snapshot taken{state_.snapshot(), {}};
    for (const auto& [delegate, inner] : delegates_) taken.delegates.emplace(delegate, inner->snapshot());
    return taken;
  }

  void restore(const Snapshot& snapshot) {
    state_.restore(snapshot.state);
    for (auto& [delegate, inner] : delegates_) {
      const auto found = snapshot.delegates.find(delegate);
      // Made during the run that failed: its state begins anew.
      if (found != snapshot.delegates.end()) {
        inner->restore(found->second);
      } else {
        inner->resetState();
      }
    }
  }

  // `inPlace`: the inputs are values of another run, which operators may write as they come; otherwise they
  // are the caller's, which are written when all is done.
  std::vector<c10::IValue> run(std::span<const c10::IValue> given, bool inPlace = false) {
    detail::SymbolValues symbols;
    Values bound = inputs_.bind(given, symbols);
    std::vector<at::Tensor> next = state_.begin();
    const std::vector<InputSpec>& specs = program_.signature.inputs;
    const std::vector<bool>& writesInput = plan_.top().writesInput;
    Values values(specs.size());
    struct InPlace {
      size_t input;
      at::Tensor copy;
    };
    std::vector<InPlace> copies;  // user inputs that operators write: copies, until the run is over
    size_t user = 0;
    for (size_t i = 0; i < specs.size(); ++i) {
      if (specs[i].kind != InputKind::UserInput) {
        if (next[i].defined()) values[i] = next[i];
        continue;
      }
      values[i] = std::move(bound[user]);
      if (!inPlace && writesInput[i] && values[i].isTensor()) {
        copies.push_back({user, values[i].toTensor().clone()});
        values[i] = copies.back().copy;
      }
      ++user;
    }

    detail::Session session(*this, symbols);
    Values results = session.runGraph(plan_.top(), std::move(values));

    std::vector<size_t> positions;
    Values written;
    for (const Written& write : writtenState_) {
      positions.push_back(write.input);
      written.push_back(std::move(results[write.output]));
    }
    std::vector<std::pair<at::Tensor, at::Tensor>> toInputs;
    for (const InPlace& copy : copies) toInputs.emplace_back(given[copy.input].toTensor(), copy.copy);
    for (const Written& write : writtenInputs_)
      addInputWrite(toInputs, given[write.input], results[write.output]);

    std::vector<c10::IValue> outputs;
    for (size_t i = 0; i < results.size(); ++i) {
      const OutputKind kind = program_.signature.outputs[i].kind;
      if (isMutation(kind) || kind == OutputKind::Token) continue;
      outputs.push_back(detached(std::move(results[i]), next, toInputs));
    }
    state_.commit(std::move(next), positions, std::move(written));
    for (auto& [input, value] : toInputs) input.copy_(value);
    return outputs;
  }

  void addInputWrite(std::vector<std::pair<at::Tensor, at::Tensor>>& writes, const c10::IValue& input,
                     const c10::IValue& value) const {
    if (!input.isTensor() || !value.isTensor() || value.toTensor().sizes() != input.toTensor().sizes()) {
      detail::fail<UsageError>("expected a tensor of the shape of {} to be written to it, got {}",
                               detail::describe(input), detail::describe(value));
    }
    at::Tensor written = value.toTensor();
    // It may be a view of an input that is written before it.
    if (written.storage().use_count() > 1) written = written.clone();
    writes.emplace_back(input.toTensor(), std::move(written));
  }

  // A result as the caller's own: nothing that is written later shows in it.
  c10::IValue detached(c10::IValue result, const std::vector<at::Tensor>& next,
                       const std::vector<std::pair<at::Tensor, at::Tensor>>& writes) const {
    if (!result.isTensor() || !result.toTensor().defined()) return result;
    const at::Tensor& tensor = result.toTensor();
    const bool isOfWrittenInput = std::ranges::any_of(
        writes, [&](const auto& write) { return write.first.storage().is_alias_of(tensor.storage()); });
    return state_.holds(tensor, next) || isOfWrittenInput ? c10::IValue(tensor.clone()) : std::move(result);
  }

  struct Written {
    size_t output;  // position of the result
    size_t input;   // position of the input, among user inputs for writtenInputs_
  };

  const ExportedProgram& program_;
  std::shared_ptr<Common> common_;
  std::string path_;
  const detail::ProgramPlan& plan_;
  detail::InputBinding inputs_;
  detail::ProgramState state_;
  std::vector<Written> writtenState_;
  std::vector<Written> writtenInputs_;
  std::map<const GraphModule::Delegate*, std::unique_ptr<Impl>> delegates_;
};

Interpreter::Interpreter(const ExportedProgram& program, RunOptions options) {
  auto common = std::make_shared<Impl::Common>(Impl::Common{std::move(options)});
  if (!common->options.delegateRunner) {
    std::vector<MissingOperator> missing;
    collectMissing(program, "", 0, common->plans, missing);
    throwMissing(missing);
  }
  impl_ = std::make_unique<Impl>(program, std::move(common), "");
}

Interpreter::~Interpreter() = default;
Interpreter::Interpreter(Interpreter&&) noexcept = default;
Interpreter& Interpreter::operator=(Interpreter&&) noexcept = default;

std::vector<c10::IValue> Interpreter::run(std::span<const c10::IValue> inputs) {
  const at::NoGradGuard noGradients;
  const at::AutoDispatchBelowADInplaceOrView belowAutograd;
  return impl_->runOrRestore(inputs);
}

std::vector<c10::IValue> Interpreter::run(const std::vector<c10::IValue>& inputs) {
  return run(std::span<const c10::IValue>(inputs));
}

c10::IValue Interpreter::call(const std::vector<c10::IValue>& args,
                              const std::vector<std::pair<std::string, c10::IValue>>& kwargs) {
  const ExportedProgram& program = impl_->program();
  std::vector<c10::IValue> results = run(flattenInputs(program, args, kwargs));
  const bool hasConvention = !program.moduleCallGraph.empty() && program.moduleCallGraph.front().signature;
  if (hasConvention) return unflatten(std::move(results), program.moduleCallGraph.front().signature->outSpec);
  if (results.size() == 1) return std::move(results.front());
  return c10::ivalue::Tuple::create(std::move(results));
}

at::Tensor Interpreter::state(std::string_view target) const {
  if (const at::Tensor* found = impl_->findState(target)) return *found;
  detail::fail<UsageError>("no parameter, buffer or constant of the program is called '{}'", target);
}

std::vector<std::string> Interpreter::writtenState() const {
  return impl_->writtenState();
}

void Interpreter::resetState() {
  impl_->resetState();
}

}  // namespace edgefx
