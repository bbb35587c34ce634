#include "serialization/json_pieces.h"

#include "serialization/json_document.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace edgefx::detail {
namespace {

// What a parser needs for a piece fits in the second level cache.
constexpr size_t kPiece = size_t{1} << 16;
constexpr size_t kWorthCutting = 4 * kPiece;
constexpr size_t kNowhere = std::string_view::npos;
constexpr std::string_view kSeparator = ", ";

// std::string_view::find looks at every occurrence of the first byte, and brackets are many.
size_t findText(std::string_view text, std::string_view wanted, size_t from) {
  if (from >= text.size()) return kNowhere;
  const void* found = ::memmem(text.data() + from, text.size() - from, wanted.data(), wanted.size());
  return found == nullptr ? kNowhere : static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

size_t findLast(std::string_view text, std::string_view wanted) {
  const std::boyer_moore_horspool_searcher searcher(wanted.rbegin(), wanted.rend());
  const auto found = std::search(text.rbegin(), text.rend(), searcher);
  if (found == text.rend()) return kNowhere;
  return text.size() - wanted.size() - static_cast<size_t>(found - text.rbegin());
}

// Follows the brackets of a JSON text, in and out.
class BracketScan {
 public:
  // Takes the next character; whether it closes a bracket.
  bool closesAt(char c) {
    if (inString_) {
      if (isEscaped_) {
        isEscaped_ = false;
      } else {
        isEscaped_ = c == '\\';
        inString_ = c != '"';
      }
      return false;
    }
    inString_ = c == '"';
    if (c == '[' || c == '{') ++depth_;
    if (c != ']' && c != '}') return false;
    --depth_;
    return true;
  }
  int64_t depth() const { return depth_; }

 private:
  int64_t depth_ = 0;
  bool inString_ = false, isEscaped_ = false;
};

// Whether all brackets that the text opens are closed in it, and no others.
bool isBalanced(std::string_view text) {
  BracketScan scan;
  for (char c : text) {
    if (scan.closesAt(c) && scan.depth() < 0) return false;
  }
  return scan.depth() == 0;
}

}  // namespace

JsonPieces::JsonPieces(Kind kind, std::string_view body, std::string_view first) : kind_(kind), body_(body) {
  mark_ = std::string(kind == Kind::Items ? "}, {\"" : "\": {\"") + std::string(first) + "\": ";
}

// In JSON, a quote before which a bracket and after which a word stands begins a string. So a mark that is
// found lies between values, if not always between those of the outermost level: the parser sees that.
size_t JsonPieces::findEnd(size_t from) const {
  const size_t mark = findText(body_, mark_, from);
  if (mark == kNowhere) return body_.size();
  if (kind_ == Kind::Items) return mark + 1;
  // The member's name begins before the mark.
  constexpr std::string_view kBefore = "}, \"";
  const size_t name = body_.rfind('"', mark - 1);
  const size_t end = name + 1 - kBefore.size();
  const bool isFound = name != kNowhere && name >= from && body_.substr(end).starts_with(kBefore);
  return isFound ? end + 1 : scanEnd(from);
}

// The same, slowly and exactly.
size_t JsonPieces::scanEnd(size_t from) const {
  BracketScan scan;
  for (size_t i = at_; i < body_.size(); ++i) {
    if (scan.closesAt(body_[i]) && scan.depth() == 0 && i >= from &&
        body_.substr(i + 1).starts_with(kSeparator))
      return i + 1;
  }
  return body_.size();
}

bool JsonPieces::parse(std::string_view text) {
  const bool isList = kind_ == Kind::Items;
  buffer_.reserve(text.size() + 2 + simdjson::SIMDJSON_PADDING);
  buffer_ = isList ? '[' : '{';
  buffer_ += text;
  buffer_ += isList ? ']' : '}';
  const size_t size = buffer_.size();
  buffer_.append(simdjson::SIMDJSON_PADDING, ' ');
  // As deep as it could be in the whole text, but for the brackets around.
  if (parser_.max_depth() != JsonDocument::kDeepest - 3 &&
      parser_.allocate(kPiece, JsonDocument::kDeepest - 3) != simdjson::SUCCESS) {
    return false;
  }
  return parser_.parse(reinterpret_cast<const uint8_t*>(buffer_.data()), size, false).get(root_) ==
         simdjson::SUCCESS;
}

std::optional<JsonValue> JsonPieces::next() {
  if (at_ == body_.size()) return std::nullopt;
  const bool isLast = body_.size() - at_ <= kPiece;
  size_t end = isLast ? body_.size() : findEnd(at_ + kPiece);
  if (!parse(body_.substr(at_, end - at_))) {
    if (isLast) throw NotInPieces();
    end = scanEnd(at_ + kPiece);
    if (!parse(body_.substr(at_, end - at_))) throw NotInPieces();
  }
  lastSize_ = end - at_;
  at_ = end == body_.size() ? end : end + kSeparator.size();
  return root_;
}

std::optional<CutProgram> cutProgram(std::string_view text) {
  constexpr std::string_view kHead = R"({"graph_module": {"graph": {"inputs": [)";
  constexpr std::string_view kNodes = R"(], "nodes": [{"target": )";
  constexpr std::string_view kTensors = R"(}], "tensor_values": {")";
  constexpr std::string_view kAfter = R"(}, "sym_int_values": {)";
  if (text.size() < kWorthCutting || !text.starts_with(kHead)) return std::nullopt;
  const size_t nodes = findText(text, kNodes, kHead.size() - 1);
  if (nodes == kNowhere) return std::nullopt;
  // Whether the member belongs to the top graph, for which the text before it is short.
  constexpr std::string_view kOpen = R"({"graph_module": {"graph": {)";
  if (!isBalanced(text.substr(kOpen.size(), nodes + 1 - kOpen.size()))) return std::nullopt;

  const size_t firstNode = nodes + std::string_view(R"(], "nodes": [)").size();
  const std::string_view after = text.substr(firstNode);
  // The top graph's members come after those of the graphs in its nodes.
  const size_t end = findLast(after, kAfter);
  if (end == kNowhere) return std::nullopt;
  const size_t tensors = findLast(after.substr(0, end), kTensors);
  if (tensors == kNowhere) return std::nullopt;
  const size_t firstTensor = tensors + kTensors.size() - 1;

  std::string rest;
  rest.reserve(firstNode + after.size() - end + kTensors.size());
  rest += text.substr(0, firstNode);
  rest += after.substr(tensors + 1, kTensors.size() - 2);
  rest += after.substr(end);
  return CutProgram{
      std::move(rest), JsonPieces(JsonPieces::Kind::Items, after.substr(0, tensors + 1), "target"),
      JsonPieces(JsonPieces::Kind::Members, after.substr(firstTensor, end - firstTensor), "dtype")};
}

}  // namespace edgefx::detail
