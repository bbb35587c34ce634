#pragma once

#include <edgefx/program/exported_program.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Programs as text that can be read back: for looking at them, for tests, and for writing small ones by hand.
//
//   edgefx text 1
//
//   method "forward"(
//     %p_w : f32[4, 4] parameter "w",
//     %x : f32[1, 4]
//   ):
//     %linear = aten.linear.default(%x, %p_w) : f32[1, 4]
//     %gelu = aten.gelu.default(%linear, approximate = "none") : f32[1, 4] {debug_handle = 3}
//     return (%gelu)
//
//   state_dict {
//     "w" = parameter f32[4, 4] base64 "AAAA..."
//   }
//
// Blanks and line ends separate and mean nothing else; a comment goes from # to the end of the line. The
// grammar, where [x] may be left out, x* is repeated, and x,* is repeated with commas between:
//
//   text      = "edgefx" "text" "1" (symbols | method | lowered)* [metadata]
//   method    = "method" KEY graph section*
//   lowered   = "lowered" INT "backend" STRING graph section*     a delegate; they are numbered from 0
//   graph     = "(" placeholder,* ")" ":" statement*
//   placeholder = NODE [":" value] [spec] rest
//   statement = NODE "=" call [":" value] rest
//             | NODE "=" "placeholder" [":" value] [spec] rest    one that does not come first
//             | "return" argument [":" value] rest
//   call      = TARGET arguments | "get_attr" STRING | "call_module" STRING arguments
//   arguments = "(" (argument | KEY "=" argument),* ")"
//   rest      = ["!" INT] ["{" (KEY "=" (STRING | INT)),* "}"]
//
//   NODE      %name or %"any text"
//   TARGET    aten.add.Tensor, edge.aten.add.Tensor (the edge operator), higher_order.cond, operator.getitem,
//             torch.sym_max, or any target's FX text in quotes
//   KEY       a word of letters, digits and '_', or a STRING
//   STRING    "...", with \n \t \r \\ \" \xHH; other bytes stand for themselves
//
//   argument  = None | True | False | 5 | 1.5 | -0.0 | inf | nan | "text" | NODE | [a, b] | (a, b) | (a,)
//             | () | {"key": a} | slice(a, b, c) | range(a, b, c) | ... | complex(1.0, 2.0) | f32 | strided
//             | channels_last | device("cuda:0") | sym(2*s0) | aten.add.Tensor | op("FX text")
//   A word before the bracket of a list says what kind of list files have for it if the items do not:
//   tensors[], optional_tensors[...], nested_tensors, ints, sym_ints, int_lists, floats, sym_floats,
//   float_lists, bools, sym_bools, strings.
//
//   value     = DTYPE "[" size,* "]" ["<" (strides [1, 4] | offset 2 | device "cuda:0" | layout sparse_coo |
//               grad),* ">"]
//             | SymInt(size) | SymFloat(number) | SymBool(condition) | Token | Object("class")
//             | Constant(5) | None | (value, value) | [value, value]; in these, ? is a value not known
//   DTYPE     f16 f32 f64 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool c32 c64 c128 f8e4m3fn f8e5m2 f8e4m3fnuz
//             f8e5m2fnuz f8e8m0fnu
//   size      a number, an expression in Python's form, or sym("sympy's form", hint 3)
//   symbols   = "symbols" "{" (expression ":" STRING ["hint" number])* "}"
//   gives expressions of sizes, up to the next such section, sympy's form and the value at export; a symbol
//   that is not there is a positive integer.
//
//   spec      = [INPUT_KIND] [STRING] [persistent | non_persistent | no_persistence] ["as" spec_arg]
//   INPUT_KIND, in the method's graph: user_input (if nothing is written), parameter, buffer (persistent if
//   nothing is written), constant_tensor, custom_obj, token; the STRING is the target. Items of the returned
//   tuple are followed by [OUTPUT_KIND [STRING]] ["as" spec_arg] in the same way: user_output (if nothing is
//   written), loss_output, buffer_mutation, parameter_mutation, gradient_to_parameter,
//   gradient_to_user_input, user_input_mutation, token.
//
//   spec_arg  = (tensor | sym_int | sym_float | sym_bool | token | object | constant) STRING
//               ["class" STRING] ["=" constant]    what the node is and its name, if the graph says otherwise
//   constant  = None | True | False | a number | STRING
//
//   Keys of `rest` with a meaning of their own: target (of a placeholder, if not its name), args (of nodes
//   that have none else), name (of the output node), tag (the delegation tag). All others are metadata.
//
//   section   = "submodule" PATH graph        a nested graph module; PATH is a STRING with dots
//             | "delegate" PATH "=" INT ["effect"]                the lowered module that hangs there
//             | "module_metadata" PATH "{" (KEY "=" STRING)* "}"
//             | "ranges" "{" (KEY "in" "[" min "," max "]")* "}"  None for no bound
//             | "state_dict" "{" tensor* "}" | "constants" "{" tensor* "}"
//             | "settings" "{" (KEY "=" setting)* "}"
//             | "signature" "{" ("input" spec | "output" OUTPUT_KIND [STRING] "as" spec_arg)* "}"
//               in the place of what stands beside the nodes, where it does not fit to them
//             | "module_calls" "{" (STRING ["=" "{" call_part* "}"])* "}"
//             | ("named_tuples" | "argument_names") "{" (STRING "=" strings)* "}"
//             | "unknown_members" "{" (STRING "=" STRING)* "}" | "example_inputs" data
//   of a lowered module also
//             | "payload" data | "compile_specs" "{" (STRING "=" STRING)* "}"
//             | "debug_handles" "{" ((INT | STRING) "=" ints)* "}"
//             | "named_data" "{" (STRING "=" ["alignment" INT] ["tag" STRING] data)* "}"
//   setting   is one of dialect = aten | edge | training, verifiers = strings, schema = [8, 20],
//             torch = "2.14.1", opset = {"aten": 10}, guards = strings
//   call_part is one of inputs = [spec_arg,*], outputs = [spec_arg,*], in_spec = STRING, out_spec = STRING,
//             names = strings
//   strings   = "[" STRING,* "]", and ints likewise
//   tensor    = STRING "=" ["parameter"] ["raw"] value ["@" INT] [data]
//             | STRING "=" ["parameter"] "opaque" STRING [":" value] data
//   data      = "[" number,* "]"       the elements, of a contiguous tensor
//             | "base64" STRING*       the bytes of the storage
//             | "elided" INT           that many bytes that were left out
//   "@" INT marks storages that several tensors share; the first has the data.
//
//   metadata  = "metadata" "{" (block | "$" INT "=" STRING)* "}"
//   block     = "!" INT "=" "{" (KEY "=" (STRING | INT | "$" INT)),* "}"
//   are metadata that nodes refer to by !INT, and texts that several blocks have.
namespace edgefx {

struct ProgramTextOptions {
  // Storages, payloads and other bytes longer than this are elided.
  size_t mostBytes = size_t{1} << 20;
};

struct ParseTextOptions {
  // Elided bytes are an error unless they may become zeros (tensors, payloads, named data, opaque records) or
  // nothing (example inputs), as long as there are not more than `mostZeros` of them.
  bool elidedAreZeros = false;
  size_t mostZeros = size_t{1} << 32;
};

// The program as text, ending with a line end. Reading it gives an equal program (findContentDifference), and
// printing that gives the same text, unless bytes were elided. Nothing is written of the order of users, of
// names of erased nodes, and of hints of lists that do not change what files have. Throws VerificationError
// for a graph that uses nodes that do not come before, or that has two nodes of one name; UnsupportedError
// for what the text has no form for, such as arguments nested deeper than 64 levels. Linear.
std::string programText(const ExportedProgram& program, const ProgramTextOptions& options = {});

// Reads the text of one method. Throws ParseError for all that is no such text, or is no graph: the message
// begins with "file:line:column: ", says what was expected, and shows the line. Whether signature, tables and
// values agree is for checkProgram to say. Memory and time are linear in the text, save for zeros.
ExportedProgram parseProgram(std::string_view text, std::string_view fileName = "text",
                             const ParseTextOptions& options = {});

// The same for several methods by name, which may share storages and delegates.
struct NamedProgram {
  std::string name;
  ExportedProgram program;
};
struct NamedProgramRef {
  std::string_view name;
  const ExportedProgram* program;
};
std::string programText(std::span<const NamedProgramRef> methods, const ProgramTextOptions& options = {});
// Throws ParseError, too, if two methods have one name.
std::vector<NamedProgram> parsePrograms(std::string_view text, std::string_view fileName = "text",
                                        const ParseTextOptions& options = {});

// Whether this is the text of programs, by its first words.
bool isProgramText(std::string_view text);

}  // namespace edgefx
