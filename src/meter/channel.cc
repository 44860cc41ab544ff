#include "meter/channel.h"

#include <algorithm>
#include <cmath>

namespace perjoule {

Channel::Channel(Source& source, SourceInfo info, Source* gauge, const Clock& clock,
                 std::size_t timeline_capacity)
    : source_(source), info_(std::move(info)), gauge_(gauge), clock_(clock), counter_(info_) {
  if (timeline_capacity > 0) timeline_ = std::make_unique<Timeline>(timeline_capacity);
}

void Channel::take(Reading reading, Instant at) noexcept {
  if (reading.code != ErrorCode::kOk) return;
  if (info().kind == SourceKind::kEnergyCounter) {
    counter_.update(reading.micro, at);
  } else {
    take_gauge(reading.micro, at);
  }
  last_good_ = at;
  if (!first_good_) first_good_ = at;
}

std::uint64_t Channel::corrected_total() const noexcept {
  const std::uint64_t total =
      info_.kind == SourceKind::kEnergyCounter ? counter_.total_micro() : integral_micro_;
  if ((info_.scale == 1 && info_.shift.value() == 0) || !first_good_) return total;
  const double shifted = info_.scale * static_cast<double>(total) +
                         1e6 * (info_.shift * (last_good_ - *first_good_)).value();
  return static_cast<std::uint64_t>(std::max(0.0, shifted));
}

Watts Channel::corrected(std::uint64_t microwatts) const noexcept {
  return info_.scale * Watts(static_cast<double>(microwatts) * 1e-6) + info_.shift;
}

void Channel::take_gauge(std::uint64_t microwatts, Instant at) noexcept {
  if (last_microwatts_) {
    const double ns = static_cast<double>(std::max<std::int64_t>(0, at.ns - last_gauge_at_.ns));
    // Trapezium; uW * ns = 1e-9 uJ.
    const double mean =
        0.5 * (static_cast<double>(*last_microwatts_) + static_cast<double>(microwatts));
    integral_micro_ += static_cast<std::uint64_t>(std::llround(mean * ns * 1e-9));
    const Seconds step(ns * 1e-9);
    if (step > 3.0 * info().tick && info().tick.value() > 0) gap_ += step - info().tick;
  }
  const double watts = corrected(microwatts).value();
  ++samples_;
  power_sum_ += watts;
  power_square_sum_ += watts * watts;
  last_microwatts_ = microwatts;
  last_gauge_at_ = at;
}

Snapshot Channel::snapshot(ErrorCode code, Instant at) const noexcept {
  Snapshot out;
  out.read_at = at;
  const bool counts = info().kind == SourceKind::kEnergyCounter;
  out.total_micro = corrected_total();
  out.code = code;
  out.last_good = last_good_;
  out.last_change = counts ? counter_.last_change() : last_good_;
  out.faults = counter_.faults();
  if (!counts && last_microwatts_) out.power = corrected(*last_microwatts_);
  out.samples = samples_;
  out.power_sum = power_sum_;
  out.power_square_sum = power_square_sum_;
  out.gap = gap_;
  return out;
}

Snapshot Channel::read(bool with_power) noexcept {
  const std::lock_guard lock(mutex_);
  const Instant before = clock_.now();
  const Reading reading = source_.read();
  const Instant after = clock_.now();
  // The value is of some moment during the call; its middle is the best guess.
  const Instant at{before.ns + (after.ns - before.ns) / 2};
  take(reading, at);
  Snapshot out = snapshot(reading.code, at);
  if (with_power && gauge_ != nullptr) {
    const Reading power = gauge_->read();
    if (power.code == ErrorCode::kOk) out.power = corrected(power.micro);
  }
  return out;
}

void Channel::sample() noexcept {
  const std::lock_guard lock(mutex_);
  const Reading reading = source_.read();
  const Instant at = clock_.now();
  take(reading, at);
  if (!timeline_) return;
  if (reading.code == ErrorCode::kOk) {
    timeline_->add(at, corrected_total());
  } else {
    timeline_->note_gap(1);
  }
}

void Channel::note_missed(std::uint32_t ticks) noexcept {
  const std::lock_guard lock(mutex_);
  if (timeline_) timeline_->note_gap(ticks);
}

void Channel::rebase() noexcept {
  const std::lock_guard lock(mutex_);
  counter_.rebase();
  last_microwatts_.reset();
}

std::optional<CounterTrack::Thaw> Channel::thaw_from(Instant from) const noexcept {
  const std::lock_guard lock(mutex_);
  return counter_.thaw_from(from);
}

void Channel::restart_timeline() noexcept {
  const std::lock_guard lock(mutex_);
  if (timeline_) timeline_->clear();
}

std::unique_ptr<Timeline> Channel::timeline() const {
  const std::lock_guard lock(mutex_);
  return timeline_ ? std::make_unique<Timeline>(*timeline_) : nullptr;
}

}  // namespace perjoule
