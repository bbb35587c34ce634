#pragma once

#include <edgefx/backend/backend_registry.h>
#include <edgefx/manager/constant_value.h>
#include <edgefx/manager/etrecord.h>
#include <edgefx/passes/pass_manager.h>
#include <edgefx/program/compile_config.h>
#include <edgefx/program/exported_program.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace edgefx {

// The programs of a model by method, with what holds for all of them. Immutable: every lowering gives a new
// manager and leaves this one as it was, also when it throws. Copies are cheap and share the programs.
class EdgeProgramManager {
 public:
  using Methods = std::vector<std::pair<std::string, ExportedProgram>>;

  // Methods keep their order. Throws UsageError if two methods or constant methods have one name or an empty
  // one, or a program is not valid.
  explicit EdgeProgramManager(Methods methods, EdgeCompileConfig config = {},
                              ConstantMethods constantMethods = {},
                              std::shared_ptr<const EtRecord> etRecord = nullptr);
  // One method called "forward".
  explicit EdgeProgramManager(ExportedProgram program, EdgeCompileConfig config = {},
                              ConstantMethods constantMethods = {},
                              std::shared_ptr<const EtRecord> etRecord = nullptr);

  // Names of the methods, in order.
  std::vector<std::string> methods() const;
  // Throws UsageError listing the methods if there is none of that name.
  const ExportedProgram& exportedProgram(std::string_view method = "forward") const;
  const ConstantMethods& constantMethods() const { return constantMethods_; }
  const EdgeCompileConfig& compileConfig() const { return config_; }
  const std::shared_ptr<const EtRecord>& etRecord() const { return etRecord_; }

  // Runs passes on every method, in order, as PassManager::run does it. Methods that the passes leave as they
  // are stay the same program; weights are shared. The new manager has the same constant methods, record and
  // compile config, or the config given. Throws as PassManager::run, naming the method; nothing has changed
  // then. No passes change nothing.
  EdgeProgramManager transform(const PassManager& passes, std::optional<EdgeCompileConfig> config = {}) const;
  EdgeProgramManager transform(const std::vector<PassRef>& passes,
                               std::optional<EdgeCompileConfig> config = {}) const;

  // The same for the methods named, each with its passes, in the order of this manager; the others stay the
  // same program. Naming none changes nothing. Throws UsageError for unknown methods, for a method named
  // twice and for null passes.
  using PassesOfMethod = std::vector<std::pair<std::string, std::vector<PassRef>>>;
  EdgeProgramManager transform(const PassesOfMethod& passes,
                               std::optional<EdgeCompileConfig> config = {}) const;

  // Lowers every method, in order, with one backend (experimental, see OpBackend). Each is lowered as
  // lowerProgram does it. The new manager has the same constant methods, record and compile config, but for
  // IR validity, which is switched off: a backend's own operators are in no dialect's list. Throws as
  // lowerProgram; nothing has changed then.
  EdgeProgramManager toOpBackend(const OpBackend& backend) const;

  // Lowers the methods named, each with its backend, in the order of this manager; the others stay the same
  // program. Throws UsageError for unknown methods, for a method named twice and for null backends.
  using BackendOfMethod = std::vector<std::pair<std::string, const OpBackend*>>;
  EdgeProgramManager toOpBackend(const BackendOfMethod& backends) const;

  // Lowers what the partitioner tags in every method into delegates of the registry's backends, as toBackend
  // of backend/to_backend.h does: each backend sees the partitions of all methods at once. The new manager
  // has the same constant methods, record and compile config, but for IR validity. Throws as toBackend;
  // nothing has changed then.
  EdgeProgramManager toBackend(const Partitioner& partitioner, const BackendRegistry& registry) const;

  // The same for the methods named; the others stay the same program. Throws UsageError for unknown methods,
  // for a method named twice and for null partitioners.
  using PartitionerOfMethod = std::vector<std::pair<std::string, const Partitioner*>>;
  EdgeProgramManager toBackend(const PartitionerOfMethod& partitioners,
                               const BackendRegistry& registry) const;

 private:
  template <typename T>
  using OfMethod = std::vector<std::pair<std::string, const T*>>;
  template <typename T>
  OfMethod<T> forEveryMethod(const T& what) const;
  template <typename T>
  void checkMethods(const OfMethod<T>& what, std::string_view kind) const;

  struct Method {
    std::string name;
    std::shared_ptr<const ExportedProgram> program;
  };

  EdgeProgramManager() = default;

  std::vector<Method> methods_;
  EdgeCompileConfig config_;
  ConstantMethods constantMethods_;
  std::shared_ptr<const EtRecord> etRecord_;
};

}  // namespace edgefx
