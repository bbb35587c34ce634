#pragma once

#include <edgefx/backend/backend_details.h>
#include <edgefx/backend/op_backend.h>
#include <edgefx/partition/partitioner.h>
#include <edgefx/run/interpreter.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace edgefx {

// Operator backends, delegate backends and partitioners by name, passed to whoever looks them up: there is no
// global one. The three have a space of names each. Everything throws UsageError for null, an empty name, or
// a name that is taken, and for a look-up of a name that is not registered, listing those that are.
class BackendRegistry {
 public:
  void add(std::unique_ptr<OpBackend> backend) { opBackends_.add(std::move(backend)); }
  void add(std::unique_ptr<BackendDetails> backend) { delegateBackends_.add(std::move(backend)); }
  void add(std::unique_ptr<Partitioner> partitioner) { partitioners_.add(std::move(partitioner)); }
  // Takes over everything of `other`. Nothing has changed if it throws.
  void addAll(BackendRegistry other);

  const OpBackend& opBackend(std::string_view name) const { return opBackends_.get(name); }
  const BackendDetails& delegateBackend(std::string_view id) const { return delegateBackends_.get(id); }
  const Partitioner& partitioner(std::string_view name) const { return partitioners_.get(name); }
  // Null if there is none.
  const OpBackend* findOpBackend(std::string_view name) const { return opBackends_.find(name); }
  const BackendDetails* findDelegateBackend(std::string_view id) const { return delegateBackends_.find(id); }
  const Partitioner* findPartitioner(std::string_view name) const { return partitioners_.find(name); }

  // In order of registration.
  std::vector<std::string> opBackendNames() const { return opBackends_.names(); }
  std::vector<std::string> delegateBackendNames() const { return delegateBackends_.names(); }
  std::vector<std::string> partitionerNames() const { return partitioners_.names(); }

 private:
  template <typename T>
  class Named {
   public:
    void add(std::unique_ptr<T> item);
    void addAll(Named other);
    const T* find(std::string_view name) const;
    const T& get(std::string_view name) const;
    std::vector<std::string> names() const;
    void checkAddable(const T* item) const;

    std::vector<std::unique_ptr<T>> items;
  };

  Named<OpBackend> opBackends_;
  Named<BackendDetails> delegateBackends_;
  Named<Partitioner> partitioners_;
};

// Has each delegate run by its backend, for RunOptions; delegates of backends that are not registered, or do
// not run them, run their own program. `registry` must outlive it.
DelegateRunner delegateRunner(const BackendRegistry& registry);

}  // namespace edgefx
