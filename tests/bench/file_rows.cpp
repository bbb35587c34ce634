#include <edgefx/program/check_program.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/serialization/pt2.h>

#include "bench/bench_graphs.h"
#include "bench/bench_rows.h"
#include "bench/memory.h"
#include "serialization/read_program.h"
#include "serialization/write_program.h"
#include "support/test_data.h"

#include <caffe2/serialize/inline_container.h>
#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <simdjson.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <utility>

namespace edgefx::bench {
namespace {

namespace fs = std::filesystem;

constexpr double kMicro = 1e-3;  // of nanoseconds
constexpr double kMiB = 1 << 20;

// Borrows the tables, which no row measures, from `tables`.
ExportedProgram readChecked(detail::JsonDocument& document, std::string_view json, ExportedProgram& tables) {
  detail::LoadCaches caches;
  ExportedProgram program =
      detail::readProgramJson(document, json, "model", caches, tables.stateDict(), true);
  std::swap(program.stateDict(), tables.stateDict());
  std::swap(program.constants(), tables.constants());
  const bool isSound = checkProgram(program).empty();
  std::swap(program.stateDict(), tables.stateDict());
  std::swap(program.constants(), tables.constants());
  if (!isSound) throw std::runtime_error("the program read back does not hold together");
  return program;
}

// Row 3: from the JSON of a model file. `nodes` is 0 for a fixture.
void loadRow(const fs::path& file, const std::string& what, size_t nodes, int repetitions, Table& table) {
  ExportedProgram loaded = loadProgram(file);
  const simdjson::padded_string json(modelJson(file));
  const std::string_view text(json.data(), json.size());
  detail::JsonDocument kept;
  simdjson::dom::parser parser;
  const auto times = medians({making("load",
                                     [&] {
                                       detail::JsonDocument document;
                                       return readChecked(document, text, loaded);
                                     }),
                              making("load, document kept", [&] { return readChecked(kept, text, loaded); }),
                              making("simdjson",
                                     [&] {
                                       simdjson::dom::element root = parser.parse(json);
                                       return root.type();
                                     })},
                             repetitions);
  const double peer = times[2] * kMicro;
  const size_t size = nodes != 0 ? nodes : loaded.graph().size();
  // The goal is for graphs of a thousand nodes and more.
  const std::optional<Goal> goal = size < 1'000 ? std::nullopt : std::optional(Goal{2.5, 4});
  table.add({"3", fmt::format("load {} / simdjson DOM", what), size, times[0] * kMicro, peer, "us", goal});
  table.add({"3", fmt::format("load {}, parser kept", what), size, times[1] * kMicro, peer, "us", {}});
}

void peakRow(const fs::path& file, size_t nodes, Table& table) {
  std::optional<ExportedProgram> held;
  const Growth growth = growthOf([&] { held = loadProgram(file); });
  const double json = static_cast<double>(modelJson(file).size());
  table.add({"3c", "peak memory of a load / bytes of JSON", nodes, growth.peak / kMiB, json / kMiB, "MiB",
             Goal{2.5, 4}});
}

void saveRow(const ExportedProgram& program, const fs::path& file, size_t nodes, int repetitions,
             Table& table) {
  const std::string json = modelJson(file);
  rapidjson::Document document;
  document.Parse(json.data(), json.size());
  if (document.HasParseError()) throw std::runtime_error("RapidJSON does not read the model");
  size_t ourBytes = 0, theirBytes = 0;
  const auto times = medians({making("write",
                                     [&] {
                                       detail::JsonWriter writer;
                                       detail::writeProgram(writer, program);
                                       ourBytes = writer.size();
                                       return writer.take();
                                     }),
                              making("RapidJSON",
                                     [&] {
                                       rapidjson::StringBuffer buffer;
                                       rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
                                       document.Accept(writer);
                                       theirBytes = buffer.GetSize();
                                       return buffer;
                                     })},
                             repetitions);
  table.add({"5", "save, JSON part / RapidJSON writer", nodes, 1e3 * static_cast<double>(ourBytes) / times[0],
             1e3 * static_cast<double>(theirBytes) / times[1], "MB/s", Goal{3, 1.5, true}});
}

struct ReadRecords {
  caffe2::serialize::PyTorchStreamReader reader;
  std::vector<at::DataPtr> records;

  explicit ReadRecords(const fs::path& file) : reader(file.string()) {
    for (const std::string& name : reader.getAllRecords())
      records.push_back(std::get<0>(reader.getRecord(name)));
  }
};

void writeRecords(const ExportedProgram& program, const fs::path& file) {
  caffe2::serialize::PyTorchStreamWriter writer(file.string());
  for (const TensorTable::Entry& entry : program.stateDict()) {
    const auto bytes = entry.value.storage();
    writer.writeRecord("data/weights/" + entry.name, bytes.data(), bytes.size());
  }
  writer.writeEndOfFile();
}

// Measures writing a file anew. An old one would make a difference: the writer that cuts it short first gets
// its pages back while the kernel still has them at hand, the one that replaces it in the end does not.
Contestant writing(std::string name, const fs::path& file, std::function<void()> write) {
  return {std::move(name), [file, write = std::move(write)](benchmark::State& state) {
            for (auto _ : state) {
              fs::remove(file);
              const double start = cpuSeconds();
              write();
              state.SetIterationTime(cpuSeconds() - start);
            }
          }};
}

}  // namespace

void addFileRows(const Options& options, Table& table) {
  if (!options.wants("3") && !options.wants("3c") && !options.wants("5")) return;
  const test::TempDir folder;
  for (const size_t nodes : options.sizes()) {
    std::fprintf(stderr, "files of %zu nodes\n", nodes);
    const fs::path file = folder / "program.pt2";
    {
      const ExportedProgram program = makeProgram(nodes);
      saveProgram(program, file);
      if (options.wants("5")) saveRow(program, file, nodes, options.repetitionsAt(nodes), table);
    }
    if (options.wants("3c")) peakRow(file, nodes, table);
    if (options.wants("3")) loadRow(file, "JSON", nodes, options.repetitionsAt(nodes), table);
  }
  if (!options.wants("3")) return;
  for (const fs::path& file : largestFixtures(2)) {
    const std::string name = file.parent_path().filename().string();
    std::fprintf(stderr, "fixture %s\n", name.c_str());
    loadRow(file, name, 0, options.repetitions, table);
  }
}

void addWeightRows(const Options& options, Table& table) {
  if (!options.wants("4") && !options.wants("5b")) return;
  std::fprintf(stderr, "%zu MiB of weights\n", options.weightMib);
  const test::TempDir folder;
  const fs::path file = folder / "heavy.pt2", peerFile = folder / "peer.pt", copy = folder / "copy.pt2";
  saveProgram(makeHeavyProgram(options.weightMib), file);
  const ExportedProgram program = loadProgram(file);
  writeRecords(program, peerFile);
  const std::string size = fmt::format("{} MiB weights", options.weightMib);

  if (options.wants("4")) {
    const auto times = medians({making("load", [&] { return loadProgram(file); }),
                                making("read", [&] { return std::make_unique<ReadRecords>(peerFile); })},
                               options.repetitions);
    std::optional<ExportedProgram> held;
    std::optional<ReadRecords> heldRecords;
    const Growth ours = growthOf([&] { held = loadProgram(file); });
    const Growth theirs = growthOf([&] { heldRecords.emplace(peerFile); });
    table.add({"4", fmt::format("load, {} / PyTorchStreamReader", size), 0, times[0] * kMicro,
               times[1] * kMicro, "us", Goal{0.02, 0.05}});
    table.add({"4", "its growth of resident memory", 0, ours.resident / kMiB, theirs.resident / kMiB, "MiB",
               Goal{16, 64}, false});
  }
  if (options.wants("5b")) {
    constexpr int kMostRepetitions = 5;  // each writes all the weights to the disk twice
    const auto times = medians({writing("save", copy, [&] { saveProgram(program, copy); }),
                                writing("write", peerFile, [&] { writeRecords(program, peerFile); })},
                               std::min(options.repetitions, kMostRepetitions));
    const Growth ours = growthOf([&] { saveProgram(program, copy); });
    table.add({"5b", fmt::format("save, {} / PyTorchStreamWriter", size), 0, times[0] * kMicro,
               times[1] * kMicro, "us", Goal{0.65, 1.0}});
    table.add({"5b", "its peak memory", 0, ours.peak / kMiB, 0, "MiB", Goal{16, 64}, false});
  }
}

}  // namespace edgefx::bench
