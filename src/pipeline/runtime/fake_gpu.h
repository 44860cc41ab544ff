// For tests: a GPU whose energy is what the test says it draws, on a clock moved by hand, while a
// real sampler looks at its counter from a thread of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "device/device.h"
#include "pipeline/runtime/fake_knob.h"

namespace perjoule {

/// A clock that moves only when told to, and may be looked at from any thread.
class HandClock final : public Clock {
 public:
  Instant now() const noexcept override { return Instant{ns_.load()}; }
  Instant since_boot() const noexcept override { return now(); }
  std::int64_t unix_ns() const noexcept override { return now().ns; }
  void sleep_until(Instant /*when*/) const override {}
  void advance(Seconds by) { ns_ += static_cast<std::int64_t>(by.value() * 1e9); }
  Seconds time() const { return Seconds(static_cast<double>(now().ns) * 1e-9); }

 private:
  std::atomic<std::int64_t> ns_ = 5'000'000'000;
};

/// A counter of 32 bits that starts again soon after it was made.
class FakeCounter final : public Source {
 public:
  FakeCounter(const std::string& device, const HandClock& clock) : clock_(clock) {
    info_.id = device + "/energy";
    info_.device = device;
    info_.scope = "board";
    info_.status = Status::kSimulated;
    info_.tick = Seconds(0.004);
    info_.quantum = 1e-6;
    info_.modulus_micro = std::uint64_t{1} << 32U;
  }
  const SourceInfo& info() const noexcept override { return info_; }
  Reading read() noexcept override {
    const std::lock_guard lock(mutex_);
    last_read_ = clock_.time();
    changed_.notify_all();
    const auto drawn = static_cast<std::uint64_t>(drawn_until(last_read_).value() * 1e6);
    return {ErrorCode::kOk, (kStart + drawn) % info_.modulus_micro};
  }

  /// From now on it draws that much.
  void draw(Watts power) {
    const std::lock_guard lock(mutex_);
    courses_.push_back({clock_.time(), power});
  }
  /// Since it was made.
  Joules drawn(Seconds until) const {
    const std::lock_guard lock(mutex_);
    return drawn_until(until);
  }
  /// Until somebody has looked at it at that moment or later: false where nobody does.
  bool wait_for_look(Seconds at) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [&] { return last_read_ >= at; });
  }

 private:
  static constexpr std::uint64_t kStart = (std::uint64_t{1} << 32U) - 5'000'000;

  Joules drawn_until(Seconds until) const {
    Joules sum;
    for (std::size_t i = 0; i < courses_.size() && courses_[i].from < until; ++i) {
      const Seconds end = i + 1 < courses_.size() ? courses_[i + 1].from : until;
      sum += courses_[i].power * (std::min(end, until) - courses_[i].from);
    }
    return sum;
  }

  SourceInfo info_;
  const HandClock& clock_;
  struct Course {
    Seconds from;
    Watts power;
  };
  mutable std::mutex mutex_;  ///< guards all below
  std::condition_variable changed_;
  Seconds last_read_;
  std::vector<Course> courses_;
};

class FakeGpu final : public Device {
 public:
  FakeGpu(const std::string& id, HandClock& clock, DeviceKind kind = DeviceKind::kGpu)
      : counter(id, clock), knob(id) {
    info_.id = id;
    info_.kind = kind;
    info_.name = "fake";
    info_.vendor = "nobody";
  }
  const DeviceInfo& info() const override { return info_; }
  std::vector<Source*> sources() override { return {&counter}; }
  std::vector<Knob*> knobs() override { return {&knob}; }

  FakeCounter counter;
  FakeKnob knob;

 private:
  DeviceInfo info_;
};

}  // namespace perjoule
