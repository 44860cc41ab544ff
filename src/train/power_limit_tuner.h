// A PowerLimitOptimizer with its hands on the GPUs of one job: the limits it asks for are set on
// all of them together, or on each its own, through the journal of knobs, so that they are put back
// whatever happens.
//
//   PJ_TRY(KnobJournal journal, KnobJournal::open(journal_folder(), machine));
//   PJ_TRY(auto tuner, PowerLimitTuner::make(power_limit_knobs(machine, devices), journal, plan));
//   ... PJ_CHECK(tuner.observe({elapsed, energy, steps})) as steps are counted ...
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/journal.h"
#include "train/power_limit_optimizer.h"

namespace perjoule {

/// The power-limit knobs of these devices (ids; empty for all GPUs). not_found when there is none.
Result<std::vector<Knob*>> power_limit_knobs(const Inventory& machine,
                                             const std::vector<std::string>& devices);

/// From the highest limit that all knobs take down to their lowest by `step`, the lowest itself
/// included. invalid_argument when they have no common range, or the step is not above 0.
Result<std::vector<Watts>> limits_between(const std::vector<Knob*>& knobs, Watts step);

/// Of each knob as many limits, for GPUs that are decided on one by one. Where all have the same
/// range they are those of limits_between; where not, each GPU's own range is divided into as many
/// even parts as the widest one has steps (to whole watts), so that one place in all lists is the
/// same share of what each can do.
Result<std::vector<std::vector<Watts>>> limits_of_each(const std::vector<Knob*>& knobs, Watts step);

class PowerLimitTuner {
 public:
  /// Plans without limits get those of limits_between(knobs, 25 W), or of limits_of_each where they
  /// decide per GPU. With the rule EtaCost and no Pmax, Pmax is the highest limit tried, summed
  /// over the GPUs (optimizer().rule() has it). out_of_range when a limit lies outside a knob's
  /// range, naming both.
  static Result<PowerLimitTuner> make(std::vector<Knob*> knobs, KnobJournal& journal,
                                      PowerLimitPlan plan);

  /// Tells the job's running totals (energy over all its GPUs), and sets what is to be set. When a
  /// GPU takes a limit no more all of them are put back as found, for a job whose GPUs differ by
  /// chance is worse than one that was left alone; that is the error, and after it nothing is
  /// changed.
  Outcome observe(const StepTotals& now);
  void epoch_ended() { optimizer_.epoch_ended(); }
  void begin_again() { optimizer_.begin_again(); }
  /// Chooses among the limits measured so far, as the running one cannot be; false, and nothing
  /// done, when they are fewer than two.
  Result<bool> leave_out_rest();
  /// Puts every limit back, and changes nothing any more.
  Outcome give_up();

  const PowerLimitOptimizer& optimizer() const { return optimizer_; }
  /// The highest limit tried, summed over the GPUs: Pmax where none was given.
  Watts max_power() const { return max_power_; }
  /// The devices in whose order limits and StepTotals::gpus stand.
  std::vector<std::string> devices() const;
  /// Why nothing is set any more: what observe() failed with.
  const std::optional<Error>& failure() const { return failure_; }
  /// What a limit came to that is not what was asked for: "gpu:0: 250 W asked, 200 W in force".
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  Outcome set(const GpuLimits& limits);
  Outcome fall_back(Error error);
  PowerLimitTuner(std::vector<Knob*> knobs, KnobJournal& journal, PowerLimitOptimizer optimizer,
                  Watts max_power)
      : knobs_(std::move(knobs)),
        set_(knobs_.size()),
        journal_(&journal),
        optimizer_(std::move(optimizer)),
        max_power_(max_power) {}

  std::vector<Knob*> knobs_;
  std::vector<std::optional<Watts>> set_;  ///< of each knob
  KnobJournal* journal_;
  PowerLimitOptimizer optimizer_;
  Watts max_power_;
  std::vector<std::string> notes_;
  std::optional<Error> failure_;
  bool ended_ = false;  ///< nothing is changed any more
};

}  // namespace perjoule
