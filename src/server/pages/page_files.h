// What web/dist holds, compiled in.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/embedded_file.h"

namespace perjoule {

/// "index.html", "assets/index-D0.js"; none where there is no such file.
std::optional<std::string_view> page_file(std::string_view name);

/// By the name's ending; "application/octet-stream" for others than those that pages have.
std::string page_type(std::string_view name);

}  // namespace perjoule
