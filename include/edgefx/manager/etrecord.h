#pragma once

#include <edgefx/program/exported_program.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace edgefx {

// What debugging tools need later: programs as they were at named stages. Managers carry one along by handle.
class EtRecord {
 public:
  struct Entry {
    std::string stage;
    std::string method;
    std::shared_ptr<const ExportedProgram> program;
  };

  // Keeps a copy of the program. Throws UsageError if that stage of that method is recorded already.
  void record(std::string_view stage, std::string_view method, const ExportedProgram& program);
  // Null if it was not recorded.
  const ExportedProgram* find(std::string_view stage, std::string_view method) const;
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

}  // namespace edgefx
