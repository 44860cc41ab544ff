// What was drawn between two instants that are chosen afterwards: a window over courses, as a
// benchmark's, whose steady state is only known once it is over.
//
//   const Measurement used = measurement_between(courses, window.from, window.until);
//   used.total();     // joules, +-, source, boundary, grade
//
// A counter is known at its ticks (counter_course.h): its course must have been sampled so that
// these are seen (SamplePace::kSeesTicks), from before the one instant until behind the other.
#pragma once

#include <vector>

#include "base/clock.h"
#include "meter/command_run.h"
#include "meter/measurement.h"

namespace perjoule {

/// Of each source what it drew in between; missing, with a note, where its course does not reach
/// from the one end to the other. Nothing is said of synchronisation. O(samples).
///
/// `around` is a window that was open from before the one instant until behind the other. It has
/// seen what a course does not show: a counter's reset, leap or standstill, a lost device, a
/// model's own interval. Where in it these were is not known, so what makes it a bound makes this
/// one, and its notes are this one's.
Measurement measurement_between(const std::vector<Course>& courses, const Measurement& around,
                                Instant from, Instant until);

}  // namespace perjoule
