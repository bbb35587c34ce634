#pragma once

#include <edgefx/program/exported_program.h>

namespace edgefx {

// Makes a program functional: what it writes into its buffers, parameters and inputs in place becomes results
// that its signature declares as mutations, and operators that write become those that return what would be
// written, nested graphs included. A view through which something is written is copied back into what it
// shows (select_scatter, slice_scatter, ...), and views of what was written are taken anew. Operators of
// other libraries that write are called through higher_order.auto_functionalized_v2, as PyTorch calls them;
// trained batch norms become aten._native_batch_norm_legit_functional.
//
// What nobody can see of writes goes, as does everything else without users. A program in which nothing is
// written stays as it is, but for its dialect and verifiers. O(nodes + nodes made); a deep view that is
// written often makes many.
//
// Two user inputs are taken to be two tensors, and buffers to share memory where their stored tensors do.
//
// Throws UnsupportedError naming node and operator: for writes to constants whose own value is used, through
// views that show an element twice, of operators without functional form, into memory of which it is not
// known who else holds it, in graphs whose callers take no further results, and if it came to more than a
// hundred nodes for each. Throws UsageError if the program was moved from.
ExportedProgram functionalize(ExportedProgram program);

}  // namespace edgefx
