#include "meter/uncertainty.h"

#include <algorithm>
#include <cmath>

namespace perjoule {
namespace {

/// Relative standard uncertainty of a power that was read once or twice around a window shorter
/// than a tick.
constexpr double kShortWindowPowerSpread = 0.15;

/// Mean power when no gauge says more: what the counter's own difference gives over at least a
/// tick.
Watts fallback_power(const SourceInfo& info, const WindowFacts& facts) {
  const Seconds over = std::max(facts.duration, info.tick);
  return over.value() > 0 ? facts.difference / over : Watts(0);
}

/// What one end of a window does to a counter's difference.
struct EndEffect {
  Joules taken_off;
  double variance = 0;  ///< J^2
  Seconds over;         ///< time whose energy the difference may hold though it is not the window's
  Seconds under;        ///< and that it may lack though it is
};

/// `stale` is +1 at the beginning, where an old value makes the difference too large, and -1 at the
/// end.
EndEffect end_effect(const SourceInfo& info, const std::optional<AlignedEdge>& aligned, Watts power,
                     Seconds slip, double stale) {
  const auto square = [](Joules joules) { return joules.value() * joules.value(); };
  if (aligned) {
    return {aligned->power * aligned->slip,
            square(aligned->power * aligned->gap) / 12.0 + square(aligned->spread * aligned->slip),
            aligned->gap + aligned->slip,
            {}};
  }
  // The value is of some moment within the call, which is at most twice as long as the slip.
  return {stale * power * info.tick / 2.0 + power * slip,
          square(power * info.tick) / 12.0 + square(power * slip) / 3.0,
          (stale > 0 ? info.tick : Seconds(0)) + 2.0 * slip, stale > 0 ? Seconds(0) : info.tick};
}

void estimate_counter(const SourceInfo& info, const WindowFacts& facts, EnergyEstimate& out) {
  const Watts mean = fallback_power(info, facts);
  const Watts pa = facts.power_begin.value_or(mean);
  const Watts pb = facts.power_end.value_or(mean);
  const bool gauged = facts.power_begin && facts.power_end;
  const bool aligned = facts.aligned_begin && facts.aligned_end;
  const EndEffect begin = end_effect(info, facts.aligned_begin, pa, facts.early, 1);
  const EndEffect end = end_effect(info, facts.aligned_end, pb, facts.late, -1);

  if (gauged && !aligned && facts.duration < info.tick) {
    // All or nothing: the counter says less than the gauges do.
    const Watts middle = (pa + pb) / 2.0;
    const Watts spread = Watts(std::hypot(abs(pa - pb).value() / std::sqrt(12.0),
                                          kShortWindowPowerSpread * middle.value()));
    out.joules = middle * facts.duration;
    out.budget.edge = spread * facts.duration;
  } else {
    out.joules = facts.difference - begin.taken_off - end.taken_off;
    // A difference cannot be negative; the correction must not make it so.
    out.joules = std::max(out.joules, Joules(0));
    out.budget.edge = Joules(std::sqrt(begin.variance + end.variance));
  }
  if (facts.difference.value() == 0 && !gauged && !aligned) {
    // Nothing tells what was drawn since the last tick: anything that the device can draw.
    const Seconds unseen = std::min(facts.duration, info.tick);
    out.budget.edge = info.max_power * unseen / std::sqrt(3.0);
  }
  // Nothing bounds the power in the unseen part of a tick but the device itself: a gauge's value is
  // as old as the counter's, and the load may have jumped since.
  out.lower = std::max(Joules(0), facts.difference - info.max_power * (begin.over + end.over));
  out.upper = facts.difference + info.max_power * (begin.under + end.under);
}

void estimate_gauge(const SourceInfo& info, const WindowFacts& facts, EnergyEstimate& out) {
  const double unseen = std::clamp(1.0 - info.coverage, 0.0, 1.0);
  const double n = std::max(1, facts.samples);
  out.budget.coverage =
      Joules(facts.duration.value() * facts.spread.value() * std::sqrt(unseen / n));
  // The sampled powers are those of a tick ago at each end: one tick of the change between them.
  const Watts pa = facts.power_begin.value_or(facts.lowest);
  const Watts pb = facts.power_end.value_or(facts.highest);
  out.joules = std::max(Joules(0), facts.difference - pa * facts.early - pb * facts.late);
  const Seconds lag = std::max(info.tick, info.averaging);
  out.budget.edge = Joules(
      lag.value() * std::hypot(abs(pa - pb).value() / 2.0, facts.spread.value() / std::sqrt(2.0)));
  const Watts mean = facts.duration.value() > 0 ? out.joules / facts.duration : Watts(0);
  const Watts reach = std::max(facts.highest - mean, mean - facts.lowest);
  const Joules slip =
      reach * std::min(facts.duration, Seconds(unseen * facts.duration.value() + 2 * lag.value()));
  out.lower = std::max(Joules(0), out.joules - slip);
  out.upper = out.joules + slip;
}

}  // namespace

EnergyEstimate estimate_energy(const SourceInfo& info, const WindowFacts& facts) {
  EnergyEstimate out;
  if (info.kind == SourceKind::kEnergyCounter) {
    estimate_counter(info, facts, out);
    out.budget.quantum = Joules(info.quantum / std::sqrt(6.0));
  } else {
    estimate_gauge(info, facts, out);
    out.budget.quantum = Joules(info.quantum * facts.duration.value() /
                                std::sqrt(12.0 * std::max(1, facts.samples)));
  }
  out.budget.gain = info.gain / std::sqrt(3.0) * abs(out.joules);
  out.budget.offset = info.offset * facts.duration / std::sqrt(3.0);
  if (facts.gap.value() > 0) {
    out.budget.gap = facts.gap * (facts.highest - facts.lowest) / std::sqrt(12.0);
    out.lower = std::max(Joules(0), out.lower - facts.gap * facts.highest);
    out.upper += facts.gap * info.max_power;
  }
  return out;
}

Energy to_energy(const SourceInfo& info, const EnergyEstimate& estimate) {
  const UncertaintyBudget& b = estimate.budget;
  Energy energy;
  energy.joules = estimate.joules;
  double variance = 0;
  for (const Joules part : {b.edge, b.quantum, b.coverage, b.gap, b.baseline, b.attribution}) {
    variance += part.value() * part.value();
  }
  energy.random = Joules(std::sqrt(variance));
  const std::string sensor = info.device + "/" + info.scope;
  if (b.gain.value() > 0) {
    const char* suffix = info.status == Status::kEstimated ? kModelErrorSuffix : "/gain";
    energy.systematic.push_back({sensor + suffix, b.gain});
  }
  if (b.offset.value() > 0) energy.systematic.push_back({sensor + "/offset", b.offset});
  energy.lower = estimate.lower;
  energy.upper = estimate.upper;
  energy.source = info.id;
  energy.boundary = info.boundary;
  energy.status = info.status;
  return energy;
}

}  // namespace perjoule
