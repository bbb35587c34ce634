#pragma once

#include <edgefx/ir/shape_inference.h>
#include <edgefx/program/exported_program.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace edgefx {

// A backend that lowers by rewriting operators in place: for kernel libraries whose operators run beside
// others, rather than in a delegate. Experimental: the interface may change; the first use of each subclass
// says so through the warning handler.
class OpBackend {
 public:
  virtual ~OpBackend() = default;

  // Names the backend in messages, registries and on the command line. Must not change.
  virtual std::string_view name() const = 0;

  // Rewrites one method's program and returns it. `program` is a private copy: change it as you like. Its
  // tensors share their storage with the caller's, so put new tensors in its tables rather than writing into
  // old ones. The result must agree with its own signature (see checkProgram), operators of any kind are
  // welcome. What it throws reaches the caller, with backend and method attached.
  virtual ExportedProgram lower(ExportedProgram program, std::string_view methodName) const = 0;

  // Adds what is known of the values of the backend's own operators, so that checkShapes can tell whether the
  // lowered program describes them truly. Nothing unless overridden.
  virtual void addShapeRules(ShapeRules& rules) const;
};

}  // namespace edgefx
