// A schedule whose activities are what a profile measured: the time-energy problem of one training
// iteration, in the integers that the solver takes.
//
//   PJ_TRY(const PipelineProblem problem, PipelineProblem::make(profile, schedule, power));
//   PJ_TRY(const TimeCostFrontier frontier, problem.solve());
//   const Joules least = problem.total_energy(frontier.cost_at(makespan), makespan);
//
// A GPU that waits draws the blocking power P, so an instruction of t seconds and e joules costs
// the iteration e - P t (its effective energy), and an iteration of T seconds on S stages takes
//   E(T) = sum of effective energies + S P T.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "pipeline/profile/profile.h"
#include "pipeline/profile/switch_cost.h"
#include "pipeline/schedule/schedule.h"
#include "pipeline/solver/cost_curve.h"
#include "pipeline/solver/time_cost_frontier.h"

namespace perjoule {

/// One way to run an activity, as the solver and the rounding see it.
struct PipelineOption {
  Ticks duration = 0;
  double effective = 0;     ///< J
  std::uint32_t index = 0;  ///< into the profiled instruction's options
};

class PipelineProblem {
 public:
  /// The profile and the schedule are kept by reference. A tick is a microsecond; finer, by powers
  /// of ten, where the shortest measured time has fewer than 1,000 of them. Fails with what find()
  /// of the profile and topological_order() of the network fail with, naming the activities, with
  /// invalid_argument when stage counts differ, and with out_of_range where times are so far apart
  /// that ticks overflow or figures are no measurements (kMostTime and the like), as a factor can
  /// make them. What switching costs counts in plans, not in the bound.
  static Result<PipelineProblem> make(const PipelineProfile& profile,
                                      const PipelineSchedule& schedule, BlockingPower power,
                                      const SwitchCost& switching = {});

  Result<TimeCostFrontier> solve(const ScheduleTimes& wanted = {}) const {
    return solve_time_cost(network_, class_of_, curves_, wanted);
  }
  /// Only those that are wanted, each by itself; all of them where 64 bits do not hold one so.
  Result<TimeCostFrontier> solve_only(const ScheduleTimes& wanted,
                                      const SolveProgress& progress = {}) const {
    Result<TimeCostFrontier> alone = solve_wanted(network_, class_of_, curves_, wanted, progress);
    return alone ? std::move(alone) : solve(wanted);
  }

  const PipelineSchedule& schedule() const { return *schedule_; }
  const ActivityNetwork& network() const { return network_; }
  std::span<const std::uint32_t> order() const { return order_; }
  const BlockingPower& power() const { return power_; }
  const SwitchCost& switching() const { return switching_; }
  const CurveSet& curves() const { return curves_; }
  /// Activities of one stage, chunk and instruction are of one class.
  std::span<const std::uint32_t> class_of() const { return class_of_; }
  const ProfiledInstruction& profiled(std::uint32_t activity_class) const {
    return *classes_[activity_class].profiled;
  }
  /// The options that no other one beats in both time and effective energy, fastest first.
  const std::vector<PipelineOption>& options(std::uint32_t activity_class) const {
    return classes_[activity_class].options;
  }
  Seconds seconds(Ticks ticks) const {
    return Seconds(static_cast<double>(ticks) / ticks_a_second_);
  }
  /// Whole ticks in a time, held to what a makespan can be.
  Ticks ticks(Seconds time) const;
  std::uint32_t classes() const { return static_cast<std::uint32_t>(classes_.size()); }
  /// A measured option's time in ticks.
  Ticks duration(const KnobOption& option) const;
  /// A number for the setting of an activity's option: equal where settings are.
  std::uint32_t knob_of(std::uint32_t activity, std::uint32_t option) const {
    return classes_[class_of_[activity]].knobs[option];
  }
  /// All settings, by that number.
  const std::vector<Config>& knobs() const { return knobs_; }
  /// What a change between two of those settings takes; 0 where they are equal.
  Ticks switch_ticks(std::uint32_t from, std::uint32_t to) const {
    return switch_ticks_.empty() ? 0 : switch_ticks_[from * knobs_.size() + to];
  }
  /// Whether any change takes time.
  bool switches_take_time() const { return !switch_ticks_.empty(); }
  /// The flow of a makespan at which a second less costs what the waiting of all stages takes in
  /// it: the least energy of all makespans.
  std::int64_t flow_of_least_energy() const;
  /// All activities at their shortest: no plan is faster.
  Ticks shortest() const;
  /// All at the most frugal: no slower plan saves anything more.
  Ticks longest() const;
  /// E(T) of the effective energy in joules and the iteration's time.
  Joules total_energy(double effective, Ticks makespan) const;

 private:
  struct Class {
    const ProfiledInstruction* profiled = nullptr;
    std::vector<PipelineOption> options = {};
    std::vector<std::uint32_t> knobs = {};  ///< by profiled option
  };
  PipelineProblem(const PipelineSchedule& schedule, BlockingPower power)
      : schedule_(&schedule), network_(schedule.network()), power_(std::move(power)) {}
  Outcome gather(const PipelineProfile& profile);
  Outcome check_figures() const;
  Outcome choose_tick();
  Outcome make_curves();
  void number_knobs();
  void tabulate_switches();

  const PipelineSchedule* schedule_;
  ActivityNetwork network_;
  std::vector<std::uint32_t> order_;
  BlockingPower power_;
  SwitchCost switching_;
  double ticks_a_second_ = 1e6;  ///< a power of ten
  std::vector<Class> classes_;
  std::vector<std::uint32_t> class_of_;
  CurveSet curves_;
  std::vector<Config> knobs_;
  std::vector<Ticks> switch_ticks_;  ///< from x to; empty where none takes time
};

}  // namespace perjoule
