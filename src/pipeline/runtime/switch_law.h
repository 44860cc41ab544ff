// What changes of setting take, as a law that holds for pairs that were never seen too.
//
//   const auto law = SwitchLaw::fit(samples);
//   law->time(1 - fast / slow);
//
// A GPU that is told to run faster does so after a while, or step by step: meanwhile the
// instruction runs as slow as before. With t the instruction's time at the new setting and u at the
// old one, r = 1 - t/u of that while is lost: a r for a latency that is always the same, b r^2
// where the clock climbs at a fixed rate, since a longer way takes longer. What a change takes in
// whichever direction is a constant c.
#pragma once

#include <optional>
#include <span>

#include "base/units.h"

namespace perjoule {

/// One change that was seen.
struct SwitchSample {
  double faster = 0;  ///< r, below 0 where the new setting is the slower one
  Seconds longer;     ///< the instruction took so much longer than at the new setting alone
};

class SwitchLaw {
 public:
  /// Least squares through medians: a process that is held up now and then says nothing of
  /// hardware. None where too few changes were seen. O(n log n).
  static std::optional<SwitchLaw> fit(std::span<const SwitchSample> samples);

  /// c, + a r + b r^2 for r above 0.
  Seconds time(double faster) const;

 private:
  double constant_ = 0;  ///< s
  double linear_ = 0;
  double quadratic_ = 0;
};

}  // namespace perjoule
