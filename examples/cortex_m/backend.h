#pragma once

#include <edgefx/backend/op_backend.h>

#include <string>
#include <string_view>
#include <vector>

namespace cortex_m {

// What a lowering did.
struct Report {
  // An operator of the library, or a view that is one of integers now, and the node of the original whose
  // value it computes: the quantize node at the end of what it replaced.
  struct Layer {
    std::string node;
    std::string op;
    std::string replaced;
  };
  // A call that stays as it was.
  struct Leftover {
    std::string node;
    std::string graph;  // dotted path, empty for the top level
    std::string op;
    std::string source;  // empty if the program does not say
    std::string reason;
  };
  std::vector<Layer> layers;
  std::vector<Leftover> leftovers;
};

// Lowers int8 networks in float clothes (dequantize, operators, quantize) to the integer operators of
// kernels.h: each such island becomes one operator. The backend claims an island whose operator it knows and
// whose operands and result are int8; what does not look so is left over. An island that it claimed and
// cannot express in integers is an error.
class Backend final : public edgefx::OpBackend {
 public:
  // The report, if there is one, is filled anew by each lowering.
  explicit Backend(Report* report = nullptr) : report_(report) {}

  std::string_view name() const override { return "cortex-m"; }
  edgefx::ExportedProgram lower(edgefx::ExportedProgram program, std::string_view methodName) const override;
  void addShapeRules(edgefx::ShapeRules& rules) const override;

 private:
  Report* report_;
};

}  // namespace cortex_m
