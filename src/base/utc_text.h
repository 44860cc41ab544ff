// Times of day as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace perjoule {

/// "2026-11-29 18:42:16" in UTC.
std::string utc_text(std::int64_t unix_ns);

}  // namespace perjoule
