#include "run/operator_equivalents.h"

#include "ir/bundled_schemas.h"
#include "run/equivalent_table.h"
#include "support/fail.h"

#include <torch/csrc/jit/frontend/function_schema_parser.h>

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace edgefx::detail {
namespace {

struct KnownEquivalent {
  const EquivalentEntry* entry;
  std::once_flag parsed;
  std::unique_ptr<const OperatorEquivalent> equivalent;
};

using EquivalentIndex = std::unordered_map<std::string_view, std::unique_ptr<KnownEquivalent>>;

constexpr auto kEquivalentGroups = {
    assertionEquivalents,     attentionEquivalents,    dimOrderEquivalents,
    normalizationEquivalents, quantizationEquivalents, quantizedEmbeddingEquivalents,
    reductionEquivalents,     shapeEquivalents,        tensorEquivalents,
};

// Leaked: what it holds lives as long as the process.
const EquivalentIndex& equivalentIndex() {
  static const auto& index = *[] {
    auto* byName = new EquivalentIndex();
    for (auto* group : kEquivalentGroups) {
      for (const EquivalentEntry& entry : group()) {
        auto known = std::make_unique<KnownEquivalent>();
        known->entry = &entry;
        byName->emplace(entry.name, std::move(known));
      }
    }
    return byName;
  }();
  return index;
}

c10::FunctionSchema parseBundledSchema(std::string_view name) {
  std::string text(bundledSchemaText(name));
  if (text.empty()) fail<InternalError>("operator '{}' has an equivalent, but no schema", name);
  // LibTorch before 2.14 knows no SymBool.
  if (constexpr std::string_view kSymBool = "SymBool"; text.ends_with(kSymBool))
    text.replace(text.size() - kSymBool.size(), kSymBool.size(), "bool");
  return torch::jit::parseSchema(text);
}

}  // namespace

const OperatorEquivalent* findEquivalent(std::string_view name) {
  const auto found = equivalentIndex().find(name);
  if (found == equivalentIndex().end()) return nullptr;
  KnownEquivalent& known = *found->second;
  std::call_once(known.parsed, [&] {
    known.equivalent = std::make_unique<const OperatorEquivalent>(
        OperatorEquivalent{parseBundledSchema(name), known.entry->run, known.entry->replacesOlder});
  });
  return known.equivalent.get();
}

std::vector<std::string_view> equivalentNames() {
  std::vector<std::string_view> names;
  for (auto* group : kEquivalentGroups) {
    for (const EquivalentEntry& entry : group()) names.push_back(entry.name);
  }
  return names;
}

}  // namespace edgefx::detail
