#pragma once

#include <edgefx/backend/backend_registry.h>
#include <edgefx/manager/edge_program_manager.h>
#include <edgefx/program/exported_program.h>
#include <edgefx/run/saved_calls.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

// The table that all examples print: what lowering did to a program, measured where it is printed.
namespace examples {

struct Row {
  std::string example;
  std::string model;
  size_t operatorsBefore = 0;    // calls of operators in every graph, but for those inside delegates
  size_t operatorsAfter = 0;     // and without getitem, calls of delegates and checks of metadata
  size_t delegates = 0;          // that graphs call
  double largestDifference = 0;  // to what PyTorch saved: results, and state after the calls
  bool agrees = true;            // within the tolerance
  double beforeMs = 0;           // all calls of the model on LibTorch, in edgefx's interpreter
  double afterMs = 0;            // the same calls of the lowered program
  double loweringMs = 0;
};

struct Subject {
  std::string example;
  std::string model;
  const edgefx::ExportedProgram& before;
  const edgefx::ExportedProgram& after;
  // With what PyTorch saved for them, see edgefx::readSavedCalls; one after the other, state carries over.
  const std::vector<edgefx::SavedCall>& calls;
  double loweringMs = 0;  // see timeMs
  edgefx::Tolerance tolerance{};
  // Runs delegates on their backends; null runs their own programs.
  const edgefx::BackendRegistry* registry = nullptr;
};

// Runs both programs: the lowered one against what PyTorch saved, then both in turn for their times, of which
// the middle one counts. Throws what Interpreter throws, and UsageError if there is nothing to compare with.
Row measure(const Subject& subject);

// A heading and the rows.
std::string table(std::span<const Row> rows);

// Prints the table. If the environment variable EDGEFX_EXAMPLE_ROWS names a file, the rows are appended to
// it, too, so that several examples make one table. Returns whether all rows agree.
bool printTable(std::span<const Row> rows);

// How often each operator is called in any graph, but for those inside delegates; without getitem, calls of
// delegates and checks of metadata.
std::map<std::string, size_t, std::less<>> countOperators(const edgefx::ExportedProgram& program);

// How often each operator is called in any graph before and after, where that differs.
std::string operatorTable(const edgefx::ExportedProgram& before, const edgefx::ExportedProgram& after);

// Writes STEM.before.json and STEM.after.json for Model Explorer; of small programs also STEM.before.dot and
// STEM.after.dot for Graphviz. Says what it wrote.
void writePictures(const edgefx::ExportedProgram& before, const edgefx::ExportedProgram& after,
                   const std::filesystem::path& stem);

// A program from its text form, see edgefx/text/program_text.h.
edgefx::ExportedProgram loadText(const std::filesystem::path& file);

// Prints the LoweringError that `lower` throws. Throws std::runtime_error if it throws none, or if the
// manager's program is another one afterwards.
void showRefusal(const edgefx::EdgeProgramManager& manager, const std::function<void()>& lower);

// What `work` returns, and how long it took.
template <typename Work>
auto timeMs(double& milliseconds, Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  auto result = std::forward<Work>(work)();
  milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return result;
}

// Runs both in turn for about `seconds`, and at least five times each after one call to warm up: the middle
// times in milliseconds.
std::pair<double, double> compareTimes(const std::function<void()>& first,
                                       const std::function<void()>& second, double seconds = 0.2);

}  // namespace examples
