// Lowers the limits of a job's GPUs one by one where that costs the job no time.
//
// The GPUs of a data-parallel job wait for the slowest: with b_k(l) the time that GPU k is busy in
// a step under its limit l, and E_k its energy in a step of length T,
//
//   T(l_1 ... l_n) = max_k b_k(l_k),        E = sum_k E_k(l_k; T)
//
// Given T, the energies are independent of one another, so the least of the sum is the least of
// each: every GPU takes the limit of its least energy among those with b_k(l) <= T. b_k itself
// cannot be seen (who waits is busy too, as far as the driver tells), only whether T holds. So,
// from a limit that all have (which a rule chose, and with it T):
//
//   1. measure T and every E_k;
//   2. lower a group of GPUs, at first all of them, by one limit, and measure. Where T holds
//   (within
//      1 %) and the group's energy did not rise (by 0.5 %), keep it and try the next lower limit.
//      Else put the group back and try its halves; one GPU alone that fails is done;
//   3. every GPU goes back up to its highest limit with (within 0.5 %) the least energy it showed,
//      and that is measured, if it was not.
//
// T is always compared with that of 1, so that many small delays do not add up. Where a rule bounds
// the time, T holds below that bound only (within the error of its measurement, doubt_of): what
// lies beyond it would be found for nothing. Of n GPUs of which
// s are at their edge a round takes at most 1 + 2 s log2 n measurements; like GPUs, all at their
// edge, cost 2 n - 1 and stay where they are.
//
// It is told measurements and answers what to measure; limits are numbers in lists, the highest
// being 0.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "base/units.h"

namespace perjoule {

/// A step of a job with several GPUs.
struct GpuSteps {
  Seconds time;
  std::vector<Joules> energy;  ///< of each GPU
  Seconds time_random = {};    ///< one standard error of `time`; 0: not known
};

class PerGpuSearch {
 public:
  /// All begin at limit `start` of `limits`; start < limits. `bound`: what a rule allows a step to
  /// take; infinite for none.
  PerGpuSearch(std::size_t gpus, std::size_t limits, std::size_t start,
               Seconds bound = Seconds(std::numeric_limits<double>::infinity()));

  bool done() const { return stage_ == Stage::kDone; }
  /// The limit of each GPU to measure now; when done, those found.
  const std::vector<std::size_t>& limits() const { return trial_; }
  /// What was measured under limits().
  void told(const GpuSteps& step);

 private:
  enum class Stage { kBegin, kLowering, kConfirming, kDone };
  using Group = std::vector<std::size_t>;
  bool holds(const Group& group, const GpuSteps& step) const;
  Joules least(std::size_t gpu) const;
  void next_trial();
  std::vector<std::size_t> most_frugal() const;

  std::size_t limits_;
  std::size_t start_;
  Seconds bound_;
  Stage stage_ = Stage::kBegin;
  Seconds time_;                             ///< T
  std::vector<std::size_t> kept_;            ///< the lowest limits under which T held
  std::vector<std::vector<Joules>> energy_;  ///< of each GPU under those kept, from start_ on
  std::vector<Group> groups_;                ///< to be lowered, the last one next
  std::vector<std::size_t> trial_;
};

}  // namespace perjoule
