#include "server/pages/page_files.h"

#include <array>
#include <utility>

namespace perjoule {

extern const std::span<const EmbeddedFile> kPageFiles;

std::optional<std::string_view> page_file(std::string_view name) {
  for (const EmbeddedFile& file : kPageFiles) {
    if (file.name == name) return file.text();
  }
  return std::nullopt;
}

std::string page_type(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kTypes = {{
      {".html", "text/html; charset=utf-8"},
      {".js", "text/javascript; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".svg", "image/svg+xml"},
  }};
  for (const auto& [ending, type] : kTypes) {
    if (name.ends_with(ending)) return std::string(type);
  }
  return "application/octet-stream";
}

}  // namespace perjoule
