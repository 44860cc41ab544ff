// The power that several sources draw together, in even steps since a moment that is chosen again
// and again: what a rhythm is looked for in (math/rhythm.h).
//
// A counter changes at its own ticks. Read once a tick, it shows now none and now two of them,
// which is a rhythm of the reading and not of the device; so it is read several times a tick
// (SamplePace::kSeesTicks), and only the moments at which it had changed are kept. Between two of
// these its energy grows evenly.
#pragma once

#include <vector>

#include "meter/meter.h"

namespace perjoule {

/// Power in even steps.
struct EvenPower {
  Instant begin;
  Seconds step;
  std::vector<float> watts;  ///< the mean of each step
};

/// What sources draw together, from the first moment on that all of them have told until the last;
/// empty where one told none. O(samples + steps).
EvenPower even_power(const std::vector<const Timeline*>& sources, Seconds step);

class PowerCourse {
 public:
  /// Of the meter's sources that overlap no other; it must keep timelines and outlive this.
  explicit PowerCourse(Meter& meter);

  /// Forgets what was before.
  void restart();
  /// What a step is long: no sensor among them resolves less.
  Seconds step() const { return step_; }
  /// Mean power in each step from the first moment on that all of them have told. O(samples).
  std::vector<float> watts() const;

 private:
  std::vector<Channel*> channels_;
  Seconds step_;
};

}  // namespace perjoule
