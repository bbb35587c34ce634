#include <edgefx/ir/fx_text.h>
#include <edgefx/program/check_program.h>
#include <edgefx/serialization/exir.h>
#include <edgefx/serialization/pt2.h>
#include <edgefx/support/error.h>
#include <edgefx/support/warning.h>

#include "serialization/test_zip.h"
#include "serialization/zip_reader.h"
#include "support/allocation_meter.h"
#include "support/lowered_builder.h"
#include "support/test_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace edgefx::test {
namespace {

// Whatever happens to a file, loading ends in one of edgefx's errors or in a program that holds together.
class DamagedFiles : public testing::Test {
 protected:
  DamagedFiles() : oldHandler_(setWarningHandler({})) {}
  ~DamagedFiles() override { setWarningHandler(oldHandler_); }

  struct Outcome {
    bool loaded = false;
    std::string text;
  };

  Outcome load(const std::string& bytes) {
    std::filesystem::path path = dir_ / "damaged.pt2";
    writeFile(path, bytes);
    // Tables of the parser and the zip reader are paid for by any file.
    constexpr size_t kBasis = size_t{4} << 20, kPerByte = 64;
    Outcome outcome;
    AllocationMeter meter;
    try {
      LoadOptions options;
      options.checkWeights = random_() % 4 == 0;
      Archive archive = loadArchive(path, options);
      outcome.loaded = true;
      for (const Archive::Model& model : archive.models) {
        outcome.text += fxText(model.program.graphModule());
        EXPECT_TRUE(checkProgram(model.program).empty());
      }
      saveArchive(archive, dir_ / "saved.pt2");
      std::string again;
      for (const Archive::Model& model : loadArchive(dir_ / "saved.pt2").models) {
        again += fxText(model.program.graphModule());
      }
      EXPECT_EQ(again, outcome.text);
    } catch (const Error& error) {
      EXPECT_FALSE(std::string(error.what()).empty());
    }
    EXPECT_LT(meter.peak(), kBasis + kPerByte * bytes.size());
    return outcome;
  }

  struct Counts {
    int loaded = 0, refused = 0;
  };

  // Loads `variants` files made of the sources by damage of every kind.
  Counts loadVariants(const std::vector<std::string>& sources, int variants) {
    Counts counts;
    for (int i = 0; i < variants; ++i) {
      SCOPED_TRACE(i);
      const std::string& source = sources[static_cast<size_t>(i) % sources.size()];
      std::string damaged;
      switch (i / static_cast<int>(sources.size()) % 8) {
        case 0:
          damaged = truncated(source);
          break;
        case 1:
        case 2:
          damaged = flipped(source);
          break;
        case 3:
          damaged = swapped(source);
          break;
        case 4:
          damaged = dropped(source);
          break;
        default:
          damaged = edited(source);
      }
      ++(load(damaged).loaded ? counts.loaded : counts.refused);
    }
    return counts;
  }

  size_t below(size_t bound) { return static_cast<size_t>(random_() % bound); }

  std::string truncated(std::string bytes) {
    bytes.resize(below(bytes.size()));
    return bytes;
  }

  std::string flipped(std::string bytes) {
    for (size_t i = 0, count = 1 + below(8); i < count; ++i) {
      bytes[below(bytes.size())] ^= static_cast<char>(1 << below(8));
    }
    return bytes;
  }

  static TestZip unpacked(const std::string& bytes) {
    detail::ZipReader zip(asBytes(bytes), "source");
    TestZip copy;
    for (const detail::ZipRecord& record : zip.records()) {
      copy.records.push_back({.name = record.name, .content = std::string(zip.read(record).text())});
    }
    return copy;
  }

  std::string swapped(const std::string& bytes) {
    TestZip zip = unpacked(bytes);
    std::swap(zip.records[below(zip.records.size())].content, zip.records[below(zip.records.size())].content);
    return zip.bytes();
  }

  std::string dropped(const std::string& bytes) {
    TestZip zip = unpacked(bytes);
    zip.records.erase(zip.records.begin() + static_cast<std::ptrdiff_t>(below(zip.records.size())));
    return zip.bytes();
  }

  // Tokens of JSON text: strings, numbers and words, brackets and separators.
  static std::vector<std::string> tokens(const std::string& json) {
    std::vector<std::string> found;
    for (size_t i = 0; i < json.size();) {
      size_t end = i + 1;
      if (json[i] == '"') {
        while (end < json.size() && json[end] != '"') end += json[end] == '\\' ? 2 : 1;
        ++end;
      } else if (std::isalnum(static_cast<unsigned char>(json[i])) || json[i] == '-') {
        while (end < json.size() && (std::isalnum(static_cast<unsigned char>(json[end])) || json[end] == '.'))
          ++end;
      }
      end = std::min(end, json.size());
      found.push_back(json.substr(i, end - i));
      i = end;
    }
    return found;
  }

  std::string edited(const std::string& bytes) {
    static const std::vector<std::string> kValues = {"-1",
                                                     "0",
                                                     "99",
                                                     "9223372036854775807",
                                                     "-9223372036854775808",
                                                     "18446744073709551616",
                                                     "1e400",
                                                     "3.5",
                                                     "null",
                                                     "true",
                                                     "[]",
                                                     "{}",
                                                     "\"\"",
                                                     "\"x\"",
                                                     "\"as_none\"",
                                                     "\"\\ud800\"",
                                                     "4611686018427387904",
                                                     "\"../weight_0\"",
                                                     "\"torch.os.system\""};
    TestZip zip = unpacked(bytes);
    std::vector<size_t> json;
    for (size_t i = 0; i < zip.records.size(); ++i) {
      if (zip.records[i].name.ends_with(".json")) json.push_back(i);
    }
    std::string& text = zip.records[json[below(json.size())]].content;
    std::vector<std::string> parts = tokens(text);
    for (size_t i = 0, count = 1 + below(2); i < count && !parts.empty(); ++i) {
      std::string& part = parts[below(parts.size())];
      switch (below(5)) {
        case 0:
          part.clear();
          break;
        case 1:
          part += part;
          break;
        case 2:
          part = parts[below(parts.size())];
          break;
        default:
          // Values only, so that most edits stay JSON.
          for (size_t tries = 0; tries < 20; ++tries) {
            std::string& value = parts[below(parts.size())];
            if (value.size() < 2 && !std::isdigit(static_cast<unsigned char>(value[0]))) continue;
            value = kValues[below(kValues.size())];
            break;
          }
      }
    }
    text.clear();
    for (const std::string& part : parts) text += part;
    return zip.bytes();
  }

  TempDir dir_;
  std::mt19937_64 random_{20260829};

 private:
  WarningHandler oldHandler_;
};

TEST_F(DamagedFiles, EndInAnErrorOrAValidProgram) {
  std::vector<std::string> sources;
  for (const char* name :
       {"linear_atan_relu_core/program.pt2", "kv_cache_cond_core/program.pt2", "nested_cond/program.pt2",
        "torch-2.6/kv_cache_cond.pt2", "torch-2.6/mixed_dtypes.pt2", "torch-2.6/dynamic_shapes.pt2",
        "arg_kinds/program.pt2", "symint_shapes/program.pt2", "multi_model/multi.pt2",
        "effect_tokens_core/program.pt2", "new_dtypes/program.pt2", "archive_extra_files/program.pt2",
        "archive_legacy/program.pt2"}) {
    sources.push_back(readFile(fixture(name)));
  }
  constexpr int kVariants = 1000;
  const Counts counts = loadVariants(sources, kVariants);
  // Both kinds of outcome occur, so that the test looks at what it means to look at.
  EXPECT_GT(counts.loaded, kVariants / 50);
  EXPECT_GT(counts.refused, kVariants / 2);
}

// Delegates, their records and what these refer to.
TEST_F(DamagedFiles, OfLoweredProgramsEndInAnErrorOrAValidProgram) {
  std::vector<std::string> sources;
  auto addSource = [&](const ExportedProgram& program) {
    saveProgram(program, dir_ / "source.pt2");
    sources.push_back(readFile(dir_ / "source.pt2"));
    saveExir(program, dir_ / "source.pt2");
    sources.push_back(readFile(dir_ / "source.pt2"));
  };
  addSource(loweredProgram());
  addSource(branchedLoweredProgram());
  for (uint64_t seed = 1; seed <= 3; ++seed) addSource(randomLoweredProgram(seed));
  constexpr int kVariants = 1000;
  const Counts counts = loadVariants(sources, kVariants);
  EXPECT_GT(counts.loaded, kVariants / 50);
  EXPECT_GT(counts.refused, kVariants / 4);
}

}  // namespace
}  // namespace edgefx::test
