#pragma once

#include <edgefx/program/exported_program.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace c10 {
struct IValue;
}

// How nested arguments and results become the flat values of a graph, as torch.utils._pytree does it. A tree
// spec is the JSON text that .pt2 files hold: "[1, {...}]". None is a leaf. An IValue tuple stands for a
// tuple or a named tuple, an IValue list for a list or a deque, an IValue dict for every kind of dict; a
// container of a type that users registered in Python is taken from, and given as, a tuple of its children.
// Include <ATen/core/ivalue.h> to use these.
namespace edgefx {

using NamedValue = std::pair<std::string, c10::IValue>;

// The leaves of `tree` in the spec's order; keys of dicts may come in any order. Throws UsageError, naming
// the place in the tree, if types, keys or counts differ from the spec, ParseError for a malformed spec.
// O(leaves log leaves).
std::vector<c10::IValue> flatten(const c10::IValue& tree, std::string_view treeSpec);

// The tree of these leaves. Throws UsageError if there are more or fewer leaves than the spec has, ParseError
// for a malformed spec, UnsupportedError for a dict with None among its keys. O(leaves).
c10::IValue unflatten(std::vector<c10::IValue> leaves, std::string_view treeSpec);

// The flat user inputs of a call of the program; keyword arguments may come in any order. A program without
// a calling convention takes flat positional arguments only. Errors as of flatten.
std::vector<c10::IValue> flattenInputs(const ExportedProgram& program, const std::vector<c10::IValue>& args,
                                       const std::vector<NamedValue>& kwargs = {});

}  // namespace edgefx
