// Whether instructions still take what the profile says, and what a change of setting takes.
//
//   DriftWatch watch(0.03, 5);
//   watch.add(stage, step, took, expected, before);   // of each instruction that ran
//   if (watch.iteration()) {                          // enough of them
//     if (watch.drifted()) profile = watch.scaled(first_profile, schedule);
//     if (const auto law = watch.switch_law()) ...
//     watch.restart();
//   }
//
// All is held against one profile, the first: what was measured under several plans goes together.
// A time that has drifted drifts at all settings alike: the model or its input has changed, the
// chip has not. Power is taken to be what it was, so energy is scaled as time is. An instruction
// before which the setting was changed runs a while at the old one; what that takes is told from
// the others.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "math/statistic.h"
#include "pipeline/profile/profile.h"
#include "pipeline/runtime/switch_law.h"
#include "pipeline/schedule/schedule.h"

namespace perjoule {

class DriftWatch {
 public:
  /// A median ratio of measured to profiled time that is off by more than `tolerance`, over
  /// `patience` iterations together, is a drift.
  DriftWatch(double tolerance, int patience) : tolerance_(tolerance), patience_(patience) {}

  /// `before`: what it would take at the setting of the instruction before it, where that is
  /// another one.
  void add(int stage, const PipelineStep& step, Seconds took, Seconds expected,
           std::optional<Seconds> before);
  /// An iteration is over. Whether it was the last of `patience` ones.
  bool iteration() { return ++iterations_ >= patience_; }
  /// Whether an instruction's time is off by more than the tolerance from what was scaled last.
  bool drifted() const;
  /// How much longer instructions take for a change of setting before them, of all changes that
  /// were seen lately: a plan that has few must not unlearn why. None where too few were seen.
  std::optional<SwitchLaw> switch_law() const;
  /// The first profile with every instruction's options scaled by its ratio.
  PipelineProfile scaled(const PipelineProfile& profile, const PipelineSchedule& schedule);
  void restart();

 private:
  /// Of one instruction: ratios of measured to profiled time, and what came on top where the
  /// setting was changed. Medians count: a process that is held up now and then says nothing of a
  /// model.
  struct Times {
    std::vector<double> ratios;
    struct Switched {
      double took;
      double expected;
      double before;
    };
    std::vector<Switched> switched;
    double applied = 1;  ///< ratio by which it was scaled last
    double ratio() const { return ratios.empty() ? applied : median(ratios); }
  };
  std::vector<SwitchSample> switches() const;

  double tolerance_;
  int patience_;
  int iterations_ = 0;
  std::map<std::tuple<int, int, std::uint32_t>, Times> times_;  ///< by stage, chunk, instruction
  std::deque<SwitchSample> seen_;                               ///< before the last restart
};

}  // namespace perjoule
