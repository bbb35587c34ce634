#include "serialization/zip_format.h"

#include <algorithm>

namespace edgefx::detail::zip {

std::string_view nameFault(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.front() == '/') return "is absolute";
  if (name.find('\0') != std::string_view::npos) return "holds a NUL";
  if (name.find('\\') != std::string_view::npos) return "holds a backslash";
  for (size_t start = 0; start <= name.size();) {
    const size_t end = std::min(name.find('/', start), name.size());
    if (name.substr(start, end - start) == "..") return "holds a '..' component";
    start = end + 1;
  }
  return {};
}

}  // namespace edgefx::detail::zip
