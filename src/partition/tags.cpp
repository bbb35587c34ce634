#include <edgefx/partition/partitioner.h>
#include <edgefx/partition/tags.h>

#include "support/fail.h"

namespace edgefx {

using detail::fail;

namespace {

uint32_t numberOf(std::string_view text, std::vector<std::string>& texts,
                  std::map<std::string, uint32_t, std::less<>>& numbers) {
  auto found = numbers.lower_bound(text);
  if (found == numbers.end() || found->first != text) {
    texts.emplace_back(text);
    found = numbers.emplace_hint(found, text, static_cast<uint32_t>(texts.size()));
  }
  return found->second;
}

}  // namespace

Tags::Entry& Tags::entry(const Node& node) {
  auto found = graphs_.find(&node.graph());
  if (found == graphs_.end()) found = graphs_.emplace(&node.graph(), NodeMap<Entry>(node.graph())).first;
  return found->second[node];
}

const Tags::Entry* Tags::find(const Node& node) const {
  auto found = graphs_.find(&node.graph());
  return found == graphs_.end() ? nullptr : &found->second[node];
}

void Tags::tag(const Node& node, std::string_view tag) {
  if (tag.empty()) fail<UsageError>("expected a tag for node '%{}', found an empty text", node.name());
  // Nodes come with the tag of the node before more often than not.
  if (lastTag_ == 0 || tags_[lastTag_ - 1] != tag) lastTag_ = numberOf(tag, tags_, numbers_);
  entry(node).tag = lastTag_;
}

void Tags::untag(const Node& node) {
  if (isTagged(node)) entry(node).tag = 0;
}

std::optional<uint32_t> Tags::indexOf(const Node& node) const {
  const Entry* found = find(node);
  if (found == nullptr || found->tag == 0) return std::nullopt;
  return found->tag - 1;
}

std::string_view Tags::tagOf(const Node& node) const {
  const std::optional<uint32_t> index = indexOf(node);
  return index ? std::string_view(tags_[*index]) : std::string_view();
}

void Tags::setNoCopy(const Node& placeholder) {
  entry(placeholder).noCopy = true;
}

bool Tags::isNoCopy(const Node& placeholder) const {
  const Entry* found = find(placeholder);
  return found != nullptr && found->noCopy;
}

void Tags::reject(const Node& node, std::string reason) {
  Entry& at = entry(node);
  if (at.reason == 0) at.reason = numberOf(reason, reasons_, reasonNumbers_);
}

std::string_view Tags::reasonOf(const Node& node) const {
  const Entry* found = find(node);
  return found == nullptr || found->reason == 0 ? std::string_view()
                                                : std::string_view(reasons_[found->reason - 1]);
}

void PartitionResult::addSpec(std::string_view tag, DelegationSpec spec) {
  if (tag.empty()) fail<UsageError>("expected a tag with a delegation spec, found an empty text");
  if (!specTags_.emplace(tag).second) fail<UsageError>("tag '{}' has a delegation spec already", tag);
  specs_.emplace_back(tag, std::move(spec));
}

}  // namespace edgefx
