// Whether instructions still take what the profile says.
//
//   DriftWatch watch(0.03, 5);
//   watch.add(stage, step, took, expected);   // of each instruction that ran
//   if (watch.iteration()) profile = watch.scaled(profile, schedule);
//
// A time that has drifted drifts at all settings alike: the model or its input has changed, the
// chip has not. Power is taken to be what it was, so energy is scaled as time is.
#pragma once

#include <map>
#include <tuple>

#include "pipeline/profile.h"
#include "pipeline/schedule.h"

namespace perjoule {

class DriftWatch {
 public:
  /// A ratio of measured to profiled time that is off by more than `tolerance`, over `patience`
  /// iterations together, is a drift.
  DriftWatch(double tolerance, int patience) : tolerance_(tolerance), patience_(patience) {}

  void add(int stage, const PipelineStep& step, Seconds took, Seconds expected);
  /// An iteration is over. Whether an instruction has drifted; after `patience` iterations without,
  /// the count begins anew.
  bool iteration();
  /// The profile with every instruction's options scaled by its ratio.
  PipelineProfile scaled(const PipelineProfile& profile, const PipelineSchedule& schedule) const;
  void restart();

 private:
  struct Times {
    double took = 0;
    double expected = 0;
    double ratio() const { return expected > 0 ? took / expected : 1; }
  };
  double tolerance_;
  int patience_;
  int iterations_ = 0;
  std::map<std::tuple<int, int, std::uint32_t>, Times> times_;  ///< by stage, chunk, instruction
};

}  // namespace perjoule
