#pragma once

#include "run/operator_equivalents.h"

#include <span>
#include <string_view>

namespace edgefx::detail {

// An entry of the table of equivalents; its schema is among the bundled ones.
struct EquivalentEntry {
  std::string_view name;
  EquivalentFunction run;
  bool replacesOlder = false;
};

std::span<const EquivalentEntry> assertionEquivalents();
std::span<const EquivalentEntry> attentionEquivalents();
std::span<const EquivalentEntry> dimOrderEquivalents();
std::span<const EquivalentEntry> normalizationEquivalents();
std::span<const EquivalentEntry> quantizationEquivalents();
std::span<const EquivalentEntry> quantizedEmbeddingEquivalents();
std::span<const EquivalentEntry> reductionEquivalents();
std::span<const EquivalentEntry> shapeEquivalents();
std::span<const EquivalentEntry> tensorEquivalents();

}  // namespace edgefx::detail
