#include <edgefx/ir/fx_text.h>
#include <edgefx/program/compare_programs.h>
#include <edgefx/serialization/pt2.h>
#include <edgefx/support/warning.h>
#include <edgefx/text/fx_reader.h>

#include "support/allocation_meter.h"
#include "support/lowered_builder.h"
#include "support/program_builder.h"
#include "support/random_program.h"
#include "support/test_data.h"
#include "text/text_testing.h"

#include <string>
#include <vector>

namespace edgefx::test {
namespace {

// Whatever happens to a text, reading ends in a ParseError with a place or in programs that print and parse
// again.
class DamagedText : public testing::Test {
 protected:
  static std::vector<std::string> tokensOf(const std::string& text) {
    std::vector<std::string> tokens;
    for (size_t i = 0; i < text.size();) {
      size_t end = i + 1;
      if (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_') {
        while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
          ++end;
      } else if (text[i] == ' ') {
        while (end < text.size() && text[end] == ' ') ++end;
      }
      tokens.push_back(text.substr(i, end - i));
      i = end;
    }
    return tokens;
  }

  std::string damaged(const std::string& text) {
    static const std::vector<std::string> kTokens = {"-1",
                                                     "0",
                                                     "9223372036854775807",
                                                     "99999999999999999999",
                                                     "1e400",
                                                     "nan",
                                                     "inf",
                                                     "None",
                                                     "[",
                                                     "]",
                                                     "(",
                                                     ")",
                                                     "{",
                                                     "}",
                                                     "<",
                                                     ">",
                                                     "\"",
                                                     "%",
                                                     "!",
                                                     "@",
                                                     "$",
                                                     "#",
                                                     ":",
                                                     ",",
                                                     "=",
                                                     "...",
                                                     "\\",
                                                     "sym(",
                                                     "f32[",
                                                     "\"\"",
                                                     "%x",
                                                     "return",
                                                     "submodule",
                                                     "method",
                                                     "lowered",
                                                     "elided",
                                                     "base64",
                                                     "as",
                                                     "strides",
                                                     "\xff",
                                                     std::string(1, '\0')};
    std::string out = text;
    switch (dice_.below(6)) {
      case 0:
        out.resize(dice_.below(out.size()));
        return out;
      case 1:
        for (size_t i = 0, count = 1 + dice_.below(3); i < count; ++i)
          out[dice_.below(out.size())] ^= static_cast<char>(1 << dice_.below(8));
        return out;
      case 2: {
        const size_t from = dice_.below(out.size());
        out.erase(from, 1 + dice_.below(40));
        return out;
      }
      default: {
        std::vector<std::string> tokens = tokensOf(text);
        for (size_t i = 0, count = 1 + dice_.below(2); i < count; ++i) {
          std::string& token = tokens[dice_.below(tokens.size())];
          switch (dice_.below(4)) {
            case 0:
              token.clear();
              break;
            case 1:
              token = tokens[dice_.below(tokens.size())];
              break;
            case 2:
              token += token;
              break;
            default:
              token = kTokens[dice_.below(kTokens.size())];
          }
        }
        out.clear();
        for (const std::string& token : tokens) out += token;
        return out;
      }
    }
  }

  struct Counts {
    size_t read = 0, refused = 0;
  };
  template <typename Read>
  Counts readVariants(const std::vector<std::string>& sources, size_t variants, Read&& read) {
    constexpr size_t kBasis = size_t{1} << 20, kPerByte = 300;
    Counts counts;
    for (size_t i = 0; i < variants; ++i) {
      SCOPED_TRACE(i);
      const std::string text = damaged(sources[i % sources.size()]);
      AllocationMeter meter;
      try {
        read(text);
        ++counts.read;
      } catch (const ParseError& error) {
        const std::string& message = error.diagnostics().front().message;
        EXPECT_EQ(message.find("damaged:"), 0u) << message;
        EXPECT_NE(message.find("\n    "), std::string::npos) << message;
        ++counts.refused;
      }
      EXPECT_LT(meter.peak(), kBasis + kPerByte * text.size());
      if (HasFailure()) break;
    }
    return counts;
  }

  Dice dice_{20260911};
};

TEST_F(DamagedText, OfProgramsEndsInAnErrorOrAProgram) {
  const WarningHandler before = setWarningHandler({});
  std::vector<std::string> sources = {programText(tinyProgram()), programText(countingProgram()),
                                      programText(loweredProgram()), programText(branchedLoweredProgram()),
                                      programText(randomLoweredProgram(3))};
  for (const char* name : {"nested_cond_core", "arg_kinds", "symint_shapes", "effect_tokens_core",
                           "new_dtypes", "kv_cache_cond_core", "awkward_names"}) {
    sources.push_back(
        programText(loadProgram(fixture(std::string(name) + "/program.pt2")), {.mostBytes = 4096}));
  }
  const Counts counts = readVariants(sources, 3000, [](const std::string& text) {
    const std::vector<NamedProgram> programs = parsePrograms(text, "damaged", {.elidedAreZeros = true});
    std::vector<NamedProgramRef> refs;
    for (const NamedProgram& program : programs) refs.push_back({program.name, &program.program});
    const std::string printed = programText(refs, kAllBytes);
    const std::vector<NamedProgram> again = parsePrograms(printed, "printed");
    ASSERT_EQ(again.size(), programs.size());
    for (size_t i = 0; i < again.size(); ++i) {
      const auto difference = findContentDifference(programs[i].program, again[i].program);
      EXPECT_FALSE(difference.has_value()) << difference->render() << text;
      refs[i] = {again[i].name, &again[i].program};
    }
    EXPECT_EQ(programText(refs, kAllBytes), printed);
  });
  EXPECT_GT(counts.read, 300u);
  EXPECT_GT(counts.refused, 1000u);
  setWarningHandler(before);
}

TEST_F(DamagedText, OfFxEndsInAnErrorOrAGraph) {
  std::vector<std::string> sources;
  for (const char* name :
       {"nested_cond_core", "arg_kinds", "symint_shapes", "effect_tokens_core", "autocast_region"}) {
    sources.push_back(readFile(fixture(std::string(name) + "/graph.txt")));
  }
  const Counts counts = readVariants(sources, 2000, [](const std::string& text) {
    const std::string printed = fxText(*readFxText(text, "damaged"));
    EXPECT_EQ(fxText(*readFxText(printed, "printed")), printed) << text;
  });
  EXPECT_GT(counts.refused, 1000u);
  EXPECT_GT(counts.read, 20u);
}

}  // namespace
}  // namespace edgefx::test
