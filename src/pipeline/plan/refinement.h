// Makes a plan of measured options cheaper: a stretch of time is chosen anew, all else held, and
// what that gives is kept where it costs no more.
//
//   plan = refine_plan(problem, schedule, plan, {.most_tries = 2000, .enough = 3.0});
//
// A window is a run of activities in the order of their time in the exact schedule, so that
// whatever lies between two of its activities is in it too. For the window
//   1. the latest ends follow from what is held behind it, with the activities of the window taking
//      as long as in the exact schedule, or as short as they can (one or the other by chance);
//   2. in order, each takes the option of least effective energy and price of its ticks that ends
//      by then. Prices are the exact schedule's flows, times a random factor near 1: at the price
//      itself the two options on either side of the exact duration cost the same, and chance picks
//      between them what rounding in order cannot see;
//   3. against the order, each takes what slack is left.
// Window by window the plan settles (large neighbourhood search, Shaw 1998); losses below a
// tolerance that shrinks are let pass for a while (record-to-record travel, Dueck 1993). Every
// other round all of it is done from the end of time backwards.
//
// Random numbers are seeded by the round: the same problem gives the same plan.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "math/random.h"
#include "pipeline/plan/plan.h"

namespace perjoule {

/// One round of windows in one direction of time.
class Refinement {
 public:
  enum class Direction { kForward, kBackward };

  Refinement(const PipelineProblem& problem, const Schedule& schedule, const PipelinePlan& plan,
             Direction direction, std::uint64_t seed);
  /// Tries so many windows, fewer where the loss falls to `enough` (J above the bound). O(window x
  /// options) a try, and what moves in time for one that is kept.
  void run(int tries, double enough);
  /// The best choice met, by activity.
  std::vector<std::uint32_t> options() const;

 private:
  /// The activities are numbered by place: their rank in time, or against it.
  using Places = std::vector<std::uint32_t>;
  /// An option on the convex hull, and the J a tick that it saves over the corner before.
  struct Corner {
    std::uint32_t option;
    double slope;
  };
  std::uint32_t best_choice(std::uint32_t place, Ticks room, double price) const;
  Ticks earliest_start(std::uint32_t place) const;
  Ticks latest_end(std::uint32_t place) const;
  bool limit(std::uint32_t first, std::uint32_t last);
  bool choose(std::uint32_t first, std::uint32_t last, bool must_hold);
  std::optional<double> fill(std::uint32_t first, std::uint32_t last);
  void take(std::uint32_t first, std::uint32_t last);

  Ticks makespan_;
  double loss_;
  Random random_;
  Places activity_;
  Places first_before_{0}, before_, first_after_{0}, after_;
  std::vector<const std::vector<PipelineOption>*> choices_;
  std::vector<std::vector<Corner>> class_corners_;
  std::vector<const std::vector<Corner>*> corners_;
  std::vector<double> price_;  ///< J a tick
  std::vector<Ticks> exact_;   ///< durations in the exact schedule
  std::vector<std::uint32_t> option_, new_option_, best_option_;
  std::vector<Ticks> duration_, new_duration_;
  std::vector<Ticks> start_, new_start_;  ///< earliest
  std::vector<Ticks> end_, new_end_;      ///< latest
};

}  // namespace perjoule
