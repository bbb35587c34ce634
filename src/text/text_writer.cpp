#include "text/text_writer.h"

#include <edgefx/support/python_text.h>

#include "support/fail.h"
#include "support/utf8.h"
#include "text/text_words.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>
#include <variant>

namespace edgefx::detail {

void appendQuoted(std::string& out, std::string_view text) {
  out += '"';
  size_t at = 0;
  while (at < text.size()) {
    size_t run = at;
    while (run < text.size()) {
      const auto c = static_cast<unsigned char>(text[run]);
      if (c < 0x20 || c > 0x7e || c == '"' || c == '\\') break;
      ++run;
    }
    out.append(text, at, run - at);
    at = run;
    if (at == text.size()) break;
    const char c = text[at];
    const DecodedCharacter character = decodeUtf8(text.substr(at));
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (character.length > 1) {
      out.append(text, at, character.length);
      at += character.length - 1;
    } else {
      char hex[2];
      writeHex(hex, static_cast<unsigned char>(c), 2);
      out += "\\x";
      out.append(hex, 2);
    }
    ++at;
  }
  out += '"';
}

void appendKey(std::string& out, std::string_view key) {
  if (isPlainWord(key)) {
    out += key;
  } else {
    appendQuoted(out, key);
  }
}

void appendNodeName(std::string& out, std::string_view name) {
  out += '%';
  appendKey(out, name);
}

void appendFloat(std::string& out, double value) {
  constexpr auto kPlainNan = uint64_t{0x7ff8000000000000};
  if (!std::isnan(value) || std::bit_cast<uint64_t>(value) == kPlainNan) {
    appendRepr(out, value);
    return;
  }
  const auto bits = std::bit_cast<uint64_t>(value);
  char hex[16];
  char* const end =
      writeHex(writeHex(hex, static_cast<uint32_t>(bits >> 32), 8), static_cast<uint32_t>(bits), 8);
  out += "nan(\"";
  out.append(hex, end);
  out += "\")";
}

void appendScalar(std::string& out, const ConstantScalar& value) {
  std::visit(
      [&out](const auto& held) {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::monostate>) {
          out += "None";
        } else if constexpr (std::is_same_v<Held, bool>) {
          out += held ? "True" : "False";
        } else if constexpr (std::is_same_v<Held, std::string>) {
          appendQuoted(out, held);
        } else if constexpr (std::is_same_v<Held, double>) {
          appendFloat(out, held);
        } else {
          appendRepr(out, held);
        }
      },
      value);
}

// The fields that the kind does not use are written only if they hold something.
void appendSpecArg(std::string& out, const SpecArg& arg) {
  out += textWord(arg.kind);
  out += ' ';
  appendQuoted(out, arg.name);
  if (!arg.className.empty()) {
    out += " class ";
    appendQuoted(out, arg.className);
  }
  if (!std::holds_alternative<std::monostate>(arg.value)) {
    out += " = ";
    appendScalar(out, arg.value);
  }
}

void appendTargetOf(std::string& out, const InputSpec& spec) {
  if (spec.target) {
    out += ' ';
    appendQuoted(out, *spec.target);
  }
  const std::optional<bool> usual = spec.kind == InputKind::Buffer ? std::optional(true) : std::nullopt;
  if (spec.persistent == usual) return;
  out += !spec.persistent ? " no_persistence" : *spec.persistent ? " persistent" : " non_persistent";
}

void appendTargetOf(std::string& out, const OutputSpec& spec) {
  if (!spec.target) return;
  out += ' ';
  appendQuoted(out, *spec.target);
}

bool isCanonicalInt(std::string_view text) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && at == end && std::to_string(number) == text;
}

namespace {

std::string textOfHint(const SymHint& hint) {
  std::string out;
  if (const auto* number = std::get_if<int64_t>(&hint)) appendRepr(out, *number);
  if (const auto* flag = std::get_if<bool>(&hint)) out += *flag ? "True" : "False";
  if (const auto* real = std::get_if<double>(&hint)) appendFloat(out, *real);
  return out;
}

// Whether a reader that knows nothing of the form makes this of it.
bool isUsualMeaning(const std::string& form, const Symbolic& symbolic) {
  if (!std::holds_alternative<std::monostate>(symbolic.hint)) return false;
  try {
    return expressionOfForm(form).text() == symbolic.expression.text();
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

const std::string& SymbolWriter::formOf(const Symbolic& symbolic) {
  if (auto known = byAddress_.find(&symbolic); known != byAddress_.end()) return known->second;
  const std::string hint = textOfHint(symbolic.hint);
  std::string content = symbolic.expression.text();
  content += '\0';
  content += hint;
  auto known = byContent_.find(content);
  if (known == byContent_.end()) {
    std::string form;
    symbolic.expression.appendPython(form);
    std::string meaning;
    appendQuoted(meaning, symbolic.expression.text());
    if (isPlainExpression(form) && taken_.insert(form).second) {
      if (!isUsualMeaning(form, symbolic)) {
        section_ += "  " + form + " : " + meaning;
        if (!hint.empty()) section_ += " hint " + hint;
        section_ += '\n';
      }
    } else {
      form = "sym(" + meaning + (hint.empty() ? ")" : ", hint " + hint + ")");
    }
    known = byContent_.emplace(std::move(content), std::move(form)).first;
  }
  return byAddress_.emplace(&symbolic, known->second).first->second;
}

void SymbolWriter::append(std::string& out, const SymInt& size) {
  if (size.isSymbolic()) {
    out += formOf(*size.symbolic());
  } else {
    appendRepr(out, size.value());
  }
}

std::string SymbolWriter::takeSection() {
  std::string section = section_.empty() ? std::string() : "symbols {\n" + section_ + "}\n";
  *this = SymbolWriter();
  return section;
}

bool MetaWriter::isShort(const NodeMeta& meta) {
  constexpr size_t kMostEntries = 3, kLongestText = 48;
  if (meta.entries().size() > kMostEntries) return false;
  for (const NodeMeta::Entry& entry : meta.entries()) {
    if (entry.text->size() > kLongestText) return false;
  }
  return true;
}

size_t MetaWriter::textNumber(const SharedText& text) {
  auto [at, isNew] = textByAddress_.try_emplace(text.get(), texts_.size());
  if (!isNew) return at->second;
  auto [same, isNewText] = textByContent_.try_emplace(*text, texts_.size());
  at->second = same->second;
  if (isNewText) texts_.push_back({*text});
  return same->second;
}

size_t MetaWriter::numberOf(const NodeMeta& meta) {
  auto [at, isNew] = blockByAddress_.try_emplace(&meta, 0);
  if (!isNew) return at->second;
  std::vector<Entry> entries;
  std::string content;
  for (const NodeMeta::Entry& entry : meta.entries()) {
    const size_t text = textNumber(entry.text);
    entries.push_back({entry.key, text});
    content += entry.key;
    content += '\0';
    content += std::to_string(text);
    content += '\0';
  }
  auto [same, isNewBlock] = blockByContent_.try_emplace(std::move(content), blocks_.size());
  at->second = same->second;
  if (isNewBlock) {
    for (const Entry& entry : entries) ++texts_[entry.text].uses;
    blocks_.push_back(std::move(entries));
  }
  return same->second;
}

void MetaWriter::appendSection(std::string& out) const {
  if (blocks_.empty()) return;
  constexpr size_t kWorthSharing = 16;
  constexpr size_t kNotYet = std::numeric_limits<size_t>::max();
  std::vector<size_t> shared(texts_.size(), kNotYet);
  size_t numShared = 0;
  const auto isShared = [&](size_t text) {
    return texts_[text].uses > 1 && texts_[text].text.size() > kWorthSharing;
  };
  out += "\nmetadata {\n";
  for (size_t i = 0; i < blocks_.size(); ++i) {
    for (const Entry& entry : blocks_[i]) {
      if (!isShared(entry.text) || shared[entry.text] != kNotYet) continue;
      shared[entry.text] = numShared;
      out += fmt::format("  ${} = ", numShared++);
      appendQuoted(out, texts_[entry.text].text);
      out += '\n';
    }
    out += fmt::format("  !{} = {{", i);
    bool isFirst = true;
    for (const Entry& entry : blocks_[i]) {
      if (!isFirst) out += ", ";
      isFirst = false;
      appendKey(out, entry.key);
      out += " = ";
      const std::string_view text = texts_[entry.text].text;
      if (isShared(entry.text)) {
        out += fmt::format("${}", shared[entry.text]);
      } else if (isCanonicalInt(text)) {
        out += text;
      } else {
        appendQuoted(out, text);
      }
    }
    out += "}\n";
  }
  out += "}\n";
}

}  // namespace edgefx::detail
