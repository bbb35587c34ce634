#pragma once

#include <edgefx/program/compile_config.h>
#include <edgefx/program/exported_program.h>

namespace edgefx {

// Brings a functional program of Core ATen operators to edge dialect, nested graphs included:
// - views become their copies, "aten.view_copy.default";
// - numbers in the place of tensors become stored tensors ("_lifted_tensor_constant0", a buffer before the
//   user inputs), in nested graphs calls of aten.full, and symbolic numbers calls of aten.scalar_tensor;
// - operands of arithmetic get one dtype by casts;
// - checks of tensor metadata, casts and slices that change nothing, empty operands of cat, dead calls and
//   unused parameters go;
// - unless config.skipDimOrder, copies name the order of dimensions instead of a memory format:
//   dim_order_ops._to_dim_order_copy, _clone_dim_order, _empty_dim_order; an order that is no memory format's
//   is not preserved;
// - operators become edge operators, and nodes get the names of a trace (see renameAsTraced).
//
// Values are described anew where a copy is laid out otherwise than the view was; metadata stays, nodes that
// are made for another have its metadata, and every call and get_attr node has a debug handle. Operators that
// are not of Core ATen stay as they are: checkDialect finds them. Casting a number to the dtype of a
// 16-bit float operand rounds it, as in exir. O(nodes).
//
// Throws UnsupportedError for as_strided of a view; UsageError if config.preserveOps names a view, or the
// program was moved from; what inferValue throws for arguments that do not fit; VerificationError if inputs
// or results and their specs differ in number.
ExportedProgram toEdgeDialect(ExportedProgram program, const EdgeCompileConfig& config = {});

}  // namespace edgefx
