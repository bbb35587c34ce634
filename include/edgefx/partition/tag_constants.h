#pragma once

#include <edgefx/partition/tags.h>
#include <edgefx/program/exported_program.h>

// Which placeholders move into delegates. Both functions come after the calls of the top level were tagged;
// user inputs are never tagged.
namespace edgefx {

// Tags the parameters, buffers and lifted constants that tagged calls of the top level read. Where readers
// have several tags it is the smallest one as text, the other delegates get a placeholder of their own.
// Whatever the program writes, or returns the gradient of, keeps its tag or none: see tagMutatedBuffers.
// O(nodes + uses + specs).
void tagConstantData(const ExportedProgram& program, Tags& tags);

// Tags the buffers that the program writes, in place too, if all that concerns a buffer has one tag: every
// reader, and the call that makes its new value, however far from the readers that is. Such a buffer belongs
// to the delegate alone. Others stay in the program, for a copy would miss the writes, and tags.reasonOf says
// why. O(nodes + uses + specs).
void tagMutatedBuffers(const ExportedProgram& program, Tags& tags);

// Gives `tag` to parameters, buffers and constants that nobody reads or writes, so that they do not stay
// behind alone. O(nodes + specs).
void tagUnusedConstants(const ExportedProgram& program, Tags& tags, std::string_view tag);

}  // namespace edgefx
