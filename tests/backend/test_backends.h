#pragma once

#include <edgefx/backend/op_backend.h>
#include <edgefx/support/error.h>

#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace edgefx::test {

// A backend that is a function.
class FunctionBackend final : public OpBackend {
 public:
  using Lower = std::function<ExportedProgram(ExportedProgram, std::string_view)>;

  explicit FunctionBackend(Lower lower, std::string name = "npu")
      : lower_(std::move(lower)), name_(std::move(name)) {}

  std::string_view name() const override { return name_; }
  ExportedProgram lower(ExportedProgram program, std::string_view method) const override {
    return lower_(std::move(program), method);
  }

 private:
  Lower lower_;
  std::string name_;
};

// A backend that changes its program in place.
inline FunctionBackend editing(std::function<void(ExportedProgram&)> edit) {
  return FunctionBackend([edit = std::move(edit)](ExportedProgram program, std::string_view) {
    edit(program);
    return program;
  });
}

// Everything that a program holds, as text: graphs, metadata, values, order of users, specs, tables with
// addresses.
std::string snapshot(const ExportedProgram& program);

// The error that `call` throws, which must be an E.
template <typename E, typename Call>
E caught(Call&& call) {
  try {
    call();
  } catch (const E& error) {
    return error;
  } catch (const std::exception& error) {
    return E(Diagnostic(std::string("the test expected another exception than: ") + error.what()));
  }
  return E(Diagnostic("the test expected an exception"));
}

}  // namespace edgefx::test

#define EXPECT_CONTAINS(text, part)                                    \
  EXPECT_NE(std::string_view(text).find(part), std::string_view::npos) \
      << "expected '" << (part) << "' in: " << (text)
