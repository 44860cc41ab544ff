#include "meter/source_closing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace perjoule {
namespace {

/// A device under power draws at least this share of its greatest power: what a coarse counter's
/// quantum is held against.
constexpr double kLeastPowerShare = 0.005;

/// A counter whose value is older than this stands still, whatever its device draws.
Seconds standstill_of(const SourceInfo& info) {
  const Watts least = kLeastPowerShare * info.max_power;
  const Seconds quantum = least.value() > 0 ? Joules(2 * info.quantum) / least : Seconds(0);
  return std::max({CounterTrack::kStandstillTicks * info.tick, quantum, Seconds(1e-3)});
}

}  // namespace

SourceClosing::SourceClosing(const Channel& channel, const Snapshot& begin, const Snapshot& end,
                             Seconds duration)
    : channel_(channel), begin_(begin), end_(end), duration_(duration) {
  out_.info = channel.info();
}

void SourceClosing::slipped(Seconds early, Seconds late) {
  facts_.early = std::max(early, Seconds(0));
  facts_.late = std::max(late, Seconds(0));
}

void SourceClosing::aligned(std::optional<AlignedEdge> begin, std::optional<AlignedEdge> end) {
  facts_.aligned_begin = begin;
  facts_.aligned_end = end;
  out_.tick_aligned = begin && end;
}

SourceMeasurement SourceClosing::close() {
  facts_.difference = Joules(
      static_cast<double>(static_cast<std::int64_t>(end_.total_micro - begin_.total_micro)) * 1e-6);
  facts_.duration = duration_;
  facts_.power_begin = begin_.power;
  facts_.power_end = end_.power;
  add_sample_statistics();
  EnergyEstimate estimate = estimate_energy(out_.info, facts_);
  const Seconds unseen = note_faults(estimate);
  if (unseen.value() > 0) {
    estimate.upper += unseen * out_.info.max_power;
    // Anything from nothing to the device's greatest power, evenly likely.
    estimate.budget.gap = Joules(std::hypot(
        estimate.budget.gap.value(), (unseen * typical_power(unseen)).value() / std::sqrt(3.0)));
  }
  if (duration_.value() > 0) {
    // A model's own interval stands in place of a sensor's gain error.
    if (const auto interval = channel_.source().interval(estimate.joules / duration_)) {
      estimate.lower = interval->low * duration_;
      estimate.upper = interval->high * duration_;
      estimate.budget.gain = (estimate.upper - estimate.lower) / 4.0;
    }
  }
  out_.budget = estimate.budget;
  out_.energy = to_energy(out_.info, estimate);
  if (missing_) out_.energy.status = Status::kMissing;
  out_.energy.lower_bound = lower_bound_ && !missing_;
  out_.energy.upper_bound = upper_bound_ && !missing_;
  return std::move(out_);
}

void SourceClosing::add_sample_statistics() {
  const std::int64_t n = end_.samples - begin_.samples;
  facts_.samples = static_cast<int>(std::min<std::int64_t>(n, 1'000'000'000));
  facts_.gap = end_.gap - begin_.gap;
  if (out_.info.kind != SourceKind::kPowerGauge || n < 1) return;
  const double count = static_cast<double>(n);
  const double mean = (end_.power_sum - begin_.power_sum) / count;
  const double square = (end_.power_square_sum - begin_.power_square_sum) / count;
  facts_.spread = Watts(std::sqrt(std::max(0.0, square - mean * mean)));
  // Extremes are not kept per window; three standard deviations stand for them.
  facts_.lowest = Watts(std::max(0.0, mean - 3 * facts_.spread.value()));
  facts_.highest = Watts(mean + 3 * facts_.spread.value());
}

Watts SourceClosing::typical_power(Seconds unseen) const {
  Watts power = std::max(begin_.power.value_or(Watts(0)), end_.power.value_or(Watts(0)));
  // Of the time that the difference is of, a tick may be missing.
  const Seconds seen = std::max(duration_ - unseen - out_.info.tick, out_.info.tick);
  if (seen.value() > 0) power = std::max(power, facts_.difference / seen);
  return power;
}

Seconds SourceClosing::note_faults(EnergyEstimate& estimate) {
  Seconds unseen;
  const bool counter = out_.info.kind == SourceKind::kEnergyCounter;
  if (begin_.code != ErrorCode::kOk && end_.code != ErrorCode::kOk &&
      end_.last_good <= begin_.read_at) {
    missing_ = true;
    note(fmt::format("could not be read: {}", name_of(end_.code)));
    return unseen;
  }
  if (end_.code != ErrorCode::kOk) {
    unseen = end_.read_at - std::max(end_.last_good, begin_.read_at);
    estimate.joules = facts_.difference;
    note_bound(fmt::format("lost {} before the end ({})", to_text(unseen, 3), name_of(end_.code)));
  }
  if (begin_.code != ErrorCode::kOk) note_bound("could not be read at the beginning");
  const auto since = [&](auto member) { return end_.faults.*member - begin_.faults.*member; };
  using Faults = CounterTrack::Faults;
  if (const auto n = since(&Faults::wraps); n > 0)
    note(fmt::format("wrapped {} time{}", n, n == 1 ? "" : "s"));
  if (const auto n = since(&Faults::resets); n > 0) note_bound("was reset");
  if (since(&Faults::leaps) > 0)
    note_bound("leapt forward by more than the device can draw, which is left out");
  if (const auto n = since(&Faults::glitches); n > 0)
    note(fmt::format("{} impossible value(s) left out", n));
  if (since(&Faults::blind) > 0) note_bound("unread for so long that it may have wrapped unseen");
  if (counter) note_thaw(estimate);
  if (counter && end_.code == ErrorCode::kOk) unseen += frozen_time();
  return unseen;
}

Seconds SourceClosing::frozen_time() {
  const Seconds still = end_.read_at - std::max(end_.last_change, begin_.read_at);
  if (still <= standstill_of(out_.info)) return Seconds(0);
  // A zone that never counted anything (uncore without graphics) is silent, not frozen: still not
  // zero.
  missing_ = facts_.difference.value() == 0 || end_.last_change <= begin_.read_at;
  const std::string what = fmt::format("did not move for {}", to_text(still, 3));
  if (missing_) {
    note(what + ": no energy is known");
  } else if (still >= std::max(10.0 * out_.info.tick, Seconds(0.5))) {
    note_bound(what);
  } else if (still >= 0.1 * duration_) {
    // A device that ticks late, or a counter that froze: the gap holds both.
    note(what + " at the end");
  }
  return still;
}

void SourceClosing::note_thaw(EnergyEstimate& estimate) {
  const std::uint32_t thaws = end_.faults.thaws - begin_.faults.thaws;
  if (thaws == 0) return;
  const SourceInfo& info = out_.info;
  const auto thaw = channel_.thaw_from(begin_.last_change);
  // The value that the window began with moved on like any other, and the standstills came later:
  // what they held back is the window's own.
  const bool forgotten = thaws >= CounterTrack::kThawsKept;
  if (!thaw && !forgotten) return;
  Joules held = facts_.difference;
  if (thaw) {
    held = std::min(held, info.scale * Joules(static_cast<double>(thaw->micro) * 1e-6));
    if (thaw->alive) {
      const Seconds stale = begin_.read_at - *thaw->alive;
      if (stale <= standstill_of(info)) return;  // it froze within the window
      held = std::min(held, stale * info.max_power);
    }
  }
  // The hard bounds of any window allow for that much.
  if (held <= info.max_power * info.tick + Joules(2 * info.quantum)) return;
  estimate.lower = std::max(Joules(0), estimate.lower - held);
  upper_bound_ = true;
  note(fmt::format(
      "stood still when the window began: up to {} of what it showed later is of the time before: "
      "upper bound",
      to_text(held, 3)));
}

void SourceClosing::note_bound(const std::string& what) {
  lower_bound_ = true;
  note(what + ": lower bound");
}
}  // namespace perjoule
