// The simulated machine's time as the meter's: sleeping moves it.
#pragma once

#include <cmath>

#include "base/clock.h"
#include "twin/world.h"

namespace perjoule::bench {

class TwinClock final : public Clock {
 public:
  explicit TwinClock(twin::World& world) : world_(world) {}
  Instant now() const noexcept override {
    return Instant{std::llround(world_.now().value() * 1e9)};
  }
  Instant since_boot() const noexcept override { return now(); }
  std::int64_t unix_ns() const noexcept override { return 1'700'000'000'000'000'000 + now().ns; }
  void sleep_until(Instant when) const override {
    const Seconds left = when - now();
    if (left.value() > 0) (void)world_.advance(left);
  }

 private:
  twin::World& world_;
};

}  // namespace perjoule::bench
