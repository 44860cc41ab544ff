#include "base/utc_text.h"

#include <ctime>

namespace perjoule {

std::string utc_text(std::int64_t unix_ns) {
  const std::time_t seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  const std::size_t size = std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &parts);
  return std::string(text, size);
}

}  // namespace perjoule
