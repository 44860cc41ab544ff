// A PowerLimitTuner for a program that says nothing of its steps: they are reckoned from the rhythm
// of the power that its GPUs draw, time over period.
//
//   PowerCourse course(meter);
//   ActivityTuner tuner(std::move(power_limit_tuner), course.step());
//   ... every quarter of a second:
//   PJ_TRY(const bool restart, tuner.observe(elapsed, energy, course.watts()));
//   if (restart) course.restart();
//
// A rhythm need not be the step's: it may be half a step, or two. Time and energy of a period are
// the step's times the same factor under every limit, which changes no choice. What must not happen
// is that the factor changes from one limit to the next. So the period is found anew under each
// limit, the peak nearest the last one first, and is believed only where
//
//   0.97 T' <= T <= T' (1.03 + 2 (P' / P - 1))         (T', P': period, mean power one limit
//   higher)
//
// A lower limit makes no step quicker, and what slows it down shows in the power. An alias of steps
// faster than the sensor shows breaks this, for it moves several times as far as they do: the other
// way where they are slower than the sampling, and too far where they are quicker. The period's
// standard error must be below 1 %.
//
// When no such rhythm is found (a device that is busy all the time at its limit draws the same
// power always) the running measurement is begun again once, and then:
// - it is quicker than one limit higher: nothing is believed any more, and the limits are put back;
// - there is none, or it is slower than the power tells: this limit and the lower ones are left
// out,
//   and the choice is among those measured; where they are fewer than two, the limits are put back.
// Before the first rhythm is found no limit is touched, however long that takes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "math/rhythm.h"
#include "train/power_limit_tuner.h"

namespace perjoule {

/// A period in seconds, as it was when the point of that limit was measured.
struct ActivityPeriod {
  Watts limit;
  Seconds period;
  Seconds sigma;
  double regularity = 0;
  Watts power;  ///< mean
};

class ActivityTuner {
 public:
  /// `step` is that of the series told to observe(): periods below four of them are refused.
  ActivityTuner(PowerLimitTuner tuner, Seconds step) : tuner_(std::move(tuner)), step_(step) {}

  /// Tells the running totals, and the power in even steps since observe() last answered true:
  /// power before that belongs to another window. Errors: the knobs'.
  Result<bool> observe(Seconds elapsed, const Energy& energy, const std::vector<float>& watts);

  /// Periods reckoned so far.
  double steps() const { return steps_; }
  const PowerLimitTuner& tuner() const { return tuner_; }
  /// The rhythms of the points measured, in their order.
  const std::vector<ActivityPeriod>& periods() const { return periods_; }
  /// Why there is no rhythm to count by now; empty when there is one.
  const std::string& missing() const { return missing_; }
  bool given_up() const { return given_up_; }
  /// What a reader must be told: limits left out, or why it was given up.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::optional<Rhythm> listen(const std::vector<float>& watts, Watts power);
  bool believable(Seconds period, Watts power);
  Result<bool> run_out(Seconds elapsed, const Energy& energy);
  Outcome give_up(const std::string& why);
  Seconds patience() const;
  bool measuring() const;

  PowerLimitTuner tuner_;
  Seconds step_;
  std::optional<Seconds> began_;  ///< the window that the series belongs to
  Seconds listened_;              ///< age of the window then: seldom enough to cost nothing
  double steps_ = 0;
  double steps_before_ = 0;  ///< when it began
  std::optional<Rhythm> heard_;
  std::vector<ActivityPeriod> periods_;
  std::optional<ActivityPeriod> last_;  ///< of the window before; one limit higher, or unlimited
  bool tried_again_ = false;
  bool quicker_ = false;  ///< the last rhythm heard was, under a lower limit
  bool given_up_ = false;
  std::string missing_ = "the program has not run long enough";
  std::vector<std::string> notes_;
};

}  // namespace perjoule
