// Files that are compiled into the program (cmake/embed_folder.cmake).
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace perjoule {

struct EmbeddedFile {
  std::string_view name;  ///< below the folder: "assets/index.js"
  const char* begin = nullptr;
  const char* end = nullptr;
  std::string_view text() const { return {begin, static_cast<std::size_t>(end - begin)}; }
};

}  // namespace perjoule
