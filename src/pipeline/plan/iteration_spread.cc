#include "pipeline/plan/iteration_spread.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "math/random.h"
#include "math/statistic.h"
#include "pipeline/plan/iteration.h"

namespace perjoule {
namespace {

/// An instruction's time as the exponential of a normal one; sigma 0 where it does not vary.
struct LogNormal {
  double mu = 0;
  double sigma = 0;
};

LogNormal distribution_of(const KnobOption& option) {
  const double relative = option.time_spread / option.time;
  const double variance = std::log1p(relative * relative);
  return {std::log(option.time.value()) - variance / 2, std::sqrt(variance)};
}

Distribution summary(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (const double value : values) sum += value;
  return {sum / static_cast<double>(values.size()), percentile(values, 0.05),
          percentile(values, 0.5), percentile(values, 0.95)};
}

/// What does not change from sample to sample.
class Sampler {
 public:
  Sampler(const PipelineProblem& problem, std::span<const std::uint32_t> option)
      : problem_(problem), durations_(option.size()), setups_(), waiting_(option.size()) {
    const std::vector<std::uint32_t> force = settings_in_force(problem, option);
    setups_ = switch_setups(problem, force);
    for (std::uint32_t a = 0; a < option.size(); ++a) {
      chosen_.push_back(&problem.profiled(problem.class_of()[a]).options[option[a]]);
      drawn_.push_back(distribution_of(*chosen_[a]));
      waiting_[a] = problem.power().at(problem.knobs()[force[a]]);
    }
    for (const auto& steps : problem.schedule().stages) {
      for (std::size_t i = 0; i < steps.size(); ++i) {
        const std::uint32_t a = problem.schedule().number(stages_, i);
        if (force[a] != force[activity_before(problem.schedule(), stages_, i)])
          switching_ += problem.switching().energy;
      }
      ++stages_;
    }
  }

  std::size_t varying() const {
    return static_cast<std::size_t>(std::count_if(
        drawn_.begin(), drawn_.end(), [](const LogNormal& one) { return one.sigma > 0; }));
  }

  struct Sample {
    Ticks makespan = 0;
    Joules energy;
  };
  Sample draw(Random random) {
    Joules working = switching_;
    for (std::uint32_t a = 0; a < durations_.size(); ++a) {
      durations_[a] = problem_.duration(*chosen_[a]);
      double longer = 1;
      if (drawn_[a].sigma > 0) {
        const double time = std::exp(drawn_[a].mu + drawn_[a].sigma * random.normal());
        longer = time / chosen_[a]->time.value();
        // To the nearest: ticks() holds what it is given to whole ones.
        durations_[a] =
            std::max<Ticks>(1, problem_.ticks(Seconds(time) + problem_.seconds(1) * 0.5));
      }
      working += chosen_[a]->energy * longer;
    }
    const EarliestTimes times =
        earliest_times(problem_.network(), problem_.order(), durations_, setups_);
    return {times.makespan, working + waiting(times)};
  }

 private:
  /// As simulate_iteration() has it: at the setting that a stage was left at.
  Joules waiting(const EarliestTimes& times) const {
    Joules sum(0);
    const PipelineSchedule& schedule = problem_.schedule();
    for (std::size_t stage = 0; stage < schedule.stages.size(); ++stage) {
      const auto count = static_cast<std::uint32_t>(schedule.stages[stage].size());
      if (count == 0) continue;
      const std::uint32_t first = schedule.number(stage, 0);
      Ticks free = 0;
      for (std::uint32_t a = first; a < first + count; ++a) {
        sum += waiting_[a > first ? a - 1 : a] * problem_.seconds(times.start[a] - free);
        free = times.start[a] + durations_[a];
      }
      sum += waiting_[first + count - 1] * problem_.seconds(times.makespan - free);
    }
    return sum;
  }

  const PipelineProblem& problem_;
  std::vector<const KnobOption*> chosen_;
  std::vector<LogNormal> drawn_;
  std::vector<Ticks> durations_;
  std::vector<Ticks> setups_;
  std::vector<Watts> waiting_;  ///< what the stage draws once the activity has ended
  Joules switching_;
  std::size_t stages_ = 0;
};

}  // namespace

Result<IterationSpread> sample_iterations(const PipelineProblem& problem,
                                          std::span<const std::uint32_t> option,
                                          const SamplingRequest& request) {
  Sampler sampler(problem, option);
  IterationSpread spread;
  spread.varying = sampler.varying();
  if (spread.varying == 0) {
    return Error::invalid_argument(
        "the profile has no spread of times at these settings, all samples would be alike",
        "profile each setting more than once (rows of one setting are repeats), or add a column "
        "time_spread: the standard deviation of one, s");
  }
  const Random random(request.seed);
  std::vector<double> times;
  std::vector<double> energies;
  std::size_t late = 0;
  for (int i = 0; i < request.samples; ++i) {
    // A stream of its own a sample: more samples do not change those that were there.
    const Sampler::Sample one = sampler.draw(random.child(static_cast<std::uint64_t>(i)));
    times.push_back(problem.seconds(one.makespan).value());
    energies.push_back(one.energy.value());
    if (request.deadline > 0 && one.makespan > request.deadline) ++late;
  }
  spread.time = summary(std::move(times));
  spread.energy = summary(std::move(energies));
  spread.late_share = static_cast<double>(late) / static_cast<double>(request.samples);
  return spread;
}

}  // namespace perjoule
