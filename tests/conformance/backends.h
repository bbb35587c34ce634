#pragma once

#include <edgefx/backend/op_backend.h>

#include <memory>

// Operator backends without a kernel library behind them. All but the last do what their counterparts in
// Python do, so that the programs they return can be compared text by text.
namespace edgefx::conformance {

// Calls "op_backend_test.X.default" for the edge operators "aten.X.default" of one argument, in every graph.
std::unique_ptr<OpBackend> makeRetarget();

// Multiplies the result of every relu of the top level by a new persistent buffer, "op_backend_scale".
std::unique_ptr<OpBackend> makeAddconst();

// Calls "cortex_m.X.default" for the edge operators "quantized_decomposed.X.default", where X quantizes or
// dequantizes a tensor to int8 or int16 within that type's range, in every graph.
std::unique_ptr<OpBackend> makeQdq();

// Drops every result of the graph but not of the signature, which edgefx must refuse.
std::unique_ptr<OpBackend> makeBroken();

}  // namespace edgefx::conformance
