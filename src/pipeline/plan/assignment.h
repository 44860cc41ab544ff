// A choice of options for every activity, with the earliest start and the latest end that it leaves
// each of them: what rounding changes step by step.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "pipeline/plan/plan.h"
#include "pipeline/plan/problem.h"

namespace perjoule {

class Assignment {
 public:
  /// All at their fastest option.
  Assignment(const PipelineProblem& problem, Ticks makespan);

  const PipelineProblem& problem() const { return problem_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(option_.size()); }
  Ticks most() const { return makespan_; }  ///< the makespan that it must keep
  const std::vector<PipelineOption>& options(std::uint32_t a) const {
    return problem().options(problem().class_of()[a]);
  }
  std::uint32_t option(std::uint32_t a) const { return option_[a]; }
  Ticks duration(std::uint32_t a) const { return duration_[a]; }
  double effective(std::uint32_t a) const { return options(a)[option_[a]].effective; }
  /// Sum of effective energies, J.
  double total() const;
  Ticks start(std::uint32_t a) const { return start_[a]; }
  /// How much longer the activity could take with all others as they are.
  Ticks slack(std::uint32_t a) const { return end_[a] - start_[a] - duration(a); }

  /// Takes options without looking at times; settle() then.
  void take(std::uint32_t a, std::uint32_t option) {
    option_[a] = option;
    duration_[a] = options(a)[option].duration;
  }
  void take(std::span<const std::uint32_t> options) {
    for (std::uint32_t a = 0; a < size(); ++a) take(a, options[a]);
  }
  std::span<const std::uint32_t> all() const { return option_; }
  /// All earliest starts afresh; answers the makespan.
  Ticks settle_starts();
  /// The earliest start of one activity, those before it being settled.
  Ticks settle_start(std::uint32_t a);
  void settle_ends();
  /// The latest end of one activity, those behind it being settled.
  Ticks settle_end(std::uint32_t a);
  /// Changes one option and all times that depend on it.
  void set(std::uint32_t a, std::uint32_t option);

 private:
  void push_starts(std::uint32_t a);
  void pull_ends(std::uint32_t a);

  std::reference_wrapper<const PipelineProblem> problem_;
  Ticks makespan_;
  std::vector<std::uint32_t> option_;
  std::vector<Ticks> duration_;          ///< the options'
  std::vector<Ticks> start_;             ///< earliest
  std::vector<Ticks> end_;               ///< latest
  std::vector<std::uint32_t> position_;  ///< in the topological order
  std::vector<std::uint32_t> heap_;
};

/// Gives slack to whoever saves most by it, above `share` of what the ticks are worth (`price`, J a
/// tick by activity), until nobody can use what is left. Starts and ends are settled.
void give_back(Assignment& assigned, std::span<const double> price = {}, double share = 0);

/// The plan that an assignment with settled starts is.
PipelinePlan plan_of(const Assignment& assigned, double bound);

/// The most frugal option of at most that duration; the fastest where there is none.
std::uint32_t most_frugal(const std::vector<PipelineOption>& options, Ticks duration);

}  // namespace perjoule
