#include <edgefx/ir/target.h>

#include "ir/snake_case.h"
#include "support/fail.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace edgefx {

using detail::snakeCase;

namespace {

constexpr std::string_view kOpsPrefix = "torch.ops.";
constexpr std::string_view kHigherOrder = "higher_order.";
constexpr std::string_view kEdgePrefix = "executorch.exir.dialects.edge._ops.";
// Roots of dotted paths that are Python functions, not operators written without "torch.ops.".
constexpr std::array<std::string_view, 6> kFunctionRoots = {"operator", "math",       "builtins",
                                                            "torch",    "executorch", "_operator"};

std::vector<std::string_view> components(std::string_view path) {
  std::vector<std::string_view> parts;
  while (true) {
    size_t dot = path.find('.');
    parts.push_back(path.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    path.remove_prefix(dot + 1);
  }
}

bool startsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// Brings every accepted spelling to the one that names the entry: the FX text.
std::string canonicalText(std::string_view name) {
  if (name.empty()) detail::fail<UsageError>("empty operator name");
  for (char c : name) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '\x7f') {
      detail::fail<UsageError>("operator name '{}' holds white space or a control character", name);
    }
  }
  std::vector<std::string_view> parts = components(name);
  for (std::string_view part : parts) {
    if (part.empty()) detail::fail<UsageError>("operator name '{}' has an empty component", name);
  }
  if (startsWith(name, "_operator.")) return std::string(name.substr(1));
  if (startsWith(name, kHigherOrder)) return std::string(kOpsPrefix) + std::string(name);
  bool isFunction = std::find(kFunctionRoots.begin(), kFunctionRoots.end(), parts[0]) != kFunctionRoots.end();
  if (!isFunction && (parts.size() == 3 || parts.size() == 2))
    return std::string(kOpsPrefix) + std::string(name);
  return std::string(name);
}

}  // namespace

const Target::Info* Target::intern(std::string_view fxText) {
  // Leaked on purpose: targets may be used by destructors that run at exit.
  static auto& table = *new std::unordered_map<std::string_view, std::unique_ptr<const Info>>();
  static auto& mutex = *new std::mutex();

  std::lock_guard lock(mutex);
  if (auto found = table.find(fxText); found != table.end()) return found->second.get();

  auto info = std::make_unique<Info>();
  info->fxText = fxText;
  std::string_view name = fxText;
  if (startsWith(fxText, kEdgePrefix)) {
    name.remove_prefix(kEdgePrefix.size());
  } else if (startsWith(fxText, kOpsPrefix)) {
    name.remove_prefix(kOpsPrefix.size());
  }
  std::vector<std::string_view> parts = components(name);
  info->name = name;
  info->fileText = fxText;
  info->argumentText = fxText;
  if (name.size() == fxText.size() || (parts.size() != 2 && parts.size() != 3)) {
    info->kind = TargetKind::Function;
    info->name = fxText;
    if (startsWith(fxText, "operator.")) info->fileText = "_" + std::string(fxText);
    info->nameCandidate = snakeCase(components(fxText).back());
  } else if (startsWith(name, kHigherOrder)) {
    info->kind = TargetKind::HigherOrder;
    info->name = name.substr(kHigherOrder.size());
    info->argumentText = info->name;
    info->nameCandidate = snakeCase(info->name);
  } else {
    info->ns = parts[0];
    info->op = parts[1];
    info->argumentText = name;
    if (parts.size() == 2) {
      info->kind = TargetKind::Packet;
      info->nameCandidate = snakeCase(info->op);
    } else {
      bool isEdge = startsWith(fxText, kEdgePrefix);
      info->kind = isEdge ? TargetKind::EdgeOperator : TargetKind::Operator;
      info->overload = parts[2];
      info->fileText = std::string(kOpsPrefix) + std::string(name);
      info->nameCandidate = snakeCase(isEdge ? name : name.substr(parts[0].size() + 1));
    }
  }
  const Info* result = info.get();
  table.emplace(result->fxText, std::move(info));
  return result;
}

Target::Target(std::string_view name) : info_(intern(canonicalText(name))) {}

Target Target::edge(std::string_view name) {
  Target plain(name);
  if (!plain.isOperator())
    detail::fail<UsageError>("'{}' is no operator name of the form ns.op.overload", name);
  return plain.toEdge();
}

Target Target::toEdge() const {
  if (kind() != TargetKind::Operator) return *this;
  return Target(intern(std::string(kEdgePrefix) + info_->name));
}

Target Target::toAten() const {
  if (kind() != TargetKind::EdgeOperator) return *this;
  return Target(intern(info_->fileText));
}

}  // namespace edgefx
