#include "pipeline/peers/envpipe.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "pipeline/plan/baselines.h"

namespace perjoule {
namespace {

constexpr int kMostSteps = 10'000;
constexpr std::uint32_t kGreedyStep = 6;  ///< 90 MHz of settings 15 MHz apart

class EnvPipe {
 public:
  explicit EnvPipe(const PipelineProblem& problem)
      : problem_(problem),
        schedule_(problem.schedule()),
        level_(schedule_.size(), 0),
        envelope_(schedule_.size(), false) {
    rank_settings();
    mark_envelope();
    lower_the_rest();
  }

  EnvPipeResult run(EnvPipeRaise raise);

 private:
  void rank_settings();
  void mark_envelope();
  void lower_the_rest();
  std::vector<std::uint32_t> critical_path() const;
  const KnobOption& option(std::uint32_t a) const {
    const std::uint32_t c = problem_.class_of()[a];
    return problem_.profiled(c).options[by_level_[c][level_[a]]];
  }

  const PipelineProblem& problem_;
  const PipelineSchedule& schedule_;
  std::vector<std::vector<std::uint32_t>> by_level_;  ///< options of a class, the highest first
  std::vector<std::uint32_t> level_;                  ///< by activity, into by_level_
  std::vector<bool> envelope_;
};

void EnvPipe::rank_settings() {
  by_level_.resize(problem_.classes());
  for (std::uint32_t c = 0; c < by_level_.size(); ++c) {
    const std::vector<KnobOption>& options = problem_.profiled(c).options;
    std::vector<std::uint32_t>& levels = by_level_[c];
    levels.resize(options.size());
    std::iota(levels.begin(), levels.end(), 0);
    std::stable_sort(levels.begin(), levels.end(), [&](std::uint32_t x, std::uint32_t y) {
      return is_higher_setting(options[x], options[y]);
    });
  }
}

void EnvPipe::mark_envelope() {
  for (std::size_t stage = 0; stage < schedule_.stages.size(); ++stage) {
    const auto& steps = schedule_.stages[stage];
    const bool is_last = stage + 1 == schedule_.stages.size();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      envelope_[schedule_.number(stage, i)] = is_last || i == 0 || i + 1 == steps.size();
    }
  }
}

/// Each stage at the one setting at which its instructions together take least energy.
void EnvPipe::lower_the_rest() {
  for (std::size_t stage = 0; stage < schedule_.stages.size(); ++stage) {
    std::map<std::uint32_t, bool> classes;
    std::size_t levels = SIZE_MAX;
    for (std::size_t i = 0; i < schedule_.stages[stage].size(); ++i) {
      const std::uint32_t c = problem_.class_of()[schedule_.number(stage, i)];
      if (by_level_[c].size() < 2) continue;
      classes[c] = true;
      levels = std::min(levels, by_level_[c].size());
    }
    std::uint32_t best = 0;
    Joules least(INFINITY);
    for (std::uint32_t level = 0; !classes.empty() && level < levels; ++level) {
      Joules energy(0);
      for (const auto& [c, used] : classes) {
        energy += problem_.profiled(c).options[by_level_[c][level]].energy;
      }
      if (energy < least) {
        least = energy;
        best = level;
      }
    }
    for (std::size_t i = 0; i < schedule_.stages[stage].size(); ++i) {
      const std::uint32_t a = schedule_.number(stage, i);
      if (!envelope_[a] && classes.contains(problem_.class_of()[a])) level_[a] = best;
    }
  }
}

std::vector<std::uint32_t> EnvPipe::critical_path() const {
  std::vector<Ticks> durations(schedule_.size());
  for (std::uint32_t a = 0; a < durations.size(); ++a) durations[a] = problem_.duration(option(a));
  const EarliestTimes times = earliest_times(problem_.network(), problem_.order(), durations);
  std::vector<std::uint32_t> path;
  std::uint32_t at = schedule_.number(0, schedule_.stages[0].size() - 1);
  for (;;) {
    path.push_back(at);
    const auto before = problem_.network().predecessors(at);
    const auto tight = [&](std::uint32_t p) {
      return times.start[p] + durations[p] == times.start[at];
    };
    // The neighbour on the stage is the activity with the number before.
    const auto own = std::find(before.begin(), before.end(), at - 1);
    if (own != before.end() && tight(*own)) {
      at = *own;
      continue;
    }
    const auto other = std::find_if(before.begin(), before.end(), tight);
    if (other == before.end()) return path;
    at = *other;
  }
}

EnvPipeResult EnvPipe::run(EnvPipeRaise raise) {
  EnvPipeResult result;
  for (int step = 0; step < kMostSteps; ++step) {
    std::vector<std::uint32_t> raisable;  // from the end of the iteration backwards
    for (const std::uint32_t a : critical_path()) {
      if (!envelope_[a] && level_[a] > 0) raisable.push_back(a);
    }
    if (raisable.empty()) {
      result.in_envelope = true;
      break;
    }
    ++result.raises;
    if (raise == EnvPipeRaise::kGreedy) {
      level_[raisable.front()] -= std::min(level_[raisable.front()], kGreedyStep);
      continue;
    }
    std::uint32_t lowest = 0;
    for (const std::uint32_t a : raisable) lowest = std::max(lowest, level_[a]);
    for (const std::uint32_t a : raisable) {
      if (level_[a] == lowest) --level_[a];
    }
  }
  for (std::uint32_t a = 0; a < level_.size(); ++a) {
    result.option.push_back(by_level_[problem_.class_of()[a]][level_[a]]);
  }
  return result;
}

}  // namespace

EnvPipeResult env_pipe(const PipelineProblem& problem, EnvPipeRaise raise) {
  return EnvPipe(problem).run(raise);
}

}  // namespace perjoule
