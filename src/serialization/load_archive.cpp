#include <edgefx/program/check_program.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/serialization/pt2.h>

#include "serialization/byte_text.h"
#include "serialization/edge_record.h"
#include "serialization/exir_json.h"
#include "serialization/exir_lowered.h"
#include "serialization/lowered_record.h"
#include "serialization/naming_file.h"
#include "serialization/program_records.h"
#include "serialization/read_program.h"
#include "serialization/read_weights.h"
#include "support/fail.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

namespace edgefx {
namespace detail {
namespace {

constexpr std::string_view kFlatProgram = "serialized_exported_program.json";
// Larger records are checked against their CRC only on demand, since that reads all of them.
constexpr uint64_t kAlwaysChecked = uint64_t{1} << 20;

class ArchiveLoader {
 public:
  ArchiveLoader(const std::filesystem::path& path, const LoadOptions& options)
      : options_(options), file_(MappedFile::open(path)), zip_(file_->bytes(), file_->path()) {}

  Archive load(std::string_view only) {
    if (zip_.find(kFlatProgram) != nullptr) {
      if (!only.empty() && only != "model" && only != kAllModels) {
        fail<UsageError>("there is no model '{}'; the file holds 'model'", printable(only));
      }
      loadFlat();
    } else {
      findRoot();
      loadModels(only);
    }
    return std::move(archive_);
  }

 private:
  // A record that lies in one piece of the file, followed by readable bytes, is parsed where it lies.
  struct Text {
    SharedBytes bytes;
    bool isPadded;
  };
  Text textOf(const ZipRecord& record) {
    SharedBytes bytes = recordBytes(file_, zip_, record, true);
    bool isPadded =
        !record.deflated && file_->bytes().size() - record.offset - record.size >= simdjson::SIMDJSON_PADDING;
    return {std::move(bytes), isPadded};
  }

  ExportedProgram readProgram(const ZipRecord& record, const TensorTable& stateDict) {
    Text text = textOf(record);
    std::vector<ExirDelegate> delegates;
    ExportedProgram program = readProgramJson(document_, text.bytes.text(), record.name, caches_, stateDict,
                                              text.isPadded, &delegates);
    if (program.schemaVersion.major == kExirSchema.major) {
      ExirDelegateReader reader(caches_, *weights_,
                                [&](const ExportedProgram& inner) { verify(inner, record.name); });
      reader.place(program, delegates, record.name);
    }
    return program;
  }

  // `record` is named in errors.
  void verify(const ExportedProgram& program, std::string_view record) {
    if (!options_.verify) return;
    std::vector<Diagnostic> violations = checkProgram(program);
    if (violations.empty()) return;
    for (Diagnostic& violation : violations) violation.record = record;
    throw VerificationError(std::move(violations));
  }

  void finish(std::string name, ExportedProgram program) {
    verify(program, {});
    archive_.models.push_back({std::move(name), std::move(program)});
  }

  void keep(std::string name, const ZipRecord& record) {
    bool check = options_.checkWeights || record.size <= kAlwaysChecked;
    archive_.foreign.push_back({std::move(name), recordBytes(file_, zip_, record, check)});
  }

  // torch 2.1 to 2.7: records beside each other, tensors by torch.save. The first two releases called those
  // .json.
  void loadFlat() {
    WeightReader& weights = weights_.emplace(file_, zip_, "", options_.checkWeights);
    auto tensors = [&](std::string_view stem, bool isRequired) -> TensorTable {
      for (std::string_view suffix : {".pt", ".json"}) {
        const ZipRecord* record = zip_.find(fmt::format("{}{}", stem, suffix));
        if (record != nullptr) return weights.readPickled(*record);
      }
      if (isRequired) zip_.record(fmt::format("{}.pt", stem), kFlatProgram);
      return {};
    };
    TensorTable stateDict = tensors("serialized_state_dict", true);
    ExportedProgram program = readProgram(zip_.record(kFlatProgram, "the file"), stateDict);
    program.stateDict() = std::move(stateDict);
    program.constants() = tensors("serialized_constants", false);

    RecordBytes version = zip_.read(zip_.record("version", kFlatProgram));
    std::string_view major = version.text().substr(0, version.text().find('.'));
    if (major != std::to_string(program.schemaVersion.major)) {
      Diagnostic diagnostic(fmt::format("the file's version is '{}', the program says {}.{}",
                                        printable(version.text()), program.schemaVersion.major,
                                        program.schemaVersion.minor));
      diagnostic.record = "version";
      throw ParseError(std::move(diagnostic));
    }
    constexpr std::string_view kUserFiles = "extra_files/";
    for (const ZipRecord& record : zip_.records()) {
      std::string_view name = record.name;
      if (name == "serialized_example_inputs.pt") {
        program.exampleInputs = recordBytes(file_, zip_, record, record.size <= kAlwaysChecked);
      } else if (name.starts_with(kUserFiles)) {
        keep("extra/" + std::string(name.substr(kUserFiles.size())), record);
      } else if (name != kFlatProgram && name != "version" && !name.starts_with("serialized_")) {
        keep(record.name, record);
      }
    }
    finish("model", std::move(program));
  }

  // torch 2.8 and later: everything below one folder, whose name means nothing.
  void findRoot() {
    auto refuse = [&](std::string message) { fail<ParseError>("{}", message); };
    if (zip_.records().empty()) refuse("the archive is empty");
    const std::string& first = zip_.records().front().name;
    size_t slash = first.find('/');
    root_ = slash == std::string::npos ? "" : first.substr(0, slash + 1);
    if (root_.empty() || zip_.find(root_ + "archive_format") == nullptr) {
      refuse("neither a flat exported program nor a pt2 archive: there is no record '" +
             std::string(kFlatProgram) + "' and no 'archive_format' below one folder");
    }
    for (const ZipRecord& record : zip_.records()) {
      if (!record.name.starts_with(root_)) {
        refuse(fmt::format("record '{}' lies outside the archive's folder '{}'", printable(record.name),
                           printable(root_)));
      }
    }
    expectContent("archive_format", "pt2");
    expectContent("archive_version", "0");
    if (find(".data/version") == nullptr && find("version") == nullptr) {
      refuse("the archive has neither a record '.data/version' nor 'version'");
    }
    constexpr std::string_view kMachine = std::endian::native == std::endian::little ? "little" : "big";
    if (find("byteorder") != nullptr) expectContent("byteorder", kMachine);
  }

  const ZipRecord* find(std::string_view name) const { return zip_.find(root_ + std::string(name)); }
  const ZipRecord& record(std::string_view name, std::string_view neededBy) const {
    return zip_.record(root_ + std::string(name), neededBy);
  }

  void expectContent(std::string_view name, std::string_view content) {
    RecordBytes bytes = zip_.read(record(name, "the archive"));
    if (bytes.text() == content) return;
    Diagnostic diagnostic(
        fmt::format("expected '{}', found '{}'", content, printable(bytes.text().substr(0, 32))));
    diagnostic.record = root_ + std::string(name);
    throw ParseError(std::move(diagnostic));
  }

  void loadModels(std::string_view only) {
    constexpr std::string_view kModels = "models/", kJson = ".json";
    std::vector<std::pair<std::string, const ZipRecord*>> models;
    std::set<std::string, std::less<>> own = {"archive_format", "archive_version", ".data/version",
                                              "version",        "byteorder",       ".data/serialization_id"};
    for (const ZipRecord& record : zip_.records()) {
      std::string_view name = std::string_view(record.name).substr(root_.size());
      if (!name.starts_with(kModels) || !name.ends_with(kJson)) continue;
      name = name.substr(kModels.size(), name.size() - kModels.size() - kJson.size());
      models.emplace_back(name, &record);
      const ProgramRecords records = recordsOfModel(name);
      own.insert({records.json, records.inputs, records.edge});
    }
    if (models.empty()) fail<ParseError>("the archive holds no model: there is no record 'models/NAME.json'");
    std::string chosen = chooseModel(models, only);
    weights_.emplace(file_, zip_, root_, options_.checkWeights);
    for (const auto& [name, record] : models) {
      if (chosen.empty() || chosen == name) finish(name, loadParts(recordsOfModel(name), kNoLimit));
    }
    for (const ZipRecord& record : zip_.records()) {
      std::string_view name = std::string_view(record.name).substr(root_.size());
      bool isPart = name.starts_with("data/weights/") || name.starts_with("data/constants/") ||
                    name.starts_with(kLoweredFolder);
      if (!isPart && !own.contains(name)) keep(std::string(name), record);
    }
  }

  // The name of the one model to be read, or empty for all of them.
  std::string chooseModel(const std::vector<std::pair<std::string, const ZipRecord*>>& models,
                          std::string_view only) {
    if (only == kAllModels) return {};
    std::string wanted(only.empty() ? "model" : only);
    std::string names;
    for (const auto& model : models) {
      if (model.first == wanted) return wanted;
      names += fmt::format("{}'{}'", names.empty() ? "" : ", ", printable(model.first));
    }
    if (only.empty() && models.size() == 1) return models.front().first;
    fail<UsageError>("there is no model '{}'; the file holds {}", printable(wanted), names);
  }

  TensorTable readTensors(const ProgramRecords& records, PayloadTable table, ExportedProgram& program) {
    const bool isWeights = table == PayloadTable::Weights;
    const std::string& configName = isWeights ? records.weights : records.constants;
    std::string_view folder = isWeights ? "data/weights/" : "data/constants/";
    if (!records.hasLongPaths) {
      constexpr std::string_view kModels = "models/", kJson = ".json";
      std::string_view model(records.json);
      model = model.substr(kModels.size(), model.size() - kModels.size() - kJson.size());
      if (const ZipRecord* pickled = find(fmt::format("{}{}.pt", folder, model)))
        return weights_->readPickled(*pickled);
    } else {
      folder = "data/";
    }
    const ZipRecord& config = record(configName, records.json);
    Text text = textOf(config);
    JsonValue root = document_.parse(text.bytes.text(), config.name, text.isPadded);
    return weights_->readConfig(root, config.name, folder, isWeights ? "weights_config" : "constants_config",
                                program, caches_);
  }

  // Once for each record, for many may name one that is deflated.
  const SharedBytes& partBytes(const ZipRecord& record) {
    auto [at, isNew] = parts_.try_emplace(&record);
    if (isNew)
      at->second = recordBytes(file_, zip_, record, options_.checkWeights || record.size <= kAlwaysChecked);
    return at->second;
  }

  // A program from its records. Its delegates must have numbers below `limit`.
  ExportedProgram loadParts(const ProgramRecords& records, uint64_t limit) {
    const ZipRecord& json = record(records.json, "the archive");
    const ZipRecord& inputs = record(records.inputs, json.name);
    ExportedProgram program = readProgram(json, TensorTable());
    program.stateDict() = readTensors(records, PayloadTable::Weights, program);
    program.constants() = readTensors(records, PayloadTable::Constants, program);
    program.exampleInputs = partBytes(inputs);
    if (const ZipRecord* edge = find(records.edge)) {
      Text text = textOf(*edge);
      EdgeRecord read =
          readEdgeRecord(document_.parse(text.bytes.text(), edge->name, text.isPadded), edge->name);
      applyEdgeRecord(read, edge->name, program,
                      [&](uint64_t number) { return lowered(number, limit, edge->name); });
    }
    return program;
  }

  // A delegate holds only such of lower numbers, so that none can hold itself.
  LoweredModuleRef lowered(uint64_t number, uint64_t limit, std::string_view neededBy) {
    auto refuse = [&](std::string message) {
      Diagnostic diagnostic(std::move(message));
      diagnostic.record = neededBy;
      throw ParseError(std::move(diagnostic));
    };
    if (number >= limit)
      refuse(fmt::format("delegate {} holds delegate {}, which does not come before it", limit, number));
    if (auto known = lowered_.find(number); known != lowered_.end()) {
      if (nesting_ + known->second.depth > kDeepestDelegate) {
        refuse(fmt::format("delegates nested deeper than {} levels", kDeepestDelegate));
      }
      deepest_ = std::max(deepest_, known->second.depth);
      return known->second.module;
    }
    if (nesting_ >= kDeepestDelegate)
      refuse(fmt::format("delegates nested deeper than {} levels", kDeepestDelegate));

    const size_t outerDeepest = std::exchange(deepest_, 0);
    ++nesting_;
    LoweredModuleRef module = readLowered(number, neededBy);
    --nesting_;
    const size_t depth = 1 + deepest_;
    deepest_ = std::max(outerDeepest, depth);
    lowered_.emplace(number, Lowered{module, depth});
    return module;
  }

  LoweredModuleRef readLowered(uint64_t number, std::string_view neededBy) {
    auto module = std::make_shared<LoweredModule>();
    const ZipRecord& json = record(loweredRecord(number, "module.json"), neededBy);
    module->processedBytes = partBytes(record(loweredRecord(number, "payload"), json.name));
    Text text = textOf(json);
    readLoweredRecord(document_.parse(text.bytes.text(), json.name, text.isPadded), json.name, *module,
                      [&](const std::string& name) { return partBytes(record(name, json.name)); });
    module->program = loadParts(recordsOfLowered(number), number);
    verify(module->program, loweredRecord(number, "program.json"));
    return module;
  }

 public:
  // No record can have this name.
  static constexpr std::string_view kAllModels = std::string_view("\0", 1);

 private:
  LoadOptions options_;
  std::shared_ptr<const MappedFile> file_;
  ZipReader zip_;
  std::string root_;
  JsonDocument document_;
  LoadCaches caches_;
  std::optional<WeightReader> weights_;

  struct Lowered {
    LoweredModuleRef module;
    size_t depth;  // delegates from this one down
  };
  static constexpr uint64_t kNoLimit = ~uint64_t{0};
  std::map<uint64_t, Lowered> lowered_;            // by number
  std::map<const ZipRecord*, SharedBytes> parts_;  // looked up only, never iterated
  size_t nesting_ = 0;                             // delegates around what is being read
  size_t deepest_ = 0;                             // depth of the delegates of the program being read
  Archive archive_;
};

Archive load(const std::filesystem::path& path, std::string_view only, const LoadOptions& options) {
  return namingFile(path, [&] { return ArchiveLoader(path, options).load(only); });
}

}  // namespace
}  // namespace detail

ExportedProgram& Archive::program(std::string_view name) {
  std::string names;
  for (Model& model : models) {
    if (model.name == name) return model.program;
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", model.name);
  }
  detail::fail<UsageError>("there is no model '{}'; the archive holds {}", name,
                           names.empty() ? "none" : names);
}

Archive loadArchive(const std::filesystem::path& path, const LoadOptions& options) {
  return detail::load(path, detail::ArchiveLoader::kAllModels, options);
}

ExportedProgram loadProgram(const std::filesystem::path& path, std::string_view model,
                            const LoadOptions& options) {
  return std::move(detail::load(path, model, options).models.front().program);
}

}  // namespace edgefx
