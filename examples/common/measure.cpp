#include "common/measure.h"

#include <edgefx/ir/graph_module.h>
#include <edgefx/program/lowered_module.h>
#include <edgefx/support/error.h>
#include <edgefx/text/diagrams.h>
#include <edgefx/text/program_text.h>

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <tuple>

namespace examples {

using namespace edgefx;

namespace {

struct Counts {
  size_t operators = 0;
  size_t delegates = 0;
  std::map<std::string, size_t, std::less<>> byName;
};

Counts countCalls(const ExportedProgram& program) {
  Counts counts;
  for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
    for (const Node& node : nested.module->graph().nodes()) {
      if (callsDelegate(node)) {
        ++counts.delegates;
      } else if (node.isCall() && !node.callsOperator("operator.getitem") &&
                 !node.callsOperator("aten._assert_tensor_metadata.default")) {
        ++counts.operators;
        ++counts.byName[std::string(node.target().name())];
      }
    }
  }
  return counts;
}

RunOptions runOptions(const BackendRegistry* registry) {
  RunOptions options;
  if (registry != nullptr) options.delegateRunner = delegateRunner(*registry);
  return options;
}

// Programs may write their inputs.
std::vector<c10::IValue> ownInputs(const SavedCall& call) {
  std::vector<c10::IValue> inputs;
  for (const c10::IValue& input : call.inputs)
    inputs.push_back(input.isTensor() ? c10::IValue(input.toTensor().clone()) : input);
  return inputs;
}

void compareWithPytorch(const Subject& subject, Row& row) {
  Interpreter interpreter(subject.after, runOptions(subject.registry));
  size_t compared = 0;
  for (const SavedCall& call : subject.calls) {
    const std::vector<c10::IValue> inputs = ownInputs(call);
    const std::vector<c10::IValue> results = interpreter.run(inputs);
    for (const VerifyReport::Compared& value :
         compareCall(subject.after, call, inputs, results, interpreter, subject.tolerance)) {
      ++compared;
      row.largestDifference = std::max(row.largestDifference, value.difference.largestAbsolute);
      row.agrees = row.agrees && value.difference.agrees;
      if (!value.difference.agrees)
        std::printf("%s: %s\n", value.name.c_str(), text(value.difference).c_str());
    }
  }
  if (compared == 0) throw UsageError(Diagnostic("there are no results to compare with"));
}

void writeText(const std::filesystem::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  if (!out.flush()) throw Error(Diagnostic("cannot write '" + file.string() + "'"));
  std::printf("written: %s\n", file.string().c_str());
}

double middle(std::vector<double> times) {
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2];
}

std::string heading() {
  char line[256];
  std::snprintf(line, sizeof line, "%-16s %-34s %9s %9s %9s %12s %10s %10s %12s\n", "example", "model",
                "operators", "after", "delegates", "difference", "before ms", "after ms", "lowering ms");
  return line;
}

std::string rowText(const Row& row) {
  char line[256];
  std::snprintf(line, sizeof line, "%-16s %-34s %9zu %9zu %9zu %12.3g %10.4f %10.4f %12.2f%s\n",
                row.example.c_str(), row.model.c_str(), row.operatorsBefore, row.operatorsAfter,
                row.delegates, row.largestDifference, row.beforeMs, row.afterMs, row.loweringMs,
                row.agrees ? "" : "  differs!");
  return line;
}

}  // namespace

std::pair<double, double> compareTimes(const std::function<void()>& first,
                                       const std::function<void()>& second, double seconds) {
  first();
  second();
  std::vector<double> firstTimes, secondTimes;
  double spent = 0;
  const auto timed = [&spent](const std::function<void()>& work) {
    double milliseconds = 0;
    timeMs(milliseconds, [&work] { return work(), 0; });
    spent += milliseconds;
    return milliseconds;
  };
  while (firstTimes.size() < 5 || spent < 1000 * seconds) {
    firstTimes.push_back(timed(first));
    secondTimes.push_back(timed(second));
  }
  return {middle(std::move(firstTimes)), middle(std::move(secondTimes))};
}

Row measure(const Subject& subject) {
  Row row{.example = subject.example, .model = subject.model, .loweringMs = subject.loweringMs};
  row.operatorsBefore = countCalls(subject.before).operators;
  const Counts after = countCalls(subject.after);
  row.operatorsAfter = after.operators;
  row.delegates = after.delegates;
  compareWithPytorch(subject, row);

  Interpreter before(subject.before, runOptions(subject.registry));
  Interpreter lowered(subject.after, runOptions(subject.registry));
  std::vector<std::vector<c10::IValue>> inputs;
  for (const SavedCall& call : subject.calls) inputs.push_back(ownInputs(call));
  const auto runAll = [&inputs](Interpreter& interpreter) {
    interpreter.resetState();
    for (const std::vector<c10::IValue>& call : inputs) interpreter.run(call);
  };
  std::tie(row.beforeMs, row.afterMs) = compareTimes([&] { runAll(before); }, [&] { runAll(lowered); });
  return row;
}

std::string table(std::span<const Row> rows) {
  std::string text = heading();
  for (const Row& row : rows) text += rowText(row);
  return text;
}

std::map<std::string, size_t, std::less<>> countOperators(const ExportedProgram& program) {
  return countCalls(program).byName;
}

std::string operatorTable(const ExportedProgram& before, const ExportedProgram& after) {
  std::map<std::string, size_t, std::less<>> counts = countOperators(before), lowered = countOperators(after);
  for (const auto& [name, count] : lowered) counts.try_emplace(name, 0);
  char line[256];
  std::snprintf(line, sizeof line, "%-56s %7s %7s\n", "operator", "before", "after");
  std::string text = line;
  for (const auto& [name, count] : counts) {
    if (lowered[name] == count) continue;
    std::snprintf(line, sizeof line, "%-56s %7zu %7zu\n", name.c_str(), count, lowered[name]);
    text += line;
  }
  return text;
}

void writePictures(const ExportedProgram& before, const ExportedProgram& after,
                   const std::filesystem::path& stem) {
  constexpr size_t kSmall = 200;  // nodes of a picture that people can still look at
  for (const auto& [program, when] : {std::pair(&before, ".before"), std::pair(&after, ".after")}) {
    const std::string name = stem.string() + when;
    writeText(name + ".json", modelExplorerJson(*program, stem.filename().string()));
    if (program->graph().size() <= kSmall) writeText(name + ".dot", dotText(*program));
  }
}

ExportedProgram loadText(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  return parseProgram(text, file.string());
}

void showRefusal(const EdgeProgramManager& manager, const std::function<void()>& lower) {
  const std::string before = programText(manager.exportedProgram());
  try {
    lower();
  } catch (const LoweringError& error) {
    std::printf("%s\n", error.what());
    if (programText(manager.exportedProgram()) != before)
      throw std::runtime_error("the program was changed all the same");
    std::printf("the program is what it was\n\n");
    return;
  }
  throw std::runtime_error("it should be refused, but was not");
}

bool printTable(std::span<const Row> rows) {
  std::fputs(table(rows).c_str(), stdout);
  if (const char* path = std::getenv("EDGEFX_EXAMPLE_ROWS"); path != nullptr && *path != '\0') {
    std::FILE* file = std::fopen(path, "a");
    if (file == nullptr) throw Error(Diagnostic(std::string("cannot append to '") + path + "'"));
    std::fseek(file, 0, SEEK_END);
    if (std::ftell(file) == 0) std::fputs(heading().c_str(), file);
    for (const Row& row : rows) std::fputs(rowText(row).c_str(), file);
    std::fclose(file);
  }
  return std::ranges::all_of(rows, [](const Row& row) { return row.agrees; });
}

}  // namespace examples
