// Finds the power limit of a training while it goes on: measures steps under each limit, then
// chooses by any rule of the frontier, and measures again when the workload changes.
//
//   PJ_TRY(PowerLimitOptimizer optimizer, PowerLimitOptimizer::make(plan));
//   // whenever steps have been counted:
//   if (const auto limits = optimizer.observe({elapsed, energy, steps})) set(*limits);
//   optimizer.epoch_ended();     // what follows (validation) is no training step
//
// What is no training and not told of (validation, a checkpoint) is left out where it shows: see
// StepWindow.
//
// It turns nothing and reads nothing itself: energy, time and steps are told as running totals, and
// the limit to set is answered, so that the same code serves a library call a step, a verb that
// reads a log, and a test. Whoever sets the limit puts it back at the end (KnobJournal).
//
// Limits are tried from the highest down. Once two limits in a row were clearly slower (3 %) and
// took more energy a step than the one before, the lower ones are left out: energy over the limit
// has one valley, so that no rule would choose them. (Rules that look at the limit itself or at
// power try them all.)
//
// With lists of limits of several GPUs (PowerLimitPlan::gpus) the limit that the rule chose for all
// is where a PerGpuSearch begins, which lowers those that keep up with less. What it measured are
// points like any other, and the rule has the last word among all of them: a decision by GPU that
// does not hold is simply not chosen. The time of a point is known as well as the steps of its
// window agree, and, once two windows under the same limits were measured, as well as those do: a
// rule's bound of time is met within that (doubt_of).
#pragma once

#include <optional>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "base/units.h"
#include "frontier/rule.h"
#include "train/per_gpu_search.h"
#include "train/step_window.h"

namespace perjoule {

struct PowerLimitPlan {
  std::vector<Watts> limits;  ///< to try, highest first; at least one
  /// The job's GPUs may end up under different limits (PowerLimitTuner makes `gpus` of it).
  bool per_gpu = false;
  /// Of each GPU in place of `limits`, all of one length: those of one place are tried together.
  std::vector<std::vector<Watts>> gpus = {};
  Rule rule = EtaCost{};
  double wait_steps = 1;      ///< before the first limit is set
  double warm_up_steps = 10;  ///< under each limit before it is measured; may be 0
  double profile_steps = 40;  ///< to measure under each limit
  Seconds least_time{1};      ///< and as long at least: a counter's tick must be small against it
  /// Relative change of time or energy of a step, twice in a row, after which all is measured
  /// again; 0: never.
  double drift = 0.10;
  /// Steps that take more than so many times the median are no training (StepWindow); 0: all are.
  double stall = 2;
};

/// A limit for all GPUs of a job, or one for each.
using GpuLimits = std::vector<Watts>;
/// "250 W", or of several that differ "250/200 W".
std::string text_of(const GpuLimits& limits);

class PowerLimitOptimizer {
 public:
  /// invalid_argument for no limits, limits that do not descend or are not above 0, steps below 0
  /// or none to profile, or a drift below 0.
  static Result<PowerLimitOptimizer> make(PowerLimitPlan plan);

  enum class Phase { kWaiting, kWarmUp, kProfiling, kSettled };

  /// Tells the totals now; answers the limits to set, when they are to change. Totals must not go
  /// back.
  std::optional<GpuLimits> observe(const StepTotals& now);
  /// What follows is no training, until the next step is told: neither it nor that step is counted.
  /// Totals that were not told yet belong to it, too.
  void epoch_ended();
  /// Throws the running measurement away; it is begun again with the next totals.
  void begin_again();

  /// The limit asked for last cannot be measured, nor would the lower ones: chooses among those
  /// that were, at least one, and answers the limits to set when they are to change.
  std::optional<GpuLimits> leave_out_rest();
  /// When the running window (waiting, warming up, measuring, watching) began; nothing right after
  /// begin_again().
  std::optional<Seconds> window_began() const {
    return window_ ? std::optional<Seconds>(window_->began()) : std::nullopt;
  }

  /// The count of steps before which observe() would change nothing: totals, which cost a reading
  /// of every GPU, need not be known before.
  double next_look() const { return next_look_; }

  /// That of the plan, with the Pmax that it is taken with.
  const Rule& rule() const { return plan_.rule; }
  Phase phase() const { return phase_; }
  /// The limit asked for last; of several GPUs the highest.
  std::optional<Watts> limit() const;
  /// The same, of each GPU where they are decided on one by one; empty before the first.
  const GpuLimits& limits() const { return asked_; }
  /// Steps measured so far: settings "power limit", time and energy a step.
  const std::vector<Point>& points() const { return points_; }
  /// Under what each point was measured.
  const std::vector<GpuLimits>& limits_of_points() const { return limits_of_points_; }
  /// What was chosen among points(); only when settled.
  const std::optional<Choice>& choice() const { return choice_; }
  /// How often the workload changed so that all was measured again.
  int repeats() const { return repeats_; }
  /// Stretches of steps left out of what was measured, as too long to be training.
  int stalls() const { return stalls_; }

 private:
  explicit PowerLimitOptimizer(PowerLimitPlan plan) : plan_(std::move(plan)) {}
  std::size_t places() const;
  GpuLimits at_place(std::size_t place) const;
  GpuLimits at_places(const std::vector<std::size_t>& places) const;
  std::optional<GpuLimits> ask(GpuLimits limits);
  std::optional<GpuLimits> begin_profile(GpuLimits limits);
  std::optional<GpuLimits> end_profile(const StepTotals& took);
  std::optional<GpuLimits> go_on(const StepTotals& took);
  bool begin_search();
  Seconds bound_of_time() const;
  bool choose();
  std::optional<GpuLimits> settle();
  std::optional<GpuLimits> watch(const StepTotals& now);
  std::optional<GpuLimits> take(const StepTotals& now);
  double reckon_next_look() const;
  bool long_enough(const StepTotals& took, double steps) const;
  bool rest_is_dominated() const;

  PowerLimitPlan plan_;
  Phase phase_ = Phase::kWaiting;
  std::optional<StepWindow> window_;  ///< of the running phase
  std::size_t next_ = 0;              ///< place of the limits being measured
  GpuLimits asked_;
  std::vector<Point> points_;
  std::vector<GpuLimits> limits_of_points_;
  std::optional<PerGpuSearch> search_;
  /// One standard error, relative, of a step's time from one window to another, as two under the
  /// same limits told; 0: not known.
  double repeat_error_ = 0;
  std::optional<Choice> choice_;
  int strange_ = 0;  ///< windows in a row that differ from the chosen point
  int repeats_ = 0;
  int stalls_ = 0;
  double next_look_ = 0;
};

}  // namespace perjoule
