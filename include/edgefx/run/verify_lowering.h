#pragma once

#include <edgefx/run/interpreter.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace edgefx {

// How near two tensors have to be: floating point values a and b agree if |a - b| <= absolute + relative *
// |b|, NaN agrees with NaN; everything else has to be equal.
struct Tolerance {
  double absolute = 1e-6;
  double relative = 1e-5;
};

// How two values differ.
struct Difference {
  double largestAbsolute = 0;  // infinite if only one is finite
  double largestRelative = 0;  // |a - b| / |b|, of elements where b is not 0
  bool agrees = true;
  std::string reason;  // why it does not: values, shapes, dtypes, kinds; empty if it does
};

// "largest difference 0.5 absolute, 0.25 relative", and the reason if they do not agree.
std::string text(const Difference& difference);

// Compares what was found with what was expected: tensors, numbers, texts, lists, and tuples, dtypes and
// shapes included. O(elements).
Difference compareValues(const c10::IValue& found, const c10::IValue& expected,
                         const Tolerance& tolerance = {});

struct VerifyOptions {
  Tolerance tolerance{};
  // Calls one after the other on the same inputs; state carries over. 0: two for programs that write state,
  // else one.
  int calls = 0;
  uint64_t seed = 0;  // of generated inputs
  DelegateRunner delegateRunner{};
};

struct VerifyReport {
  struct Compared {
    std::string name;  // of the result's node in the original, "buffer 'b'", "input 'x'"
    int call = 0;      // from 0
    Difference difference;
  };
  struct Deviation {
    std::string node;   // a name that both programs have
    std::string graph;  // of the lowered program, where the node stands: empty, or the path of a delegate
    Difference difference;
  };

  // Every result, and every buffer and input that the original writes; of buffers that the lowered program
  // has no more, the value at the start counts.
  std::vector<Compared> compared;
  // The first node, in the order of the original, whose value is another in the lowered program. Absent if
  // nothing differs, or no node that both have does in the first call.
  std::optional<Deviation> firstDeviation;

  bool agrees() const;
  // A line for what was compared and differs (or for everything), and one for the first deviation.
  std::string text(bool everything = false) const;
};

// Runs two programs that should compute the same and compares what they give, with `inputs` or with generated
// ones (see generateInputs), which stay as they are. If they differ, finds the first node that does, by
// running both again: once if copies of all values take no more than 256 MiB, else O(log nodes) times with
// ever fewer nodes between those compared, which passes over nodes whose deviation shows in nothing compared.
// Throws what Interpreter throws.
VerifyReport verifyLowering(const ExportedProgram& before, const ExportedProgram& after,
                            std::span<const c10::IValue> inputs, const VerifyOptions& options = {});
VerifyReport verifyLowering(const ExportedProgram& before, const ExportedProgram& after,
                            const VerifyOptions& options = {});

// User inputs that the program takes, from the descriptions of its placeholders and its range constraints:
// floats between -1 and 1, whole numbers 0 or 1, since many are indices. Symbols have the sizes of the export
// with seed 0, others in range with other seeds where the shapes allow it. The same on every machine. Throws
// UnsupportedError for inputs without a description, or that are no tensors, numbers or constants, and
// VerificationError if specs and placeholders differ in number.
std::vector<c10::IValue> generateInputs(const ExportedProgram& program, uint64_t seed = 0);

}  // namespace edgefx
