#include "pipeline/peers/zeus_baselines.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "pipeline/plan/baselines.h"

namespace perjoule {
namespace {

std::vector<ZeusCandidate> by_cost(const PipelineProblem& problem, double eta,
                                   std::vector<std::vector<std::uint32_t>> choices) {
  Watts highest(0);
  for (std::uint32_t c = 0; c < problem.classes(); ++c) {
    for (const KnobOption& option : problem.profiled(c).options) {
      highest = std::max(highest, option.energy / option.time);
    }
  }
  const Watts power = highest * static_cast<double>(problem.schedule().stages.size());
  std::vector<ZeusCandidate> candidates;
  for (std::vector<std::uint32_t>& option : choices) {
    ZeusCandidate candidate;
    candidate.iteration = simulate_iteration(problem, option);
    candidate.option = std::move(option);
    const Joules at_most = power * problem.seconds(candidate.iteration.makespan);
    candidate.cost = (candidate.iteration.energy * eta + at_most * (1 - eta)).value();
    candidates.push_back(std::move(candidate));
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const ZeusCandidate& a, const ZeusCandidate& b) { return a.cost < b.cost; });
  return candidates;
}

/// Options of a class, the highest setting first.
std::vector<std::uint32_t> ranked(const ProfiledInstruction& instruction) {
  std::vector<std::uint32_t> levels(instruction.options.size());
  std::iota(levels.begin(), levels.end(), 0);
  std::stable_sort(levels.begin(), levels.end(), [&](std::uint32_t a, std::uint32_t b) {
    return is_higher_setting(instruction.options[a], instruction.options[b]);
  });
  return levels;
}

}  // namespace

std::vector<ZeusCandidate> zeus_global(const PipelineProblem& problem, double eta) {
  std::vector<UniformSetting> settings = uniform_settings(problem);
  std::stable_sort(
      settings.begin(), settings.end(), [](const UniformSetting& a, const UniformSetting& b) {
        return is_higher_setting({a.knob, {}, {}, {}, {}, 1}, {b.knob, {}, {}, {}, {}, 1});
      });
  if (settings.size() > 1) settings.pop_back();
  std::vector<std::vector<std::uint32_t>> choices;
  choices.reserve(settings.size());
  for (UniformSetting& setting : settings) choices.push_back(std::move(setting.option));
  return by_cost(problem, eta, std::move(choices));
}

std::vector<ZeusCandidate> zeus_per_stage(const PipelineProblem& problem, double eta) {
  const PipelineSchedule& schedule = problem.schedule();
  std::vector<std::vector<std::uint32_t>> levels(problem.classes());
  for (std::uint32_t c = 0; c < levels.size(); ++c) levels[c] = ranked(problem.profiled(c));
  // The first instruction that each stage issues stands for it: a forward.
  std::vector<std::uint32_t> first(schedule.stages.size());
  for (std::size_t s = 0; s < first.size(); ++s) {
    first[s] = problem.class_of()[schedule.number(s, 0)];
  }
  const auto time_at = [&](std::size_t stage, std::size_t level) {
    const std::uint32_t c = first[stage];
    return problem.profiled(c).options[levels[c][std::min(level, levels[c].size() - 1)]].time;
  };
  std::size_t heaviest = 0;
  for (std::size_t s = 1; s < first.size(); ++s) {
    if (time_at(s, 0) > time_at(heaviest, 0)) heaviest = s;
  }
  std::vector<std::vector<std::uint32_t>> choices;
  for (std::size_t level = 0; level < levels[first[heaviest]].size(); ++level) {
    std::vector<std::size_t> of_stage(first.size(), level);
    for (std::size_t s = 0; s < first.size(); ++s) {
      if (s == heaviest) continue;
      const auto distance = [&](std::size_t at) {
        return std::abs((time_at(s, at) - time_at(heaviest, level)).value());
      };
      std::size_t at = 0;
      while (at + 1 < levels[first[s]].size() && distance(at + 1) < distance(at)) ++at;
      of_stage[s] = at;
    }
    std::vector<std::uint32_t> option;
    for (std::size_t s = 0; s < first.size(); ++s) {
      for (std::size_t i = 0; i < schedule.stages[s].size(); ++i) {
        const std::uint32_t c = problem.class_of()[schedule.number(s, i)];
        option.push_back(levels[c][std::min(of_stage[s], levels[c].size() - 1)]);
      }
    }
    choices.push_back(std::move(option));
  }
  return by_cost(problem, eta, std::move(choices));
}

}  // namespace perjoule
