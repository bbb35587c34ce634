#pragma once

#include <edgefx/program/exported_program.h>
#include <edgefx/program/tensor_table.h>

#include <string>
#include <string_view>

namespace edgefx::test {

// "<label> name name ...": the keys of a table in order, with a line end.
std::string keysLine(std::string_view label, const TensorTable& table);

// The two lines of a program in a fixture's states.txt: keys of the state dict, keys of the constants.
std::string stateText(const ExportedProgram& program);

// What a fixture's *.lowered.txt says of each delegate: top level first, then those of nested graph modules
// depth first, in graph order.
//
//   # lowered <dotted path>
//   backend_id: <id>
//   compile_spec: <key> <value in hex>        one line each
//   state_dict: <keys>
//   constants: <keys>
//   <graph text with nested modules>
//   # signature
//   <signature text>
//   # processed_bytes <count> same            "differ" if the payload is not the graph text above
std::string loweredText(const ExportedProgram& program);

}  // namespace edgefx::test
