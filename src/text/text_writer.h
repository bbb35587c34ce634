#pragma once

#include <edgefx/ir/meta.h>
#include <edgefx/ir/node.h>
#include <edgefx/program/signature.h>

#include "support/text_hash.h"

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace edgefx::detail {

// Leaves of the program text.
void appendQuoted(std::string& out, std::string_view text);
void appendKey(std::string& out, std::string_view key);  // a plain word, or quoted
void appendNodeName(std::string& out, std::string_view name);
void appendFloat(std::string& out, double value);
void appendScalar(std::string& out, const ConstantScalar& value);
void appendSpecArg(std::string& out, const SpecArg& arg);
// What follows the kind of a spec.
void appendTargetOf(std::string& out, const InputSpec& spec);
void appendTargetOf(std::string& out, const OutputSpec& spec);
// Whether decimal digits in a text, such as those of a debug handle, are a number's own.
bool isCanonicalInt(std::string_view text);

// The symbols of a program: which form stands for which expression and hint.
class SymbolWriter {
 public:
  // The form for sizes; sym("...") if the plain one stands for another.
  const std::string& formOf(const Symbolic& symbolic);
  void append(std::string& out, const SymInt& size);

  // The section, empty if there is nothing to say. The next program begins anew.
  std::string takeSection();

 private:
  std::unordered_map<const Symbolic*, std::string> byAddress_;
  std::unordered_map<std::string, std::string, TextHash, std::equal_to<>> byContent_;
  std::unordered_set<std::string, TextHash, std::equal_to<>> taken_;
  std::string section_;
};

// Metadata that is too long for a node's line, each block once.
class MetaWriter {
 public:
  // Number of the block with those entries.
  size_t numberOf(const NodeMeta& meta);
  // Whether the entries are short enough for the node's line.
  static bool isShort(const NodeMeta& meta);
  void appendSection(std::string& out) const;

 private:
  struct Text {
    std::string_view text;
    size_t uses = 0;
  };
  struct Entry {
    std::string_view key;
    size_t text;
  };
  size_t textNumber(const SharedText& text);

  std::unordered_map<const NodeMeta*, size_t> blockByAddress_;
  std::unordered_map<std::string, size_t, TextHash, std::equal_to<>> blockByContent_;
  std::unordered_map<const std::string*, size_t> textByAddress_;
  std::unordered_map<std::string_view, size_t, TextHash> textByContent_;
  std::vector<Text> texts_;
  std::vector<std::vector<Entry>> blocks_;
};

}  // namespace edgefx::detail
