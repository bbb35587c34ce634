#include <edgefx/backend/backend_registry.h>

#include "support/fail.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace edgefx {

using detail::fail;

namespace {

template <typename T>
constexpr std::string_view kindOf();
template <>
constexpr std::string_view kindOf<OpBackend>() {
  return "an operator backend";
}
template <>
constexpr std::string_view kindOf<BackendDetails>() {
  return "a delegate backend";
}
template <>
constexpr std::string_view kindOf<Partitioner>() {
  return "a partitioner";
}

}  // namespace

template <typename T>
void BackendRegistry::Named<T>::checkAddable(const T* item) const {
  if (item == nullptr) fail<UsageError>("expected {}, found null", kindOf<T>());
  if (item->name().empty()) fail<UsageError>("{} needs a name, found an empty one", kindOf<T>());
  if (find(item->name()) != nullptr) {
    fail<UsageError>("{} called '{}' is registered already", kindOf<T>(), item->name());
  }
}

template <typename T>
void BackendRegistry::Named<T>::add(std::unique_ptr<T> item) {
  checkAddable(item.get());
  items.push_back(std::move(item));
}

template <typename T>
void BackendRegistry::Named<T>::addAll(Named other) {
  std::move(other.items.begin(), other.items.end(), std::back_inserter(items));
}

template <typename T>
const T* BackendRegistry::Named<T>::find(std::string_view name) const {
  auto found =
      std::find_if(items.begin(), items.end(), [&](const auto& item) { return item->name() == name; });
  return found == items.end() ? nullptr : found->get();
}

template <typename T>
const T& BackendRegistry::Named<T>::get(std::string_view name) const {
  if (const T* found = find(name)) return *found;
  const std::string_view kind = kindOf<T>().substr(kindOf<T>().find(' ') + 1);
  if (items.empty()) fail<UsageError>("there is no {} '{}': none is registered", kind, name);
  fail<UsageError>("there is no {} '{}'; registered are '{}'", kind, name, fmt::join(names(), "', '"));
}

template <typename T>
std::vector<std::string> BackendRegistry::Named<T>::names() const {
  std::vector<std::string> names;
  names.reserve(items.size());
  for (const auto& item : items) names.emplace_back(item->name());
  return names;
}

template class BackendRegistry::Named<OpBackend>;
template class BackendRegistry::Named<BackendDetails>;
template class BackendRegistry::Named<Partitioner>;

void BackendRegistry::addAll(BackendRegistry other) {
  for (const auto& item : other.opBackends_.items) opBackends_.checkAddable(item.get());
  for (const auto& item : other.delegateBackends_.items) delegateBackends_.checkAddable(item.get());
  for (const auto& item : other.partitioners_.items) partitioners_.checkAddable(item.get());
  opBackends_.addAll(std::move(other.opBackends_));
  delegateBackends_.addAll(std::move(other.delegateBackends_));
  partitioners_.addAll(std::move(other.partitioners_));
}

}  // namespace edgefx
