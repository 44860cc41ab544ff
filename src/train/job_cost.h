// What a training costs: C = eta E + (1 - eta) Pmax T (You et al., NSDI 2023, eq. 2), in joules.
// Eta 0 asks for the fastest training, 1 for the least energy; Pmax, the largest power limit over
// all GPUs of the job, turns time into energy.
#pragma once

#include "base/result.h"
#include "base/units.h"
#include "train/trace.h"

namespace perjoule {

class JobCost {
 public:
  /// invalid_argument when eta lies outside [0, 1] or max_power is not above 0.
  static Result<JobCost> make(double eta, Watts max_power);

  Joules of(Joules energy, Seconds time) const {
    return energy * eta_ + max_power_ * time * (1 - eta_);
  }
  Joules of_epoch(const LimitRecord& record) const {
    return of(record.epoch_energy(), record.epoch_time);
  }
  double eta() const { return eta_; }
  Watts max_power() const { return max_power_; }

 private:
  JobCost(double eta, Watts max_power) : eta_(eta), max_power_(max_power) {}
  double eta_;
  Watts max_power_;
};

}  // namespace perjoule
