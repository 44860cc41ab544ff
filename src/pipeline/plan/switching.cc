#include "pipeline/plan/switching.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "pipeline/plan/iteration.h"

namespace perjoule {
namespace {

// Each round tries every move once; the searches seen ended after three to five.
constexpr int kMostRounds = 12;
// Of the sum of effective energies: less is no gain but the rounding of sums.
constexpr double kLeastGain = 1e-12;

/// Options tried, by activity into problem.options(class), with what it takes.
class Trial {
 public:
  Trial(const PipelineProblem& problem, std::vector<std::uint32_t> option)
      : problem_(&problem), option_(std::move(option)) {
    measure();
  }

  const std::vector<std::uint32_t>& option() const { return option_; }
  Ticks makespan() const { return makespan_; }
  double cost() const { return cost_; }
  std::size_t switches() const { return switches_; }
  bool dwells() const { return dwells_; }
  /// The setting that its option asks for.
  std::uint32_t knob(std::uint32_t a) const {
    return problem_->knob_of(a, options(a)[option_[a]].index);
  }
  const std::vector<PipelineOption>& options(std::uint32_t a) const {
    return problem_->options(problem_->class_of()[a]);
  }
  /// The activity's option at that setting.
  std::optional<std::uint32_t> option_at(std::uint32_t a, std::uint32_t knob) const {
    const auto& all = options(a);
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      if (problem_->knob_of(a, all[i].index) == knob) return i;
    }
    return std::nullopt;
  }

  /// By how much each activity alone may take longer for the iteration to end by `most`.
  std::vector<Ticks> slacks(Ticks most) const {
    std::vector<Ticks> slack(option_.size());
    std::vector<Ticks> durations(option_.size());
    for (std::uint32_t a = 0; a < option_.size(); ++a)
      durations[a] = options(a)[option_[a]].duration;
    const auto start = earliest_times(problem_->network(), problem_->order(), durations).start;
    const auto end = latest_ends(problem_->network(), problem_->order(), durations, most);
    for (std::uint32_t a = 0; a < option_.size(); ++a) slack[a] = end[a] - start[a] - durations[a];
    return slack;
  }
  /// Whether it is in time and dwells.
  bool keeps(Ticks most) const { return makespan_ <= most && dwells_; }
  /// Whether it is the better one of two: in time first, then by energy, then by changes.
  bool better_than(const Trial& other, Ticks most) const {
    if (keeps(most) != other.keeps(most)) return keeps(most);
    if (!keeps(most) && makespan_ != other.makespan_) return makespan_ < other.makespan_;
    const double gain = other.cost_ - cost_;
    const double least = kLeastGain * std::abs(cost_);
    return gain > least || (gain >= -least && switches_ < other.switches_);
  }

 private:
  void measure() {
    const PipelineSchedule& schedule = problem_->schedule();
    std::vector<std::uint32_t> measured(option_.size());
    std::vector<Ticks> durations(option_.size());
    cost_ = 0;
    for (std::uint32_t a = 0; a < option_.size(); ++a) {
      const PipelineOption& one = options(a)[option_[a]];
      measured[a] = one.index;
      durations[a] = one.duration;
      cost_ += one.effective;
    }
    const std::vector<std::uint32_t> force = settings_in_force(*problem_, measured);
    makespan_ = earliest_times(problem_->network(), problem_->order(), durations,
                               switch_setups(*problem_, force))
                    .makespan;
    const Ticks dwell = problem_->ticks(problem_->switching().dwell);
    switches_ = 0;
    dwells_ = true;
    for (std::size_t stage = 0; stage < schedule.stages.size(); ++stage) {
      Ticks run = 0;
      Ticks first_run = -1;
      for (std::size_t i = 0; i < schedule.stages[stage].size(); ++i) {
        const std::uint32_t a = schedule.number(stage, i);
        switches_ += force[a] != force[activity_before(schedule, stage, i)] ? 1 : 0;
        if (i > 0 && force[a] != force[a - 1]) {
          if (first_run < 0) {
            first_run = run;
          } else {
            dwells_ = dwells_ && run >= dwell;
          }
          run = 0;
        }
        run += durations[a];
      }
      if (first_run < 0) continue;  // one setting throughout
      // The last run goes on with the next iteration's first.
      const std::uint32_t first = schedule.number(stage, 0);
      const bool goes_on = force[first] == force[activity_before(schedule, stage, 0)];
      dwells_ = dwells_ && (goes_on ? first_run + run >= dwell : std::min(first_run, run) >= dwell);
    }
    cost_ += static_cast<double>(switches_) * problem_->switching().energy.value();
  }

  const PipelineProblem* problem_;
  std::vector<std::uint32_t> option_;
  Ticks makespan_ = 0;
  double cost_ = 0;
  std::size_t switches_ = 0;
  bool dwells_ = true;
};

/// The moves from one trial to the next.
class Search {
 public:
  Search(const PipelineProblem& problem, Ticks most, Trial from)
      : problem_(problem), most_(most), best_(std::move(from)) {}

  Trial run() {
    for (int round = 0; round < kMostRounds; ++round) {
      improved_ = false;
      for (std::size_t stage = 0; stage < problem_.schedule().stages.size(); ++stage) {
        merge_runs(stage);
        change_ends(stage);
        change_middle(stage);
      }
      if (!improved_) break;
    }
    return best_;
  }

  const Trial& best() const { return best_; }

  /// Gives runs of equal settings to a neighbour's setting.
  void merge_runs(std::size_t stage) {
    const std::uint32_t first = problem_.schedule().number(stage, 0);
    const std::uint32_t end = first + size(stage);
    for (std::uint32_t a = first; a < end;) {
      const std::uint32_t knob = best_.knob(a);
      std::uint32_t behind = a + 1;
      while (behind < end && best_.knob(behind) == knob) ++behind;
      if (a > first) give(stage, a, behind, best_.knob(a - 1));
      if (behind < end) give(stage, a, behind, best_.knob(behind));
      a = behind;
    }
  }

 private:
  std::uint32_t size(std::size_t stage) const {
    return static_cast<std::uint32_t>(problem_.schedule().stages[stage].size());
  }
  /// Gives the first or the last instructions of a stage any setting.
  void change_ends(std::size_t stage) {
    const std::uint32_t first = problem_.schedule().number(stage, 0);
    const std::uint32_t end = first + size(stage);
    for (const std::uint32_t knob : knobs_of(first, end)) {
      for (std::uint32_t cut = first + 1; cut <= end; ++cut) give(stage, first, cut, knob);
      for (std::uint32_t cut = first + 1; cut < end; ++cut) give(stage, cut, end, knob);
    }
  }
  /// All settings that instructions in [first, end) have options at.
  std::vector<std::uint32_t> knobs_of(std::uint32_t first, std::uint32_t end) const {
    std::vector<std::uint32_t> knobs;
    for (std::uint32_t a = first; a < end; ++a) {
      for (const PipelineOption& one : best_.options(a))
        knobs.push_back(problem_.knob_of(a, one.index));
    }
    std::sort(knobs.begin(), knobs.end());
    knobs.erase(std::unique(knobs.begin(), knobs.end()), knobs.end());
    return knobs;
  }
  /// Gives what lies between the filling and the draining of the pipeline, where most slack is,
  /// the slowest setting that is in time; both ends keep theirs.
  void change_middle(std::size_t stage) {
    const std::uint32_t first = problem_.schedule().number(stage, 0);
    const std::uint32_t end = first + size(stage);
    const auto most = static_cast<std::uint32_t>(problem_.schedule().stages.size());
    std::vector<std::uint32_t> knobs = knobs_of(first, end);
    const auto sum = [&](std::uint32_t knob) {
      Ticks ticks = 0;
      for (std::uint32_t a = first; a < end; ++a)
        ticks += best_.options(a)[best_.option_at(a, knob).value_or(0)].duration;
      return ticks;
    };
    std::sort(knobs.begin(), knobs.end(),
              [&](std::uint32_t a, std::uint32_t b) { return sum(a) < sum(b); });
    for (std::uint32_t head = 0; head <= most; ++head) {
      for (std::uint32_t tail = 0; tail <= most && head + tail + 1 < size(stage); ++tail) {
        // The slower, the longer: halving finds the slowest that is in time.
        std::size_t in_time = 0;
        std::size_t late = knobs.size();
        while (late - in_time > 1) {
          const std::size_t half = (in_time + late) / 2;
          const Trial tried(problem_, with(first + head, end - tail, knobs[half]));
          (tried.keeps(most_) ? in_time : late) = half;
        }
        give(stage, first + head, end - tail, knobs[in_time]);
      }
    }
  }
  std::vector<std::uint32_t> with(std::uint32_t from, std::uint32_t to, std::uint32_t knob) const {
    std::vector<std::uint32_t> option = best_.option();
    for (std::uint32_t a = from; a < to; ++a) {
      if (const auto there = best_.option_at(a, knob)) option[a] = *there;
    }
    return option;
  }
  /// Changes of setting between activities from - 1 and to of a stage, where those in between have
  /// `knob` if they can; round the end of the iteration where they reach it.
  int switches_with(std::uint32_t from, std::uint32_t to, std::uint32_t first, std::uint32_t end,
                    std::optional<std::uint32_t> knob) const {
    const auto its = [&](std::uint32_t a) {
      const bool given = a >= from && a < to && knob && best_.option_at(a, *knob);
      return given ? *knob : best_.knob(a);
    };
    int count = 0;
    for (std::uint32_t a = std::max(from, first + 1); a < std::min(to + 1, end); ++a)
      count += its(a) != its(a - 1) ? 1 : 0;
    if (from == first || to == end) count += its(first) != its(end - 1) ? 1 : 0;
    return count;
  }
  /// Whether an instruction would take longer than its slack, and none less than now, so that the
  /// iteration ends late for sure.
  bool slower_than_slack(std::uint32_t from, std::uint32_t to, std::uint32_t knob) {
    // Fewer changes that take time make room that slack does not tell.
    if (problem_.switches_take_time() || !best_.keeps(most_)) return false;
    if (slack_.empty()) slack_ = best_.slacks(most_);
    bool late = false;
    for (std::uint32_t a = from; a < to; ++a) {
      const auto there = best_.option_at(a, knob);
      if (!there) continue;
      const Ticks longer =
          best_.options(a)[*there].duration - best_.options(a)[best_.option()[a]].duration;
      if (longer < 0) return false;
      late = late || longer > slack_[a];
    }
    return late;
  }
  /// Gives [from, to) of a stage a setting where that is better. What has no option there keeps its
  /// own.
  void give(std::size_t stage, std::uint32_t from, std::uint32_t to, std::uint32_t knob) {
    double gain = 0;
    Ticks faster = 0;
    bool changes = false;
    for (std::uint32_t a = from; a < to; ++a) {
      const auto there = best_.option_at(a, knob);
      if (!there || *there == best_.option()[a]) continue;
      const PipelineOption& now = best_.options(a)[best_.option()[a]];
      gain += now.effective - best_.options(a)[*there].effective;
      faster += now.duration - best_.options(a)[*there].duration;
      changes = true;
    }
    if (!changes) return;
    const std::uint32_t first = problem_.schedule().number(stage, 0);
    const std::uint32_t end = first + size(stage);
    const int fewer = switches_with(from, to, first, end, std::nullopt) -
                      switches_with(from, to, first, end, knob);
    gain += problem_.switching().energy.value() * fewer;
    const double least = kLeastGain * std::abs(best_.cost());
    // Simulating is dear: only what can be better is simulated.
    const bool cheaper = gain > least || (gain >= -least && fewer > 0);
    if (slower_than_slack(from, to, knob)) return;
    if (best_.keeps(most_) ? !cheaper : faster <= 0 && fewer <= 0) return;
    Trial tried(problem_, with(from, to, knob));
    if (!tried.better_than(best_, most_)) return;
    best_ = std::move(tried);
    slack_.clear();
    improved_ = true;
  }

  const PipelineProblem& problem_;
  Ticks most_;
  Trial best_;
  std::vector<Ticks> slack_;  ///< of best_'s activities; empty where not known
  bool improved_ = false;
};

/// Every stage at the setting at which its instructions are fastest together.
Trial uniform(const PipelineProblem& problem) {
  const PipelineSchedule& schedule = problem.schedule();
  Trial fastest(problem, std::vector<std::uint32_t>(schedule.size(), 0));
  std::vector<std::uint32_t> option = fastest.option();
  for (std::size_t stage = 0; stage < schedule.stages.size(); ++stage) {
    const std::uint32_t first = schedule.number(stage, 0);
    const std::uint32_t end = first + static_cast<std::uint32_t>(schedule.stages[stage].size());
    Ticks least = std::numeric_limits<Ticks>::max();
    for (std::uint32_t knob = 0; knob < problem.knobs().size(); ++knob) {
      Ticks sum = 0;
      bool all = true;
      for (std::uint32_t a = first; a < end && all; ++a) {
        const auto there = fastest.option_at(a, knob);
        // An instruction without any setting, a data load, takes what it takes.
        if (!there && fastest.options(a).size() > 1) all = false;
        sum += fastest.options(a)[there.value_or(0)].duration;
      }
      if (!all || sum >= least) continue;
      least = sum;
      for (std::uint32_t a = first; a < end; ++a)
        option[a] = fastest.option_at(a, knob).value_or(0);
    }
  }
  return {problem, std::move(option)};
}

PipelinePlan plan_of(const Trial& choice, Ticks requested, double bound) {
  PipelinePlan plan;
  plan.requested = requested;
  plan.makespan = choice.makespan();
  plan.effective = choice.cost();
  plan.bound = bound;
  plan.option = choice.option();
  return plan;
}

}  // namespace

PipelinePlan plan_with_switches(const PipelineProblem& problem, std::span<const PipelinePlan> plans,
                                Ticks requested, double bound, const PipelinePlan* faster) {
  Trial best = Search(problem, requested, uniform(problem)).run();
  const auto try_from = [&](Trial from) {
    Trial found = Search(problem, requested, std::move(from)).run();
    if (found.better_than(best, requested)) best = std::move(found);
  };
  if (faster != nullptr) try_from(Trial(problem, faster->option));
  // The slowest that is in time as it is, and the one before it, whose changes may be fewer.
  int tried = 0;
  for (std::size_t i = plans.size(); i-- > 0 && tried < 2;) {
    if (plans[i].requested > requested) continue;
    Trial from(problem, plans[i].option);
    if (!from.keeps(requested) && i > 0) continue;
    ++tried;
    try_from(std::move(from));
  }
  return plan_of(best, requested, bound);
}

PipelinePlan keep_equal_settings(const PipelineProblem& problem, PipelinePlan plan) {
  const Trial from(problem, plan.option);
  Search search(problem, std::max(plan.requested, plan.makespan), from);
  for (std::size_t stage = 0; stage < problem.schedule().stages.size(); ++stage)
    search.merge_runs(stage);
  return plan_of(search.best(), plan.requested, plan.bound);
}

}  // namespace perjoule
