#pragma once

#include <edgefx/program/lowered_module.h>

#include <cstdint>
#include <string_view>

// Programs with delegates, made by hand.
namespace edgefx::test {

// A delegate around `program` with every field filled in; the payload and one compile spec are no text.
LoweredModule sampleLowered(ExportedProgram program, std::string_view backend = "sample");

// Hangs the delegate into `owner` and appends its get_attr node and a call. The value is a list, as
// ExecuTorch has it, unless `isTuple`.
Node& callDelegate(GraphModule& owner, std::string_view name, LoweredModuleRef module, Args args,
                   std::vector<ValueRef> results, bool isTuple = false);
// A getitem node at the insertion point.
Node& getitem(Node& call, int64_t index);

// x is scaled by the outer program, then goes through the delegate "lowered_module_0", whose program shares
// "weight" with the outer one and owns "bias"; of the delegate's two results one is used. Edge dialect.
ExportedProgram loweredProgram();

// Delegates in both branches of a cond, one of them shared with the top level, where it is called twice; the
// program of another has a cond of its own and a delegate inside that. ATen dialect.
ExportedProgram branchedLoweredProgram();

// Programs with delegates at every place, equal for equal seeds.
ExportedProgram randomLoweredProgram(uint64_t seed);

}  // namespace edgefx::test
