#include <edgefx/serialization/payloads.h>

#include "serialization/program_records.h"
#include "support/fail.h"

#include <fstream>
#include <system_error>

namespace edgefx {

using detail::fail;

namespace {

void listPayloads(const ExportedProgram& program, std::string_view method, const std::string& above,
                  size_t depth, std::vector<DelegatePayload>& into) {
  for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
    for (const GraphModule::Delegate& delegate : nested.module->delegates()) {
      if (depth > detail::kDeepestDelegate)
        fail<UnsupportedError>("delegates nested deeper than {} levels", detail::kDeepestDelegate);
      std::string path = above;
      if (!nested.path.empty()) path += nested.path + ".";
      path += delegate.name;
      into.push_back({std::string(method), path, delegate.module.get()});
      listPayloads(delegate.module->program, method, path + ".", depth + 1, into);
    }
  }
}

std::string escaped(std::string_view text, bool keepsDots) {
  std::string escaped;
  for (char c : text) {
    const bool isPlain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                         c == '_' || c == '-' || (c == '.' && keepsDots);
    if (isPlain) {
      escaped += c;
    } else {
      escaped += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return escaped;
}

void writePayload(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (file) return;
  Diagnostic diagnostic("cannot write the payload");
  diagnostic.file = path.string();
  throw Error(std::move(diagnostic));
}

}  // namespace

std::vector<DelegatePayload> delegatePayloads(const ExportedProgram& program, std::string_view method) {
  std::vector<DelegatePayload> payloads;
  listPayloads(program, method, "", 1, payloads);
  return payloads;
}

std::string payloadFileName(const DelegatePayload& payload) {
  return fmt::format("{}.{}.bin", escaped(payload.method, false), escaped(payload.path, true));
}

std::vector<std::filesystem::path> exportPayloads(const Archive& archive,
                                                  const std::filesystem::path& folder) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) {
    Diagnostic diagnostic(fmt::format("cannot make the folder: {}", code.message()));
    diagnostic.file = folder.string();
    throw Error(std::move(diagnostic));
  }
  std::vector<std::filesystem::path> written;
  for (const Archive::Model& model : archive.models) {
    for (const DelegatePayload& payload : delegatePayloads(model.program, model.name)) {
      written.push_back(folder / payloadFileName(payload));
      writePayload(written.back(), payload.module->processedBytes.text());
    }
  }
  return written;
}

}  // namespace edgefx
