#include "base/clock.h"

#include <cerrno>
#include <ctime>

namespace perjoule {
namespace {
std::int64_t read_clock(clockid_t id) noexcept {
  timespec time{};
  clock_gettime(id, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}
}  // namespace

Instant RealClock::now() const noexcept { return Instant{read_clock(CLOCK_MONOTONIC)}; }
Instant RealClock::since_boot() const noexcept { return Instant{read_clock(CLOCK_BOOTTIME)}; }
std::int64_t RealClock::unix_ns() const noexcept { return read_clock(CLOCK_REALTIME); }

void RealClock::sleep_until(Instant when) const {
  timespec time{static_cast<time_t>(when.ns / 1'000'000'000),
                static_cast<long>(when.ns % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == EINTR) {
  }
}

VirtualClock::VirtualClock(Instant start, std::int64_t unix_start_ns)
    : now_(start), unix_start_ns_(unix_start_ns) {}

void VirtualClock::sleep_until(Instant when) const {
  if (when > now_) now_ = when;
}

}  // namespace perjoule
