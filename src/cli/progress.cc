#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli/table.h"

namespace perjoule::cli {
namespace {

constexpr int kWidth = 20;

int percent_of(double share) { return static_cast<int>(100 * std::clamp(share, 0.0, 1.0)); }

}  // namespace

std::string progress_line(double share, const std::string& what) {
  const auto filled = static_cast<std::size_t>(percent_of(share) * kWidth / 100);
  return fmt::format("[{}{}] {:3} %  {}", std::string(filled, '#'),
                     std::string(kWidth - filled, '.'), percent_of(share), what);
}

Progress::Progress() : live_(error_is_terminal()) {}

Progress::~Progress() {
  if (live_ && percent_ >= 0) fmt::print(stderr, "\r\033[K");
}

void Progress::show(double share, const std::string& what) {
  if (!live_ || (percent_of(share) == percent_ && what == what_)) return;
  percent_ = percent_of(share);
  what_ = what;
  fmt::print(stderr, "\r\033[K{}", progress_line(share, what));
  std::fflush(stderr);
}

}  // namespace perjoule::cli
