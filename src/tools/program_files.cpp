#include "tools/program_files.h"

#include <edgefx/program/check_program.h>
#include <edgefx/support/error.h>
#include <edgefx/text/program_text.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

namespace edgefx::tools {

namespace fs = std::filesystem;

namespace {

template <typename E>
[[noreturn]] void failForFile(const std::string& file, std::string message) {
  Diagnostic diagnostic(std::move(message));
  diagnostic.file = file;
  throw E(std::move(diagnostic));
}

// Enough for comments before the first words.
bool isTextFile(const std::string& file) {
  constexpr size_t kLookedAt = 4096;
  std::string head(kLookedAt, '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.read(head.data(), kLookedAt);
  head.resize(static_cast<size_t>(std::max<std::streamsize>(stream.gcount(), 0)));
  return isProgramText(head);
}

Archive readTextArchive(const std::string& file, const LoadOptions& options) {
  Archive archive;
  for (NamedProgram& method : parsePrograms(readWholeFile(file), file)) {
    archive.models.push_back({std::move(method.name), std::move(method.program)});
  }
  if (!options.verify) return archive;
  for (const Archive::Model& model : archive.models) {
    std::vector<Diagnostic> violations = checkProgram(model.program);
    std::ranges::move(checkDelegates(model.program), std::back_inserter(violations));
    if (violations.empty()) continue;
    for (Diagnostic& violation : violations) {
      violation.file = file;
      violation.method = model.name;
    }
    throw VerificationError(std::move(violations));
  }
  return archive;
}

}  // namespace

std::string readWholeFile(const std::string& file) {
  std::error_code code;
  if (!std::filesystem::is_regular_file(file, code))
    failForFile<ParseError>(file, "is no file that can be read");
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream content;
  content << stream.rdbuf();
  std::string bytes = std::move(content).str();
  // Inserting nothing sets failbit, too.
  if (!stream || (!content && !bytes.empty())) failForFile<ParseError>(file, "cannot be read");
  return bytes;
}

Archive readArchive(const std::string& file, const LoadOptions& options) {
  return isTextFile(file) ? readTextArchive(file, options) : loadArchive(file, options);
}

ExportedProgram readProgram(const std::string& file, std::string_view model, const LoadOptions& options) {
  if (!isTextFile(file)) return loadProgram(file, model, options);
  Archive archive = readTextArchive(file, options);
  if (model.empty() && archive.models.size() == 1) return std::move(archive.models.front().program);
  return std::move(archive.program(model.empty() ? "model" : model));
}

std::string archiveText(const Archive& archive, size_t mostBytes) {
  std::vector<NamedProgramRef> methods;
  for (const Archive::Model& model : archive.models) methods.push_back({model.name, &model.program});
  return programText(methods, {.mostBytes = mostBytes});
}

void writeTextFile(const std::string& file, std::string_view text) {
  std::error_code code;
  const fs::file_status status = fs::status(file, code);
  if (fs::exists(status) && !fs::is_regular_file(status)) {  // a pipe, say: nothing to be replaced
    std::ofstream stream(file, std::ios::binary);
    stream.write(text.data(), static_cast<std::streamsize>(text.size()));
    stream.close();
    if (!stream) failForFile<Error>(file, std::string("cannot be written: ") + std::strerror(errno));
    return;
  }
  // Beside the file itself, whatever links lead to it, so that it can be renamed.
  const fs::path target = fs::exists(status) ? fs::canonical(file, code) : fs::path(file);
  const std::string temporary = target.string() + ".edgefx-tmp" + std::to_string(::getpid());
  std::ofstream stream(temporary, std::ios::binary | std::ios::trunc);
  stream.write(text.data(), static_cast<std::streamsize>(text.size()));
  stream.close();
  if (stream) fs::rename(temporary, target, code);
  if (stream && !code) return;
  const std::string reason = code ? code.message() : std::strerror(errno);
  std::filesystem::remove(temporary, code);
  failForFile<Error>(file, "cannot be written: " + reason);
}

void putText(const std::string& file, std::string_view text, std::string& out) {
  if (file.empty()) {
    out += text;
  } else {
    writeTextFile(file, text);
  }
}

}  // namespace edgefx::tools
