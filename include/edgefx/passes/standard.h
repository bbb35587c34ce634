#pragma once

#include <edgefx/passes/pass.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Passes that keep what a program computes, each for both dialects, nested graphs included. Each is linear in
// nodes, uses and specs, and changes nothing when it is run again.
namespace edgefx {

// "common-subexpressions": of equal calls of pure operators the first stays. Values that something writes in
// place, and results that would become one, are left alone.
PassRef commonSubexpressionsPass();

struct ConstantPropagation {
  bool foldsParameters = true;                    // whether parameters count as constants
  size_t mostBytes = size_t{16} << 20;            // of one result
  size_t mostBytesInAll = size_t{1} << 30;        // of all results that are kept at once
  std::vector<std::string> keep = defaultKeep();  // calls that stay: operators ("aten.full") or namespaces

  // Operators that fill a tensor with one number, and those of quantization.
  static std::vector<std::string> defaultKeep();
};
// "constant-propagation": calls of pure operators on constants, buffers and parameters that nothing writes,
// and on literals, are computed; what others need of it becomes a constant input. Top level only. Results of
// the program stay calls, so that callers get memory of their own. What cannot run here stays.
PassRef constantPropagationPass(ConstantPropagation options = {});

// "dead-code": calls without users and effect go (see ir/dead_code.h).
PassRef deadCodePass();

// "debug-handles": every call and get_attr without a debug handle gets one: that of a node that comes from
// the same node of the export, if there is one, else the next number. Graphs are numbered breadth first.
PassRef debugHandlesPass();

// "fold-dequantize-quantize": a dequantize followed by a quantize with the same parameters goes, where it
// gives back the very numbers: no quantize followed by a dequantize.
PassRef foldDequantizeQuantizePass();

// "fuse-views": a view of a view, and a permutation of a permutation, is one of the first one's input.
PassRef fuseViewsPass();

// "lift-attributes": get_attr nodes that name an entry of the state dict or constants become inputs. Of
// nested graphs the entry's name is looked for under the graph's path, then by itself.
PassRef liftAttributesPass();

// "no-ops": calls go that give their input: copies, casts, views and permutations to what it is already, and
// dropout that is switched off. Nothing that is written in place comes to share memory that it did not share,
// and no result that of an input or another result.
PassRef noOpsPass();

// "unused-inputs": parameters, buffers and constants that nothing reads or writes go, with their tensors, but
// for those that share memory with what is written.
PassRef unusedInputsPass();

// The names above, sorted.
std::vector<std::string> standardPassNames();
// The pass of that name with its usual options. Throws UsageError listing the names if there is none.
PassRef makePass(std::string_view name);

}  // namespace edgefx
