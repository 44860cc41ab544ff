// What a number of training steps took, less what was no training.
//
//   StepWindow window(totals, 2);           // it begins
//   window.tell(totals);                    // whenever steps were counted
//   window.pause();                         // an epoch ended; what follows is not counted
//   const StepTotals took = window.taken(); // time, energy, steps of the window
//
// Two things are left out. After pause() all up to the next step that is told, which is mostly
// validation; that step goes with it, for nobody saw where it began. And stalls: stretches between
// two tellings whose steps took more than a factor times as long as in the median stretch, as a
// validation or a checkpoint of which nothing is said makes one. Where more than a fifth of the
// stretches are such, steps are of unlike length, and all count.
//
// A stall is left out under every limit alike, so that it changes no choice; counted, it would fall
// into the window of one limit and not into that of the next.
#pragma once

#include <cstddef>
#include <vector>

#include "base/energy.h"

namespace perjoule {

/// Running totals since some start; or, as a window's answer, what was taken within it.
struct StepTotals {
  Seconds time;
  Energy energy;
  double steps = 0;
  /// One standard error, relative, of the steps since the running window began: not 0 where they
  /// are reckoned and not counted.
  double uncertainty = 0;
  std::vector<Energy> gpus = {};  ///< of each GPU, where they are decided on one by one
};

class StepWindow {
 public:
  /// Stalls are steps of more than `stall` times the median; 0: there are none.
  StepWindow(const StepTotals& start, double stall)
      : began_(start.time), stall_(stall), points_{start} {}

  /// Totals without a further step are not taken: there is no step to reckon their time to.
  void tell(const StepTotals& now);
  void pause() { paused_ = true; }

  Seconds began() const { return began_; }
  /// The count of steps told last.
  double count() const { return points_.back().steps; }
  /// What was taken so far. O(n log n) in the stretches told lately, a few hundred at most.
  StepTotals taken() const;
  /// One standard error, relative, of the mean time of a step in it, from how far its stretches
  /// differ; 0: fewer than four tell nothing.
  double time_error() const;
  /// Stalls left out so far.
  int stalls() const { return stalls_ + static_cast<int>(stalled().size()); }

 private:
  /// Squared deviations of stretches from the mean time of their steps, each over its steps.
  struct Spread {
    double squares = 0;
    std::size_t stretches = 0;
  };
  std::vector<std::size_t> stalled() const;
  std::vector<bool> left_out() const;
  Spread spread() const;

  Seconds began_;
  double stall_;
  std::vector<StepTotals> points_;  ///< told; a stretch lies between two of them
  std::vector<bool> gap_ = {};      ///< of each stretch: it was paused
  bool paused_ = false;
  StepTotals folded_ = {};  ///< what was taken in stretches told longer ago, which are kept no more
  bool any_folded_ = false;
  Spread folded_spread_ = {};
  int stalls_ = 0;  ///< among those
};

}  // namespace perjoule
