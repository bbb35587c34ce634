#pragma once

#include <edgefx/serialization/pt2.h>

#include <string>
#include <string_view>

namespace edgefx::tools {

// As loadArchive and loadProgram, but the file may also be a text of programs (text/program_text.h): its
// beginning says which it is. Methods of a text are models.
Archive readArchive(const std::string& file, const LoadOptions& options = {});
ExportedProgram readProgram(const std::string& file, std::string_view model = {},
                            const LoadOptions& options = {});

// All bytes of a file. Throws ParseError naming it.
std::string readWholeFile(const std::string& file);

// The text of these models, of which bytes longer than that are elided.
std::string archiveText(const Archive& archive, size_t mostBytes);

// Replaces the file by this text when all is written. Throws Error naming the file.
void writeTextFile(const std::string& file, std::string_view text);
// The same, but appends the text to `out` if `file` is empty.
void putText(const std::string& file, std::string_view text, std::string& out);

}  // namespace edgefx::tools
