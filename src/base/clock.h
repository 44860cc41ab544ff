// Time comes from a Clock that is passed in, so that tests and simulations own it; nothing outside
// base asks the system for the time.
#pragma once

#include <compare>
#include <cstdint>

#include "base/units.h"

namespace perjoule {

/// A moment on a clock's monotonic axis, in nanoseconds; only differences mean something.
struct Instant {
  std::int64_t ns = 0;

  constexpr auto operator<=>(const Instant&) const = default;
  friend constexpr Seconds operator-(Instant a, Instant b) {
    return Seconds(static_cast<double>(a.ns - b.ns) * 1e-9);
  }
  friend constexpr Instant operator+(Instant a, Seconds s) {
    return Instant{a.ns + static_cast<std::int64_t>(s.value() * 1e9)};
  }
};

class Clock {
 public:
  virtual ~Clock() = default;
  /// CLOCK_MONOTONIC: does not advance while the machine is suspended.
  virtual Instant now() const noexcept = 0;
  /// CLOCK_BOOTTIME: advances through suspend; now() falling behind it means the machine slept.
  virtual Instant since_boot() const noexcept = 0;
  /// Unix time in nanoseconds, for stamps that leave the machine.
  virtual std::int64_t unix_ns() const noexcept = 0;
  /// Returns at `when` or soon after. Waiting changes nothing of the clock.
  virtual void sleep_until(Instant when) const = 0;
};

/// The system's clocks.
class RealClock final : public Clock {
 public:
  Instant now() const noexcept override;
  Instant since_boot() const noexcept override;
  std::int64_t unix_ns() const noexcept override;
  void sleep_until(Instant when) const override;
};

/// A clock that moves only when told to: sleeping advances it at once.
class VirtualClock final : public Clock {
 public:
  explicit VirtualClock(Instant start = {}, std::int64_t unix_start_ns = 1'700'000'000'000'000'000);
  Instant now() const noexcept override { return now_; }
  Instant since_boot() const noexcept override { return Instant{now_.ns + suspended_ns_}; }
  std::int64_t unix_ns() const noexcept override {
    return unix_start_ns_ + now_.ns + suspended_ns_;
  }
  void sleep_until(Instant when) const override;

  void advance(Seconds by) { now_ = now_ + by; }
  /// Lets the machine sleep: boot and wall time go on, the monotonic clock does not.
  void suspend(Seconds by) { suspended_ns_ += static_cast<std::int64_t>(by.value() * 1e9); }

 private:
  mutable Instant now_;  ///< time passes for those who only look at the clock, too
  std::int64_t unix_start_ns_;
  std::int64_t suspended_ns_ = 0;
};

}  // namespace perjoule
