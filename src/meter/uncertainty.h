// How well the energy of one window is known: the arithmetic of docs/uncertainty.md.
//
// All parts are one sigma and are added in quadrature; printed intervals are two sigma (k=2).
//   edge      a counter's value is as old as its last tick: at each end up to one tick of power is
//   missing or
//             too much. Uniform in the tick: U sqrt((Pa^2 + Pb^2)/12), and the mean (Pa - Pb) U/2
//             is taken off. Below one tick the counter moves by all or nothing and the boundary
//             powers decide instead. Aligned to ticks: P gap/sqrt(12) and the spread of the power
//             between the window's end and the tick beside it; see tick_watch.h.
//   quantum   q/sqrt(6)
//   gain      g E/sqrt(3), offset o T/sqrt(3): the same in every window of the sensor, so they
//   cancel in A/B coverage  a sensor that looks at a share c of the time: T s sqrt((1-c)/n) gap
//   time not sampled: gap (Pmax - Pmin)/sqrt(12) baseline  T u(idle power); attribution: see
//   attribution.h
#pragma once

#include <optional>

#include "base/energy.h"
#include "device/source.h"

namespace perjoule {

/// One sigma each; see above.
struct UncertaintyBudget {
  Joules edge;
  Joules quantum;
  Joules gain;
  Joules offset;
  Joules coverage;
  Joules gap;
  Joules baseline;
  Joules attribution;
};

/// One end of a window, where the counter was seen to tick beside it: before its beginning, or
/// after its end.
struct AlignedEdge {
  Seconds gap;   ///< between the two polls that saw the tick
  Seconds slip;  ///< between the tick and the window's end: counted, but not the window's
  Watts power;   ///< meanwhile: the mean over the tick outside the window
  Watts spread;  ///< of that power, one sigma
};
/// Relative standard uncertainty of a power taken to be the same a tick later, gauges apart.
constexpr double kSteadyPowerSpread = 0.01;

/// What was seen of a source during a window.
struct WindowFacts {
  Joules difference;  ///< of the counter, or the integral of the gauge's samples
  Seconds duration;
  std::optional<Watts> power_begin;  ///< boundary powers, from a gauge where there is one
  std::optional<Watts> power_end;
  /// Where an end was aligned to a tick, `difference` goes to that tick.
  std::optional<AlignedEdge> aligned_begin;
  std::optional<AlignedEdge> aligned_end;
  /// The source was read that long before the window began and after it ended: other sources were
  /// read in between, or the call was slow. That energy is not the window's.
  Seconds early;
  Seconds late;
  // Gauges and sampled windows:
  int samples = 0;
  Watts spread;  ///< standard deviation of the samples
  Watts lowest;
  Watts highest;
  Seconds gap;  ///< time that no sample covers
};

struct EnergyEstimate {
  Joules joules;
  UncertaintyBudget budget;
  Joules lower;  ///< hard bounds: physics allows nothing outside, gain and offset apart
  Joules upper;
};

/// The best estimate of the true energy and its budget.
EnergyEstimate estimate_energy(const SourceInfo& info, const WindowFacts& facts);

/// Ends the name of a systematic part that is a model's error, which two windows need not share.
constexpr const char* kModelErrorSuffix = "/model";

/// The estimate as an Energy: random parts in quadrature, gain and offset as systematic parts of
/// the sensor.
Energy to_energy(const SourceInfo& info, const EnergyEstimate& estimate);

}  // namespace perjoule
