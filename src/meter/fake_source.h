// For tests: a source on a virtual clock whose true power is a function of time, seen through a
// tick, a modulus and faults to order.
#pragma once

#include <cmath>
#include <functional>

#include "base/clock.h"
#include "device/source.h"

namespace perjoule {

class FakeSource final : public Source {
 public:
  using PowerOfTime = std::function<double(double)>;

  FakeSource(SourceInfo info, VirtualClock& clock, PowerOfTime watts)
      : info_(std::move(info)), clock_(clock), watts_(std::move(watts)) {}

  const SourceInfo& info() const noexcept override { return info_; }
  Reading read() noexcept override {
    ++reads;
    if (code != ErrorCode::kOk) return {code, 0};
    const double now = static_cast<double>(clock_.now().ns) * 1e-9;
    const double tick = info_.tick.value();
    const double seen =
        frozen_at >= 0 ? frozen_at : (tick > 0 ? std::floor(now / tick + 1e-9) * tick : now);
    if (info_.kind == SourceKind::kPowerGauge)
      return {ErrorCode::kOk, static_cast<std::uint64_t>(watts_(seen) * 1e6)};
    auto micro = static_cast<std::uint64_t>(start_micro + energy(seen) * 1e6);
    if (info_.modulus_micro != 0) micro %= info_.modulus_micro;
    return {ErrorCode::kOk, micro};
  }
  double busy() noexcept override { return busy_share; }

  /// Exact joules from time 0, by Simpson's rule on a fine grid.
  double energy(double until) const {
    constexpr int kPieces = 2000;
    const double h = until / kPieces;
    double sum = 0;
    for (int i = 0; i < kPieces; ++i) {
      sum += (watts_(i * h) + 4 * watts_((i + 0.5) * h) + watts_((i + 1) * h)) * h / 6;
    }
    return sum;
  }

  ErrorCode code = ErrorCode::kOk;
  double frozen_at = -1;
  double start_micro = 0;
  double busy_share = -1;
  int reads = 0;

 private:
  SourceInfo info_;
  VirtualClock& clock_;
  PowerOfTime watts_;
};

inline SourceInfo fake_counter(const std::string& id, double tick) {
  SourceInfo info;
  info.id = id;
  info.device = id;
  info.backend = "fake";
  info.scope = "board";
  info.tick = Seconds(tick);
  info.quantum = 1e-3;
  info.max_power = Watts(1400);
  return info;
}

}  // namespace perjoule
