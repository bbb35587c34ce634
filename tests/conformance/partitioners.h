#pragma once

#include <edgefx/backend/backend_registry.h>

namespace edgefx::conformance {

// Registers partitioners that choose what their counterparts in Python choose, so that the lowered programs
// can be compared text by text, and the delegate backends that they name. The payload of each of these is the
// text of the graph it was given, nested graphs included.
//
//   all, all_no_get_attr    every call in partitions as large as can be; with and without the get_attr nodes
//   tag0, tag0_no_get_attr  one tag on every call
//   addmul                  add, sub, mul, mm and addmm
//   branches                what is in the branches of cond, map_impl and scan
//   two                     runs of three calls, to two backends in turn
//
// Without the get_attr nodes, control flow is separated from its branches, which edgefx must refuse.
void registerPartitioners(BackendRegistry& registry);

}  // namespace edgefx::conformance
