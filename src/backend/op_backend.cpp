#include <edgefx/backend/op_backend.h>

#include "support/fail.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace edgefx {

using detail::fail;

void BackendRegistry::checkAddable(const OpBackend* backend) const {
  if (backend == nullptr) fail<UsageError>("expected an operator backend, found null");
  if (backend->name().empty()) fail<UsageError>("an operator backend needs a name, found an empty one");
  if (find(backend->name()) != nullptr) {
    fail<UsageError>("an operator backend called '{}' is registered already", backend->name());
  }
}

void BackendRegistry::add(std::unique_ptr<OpBackend> backend) {
  checkAddable(backend.get());
  backends_.push_back(std::move(backend));
}

void BackendRegistry::addAll(BackendRegistry other) {
  for (const auto& backend : other.backends_) checkAddable(backend.get());
  backends_.reserve(backends_.size() + other.backends_.size());
  std::move(other.backends_.begin(), other.backends_.end(), std::back_inserter(backends_));
}

const OpBackend* BackendRegistry::find(std::string_view name) const {
  auto found = std::find_if(backends_.begin(), backends_.end(),
                            [&](const auto& backend) { return backend->name() == name; });
  return found == backends_.end() ? nullptr : found->get();
}

const OpBackend& BackendRegistry::backend(std::string_view name) const {
  if (const OpBackend* found = find(name)) return *found;
  if (backends_.empty()) fail<UsageError>("there is no operator backend '{}': none is registered", name);
  fail<UsageError>("there is no operator backend '{}'; registered are '{}'", name,
                   fmt::join(names(), "', '"));
}

std::vector<std::string> BackendRegistry::names() const {
  std::vector<std::string> names;
  names.reserve(backends_.size());
  for (const auto& backend : backends_) names.emplace_back(backend->name());
  return names;
}

}  // namespace edgefx
