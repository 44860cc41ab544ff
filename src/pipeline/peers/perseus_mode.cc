#include "pipeline/peers/perseus_mode.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "pipeline/solver/cost_curve.h"
#include "pipeline/solver/time_cost_frontier.h"

namespace perjoule {
namespace {

/// Python's floor division of floats: made of the remainder, so that 1.0 // 0.1 is 9.
std::int64_t floor_divide(double dividend, double divisor) {
  const double remainder = std::fmod(dividend, divisor);
  const double quotient = (dividend - remainder) / divisor;
  double floored = std::floor(quotient);
  if (quotient - floored > 0.5) floored += 1;
  return static_cast<std::int64_t>(floored);
}

struct Trial {
  PerseusCandidate candidate;
  double cost;  ///< what the filter compares: raw or effective energy
};

/// What no other one beats by more than the factor in both time and cost.
std::vector<Trial> unbeaten(const std::vector<Trial>& trials, double factor) {
  std::vector<Trial> left;
  for (const Trial& one : trials) {
    const bool beaten = std::any_of(trials.begin(), trials.end(), [&](const Trial& other) {
      return other.candidate.time.value() < factor * one.candidate.time.value() &&
             other.cost < factor * one.cost;
    });
    if (!beaten) left.push_back(one);
  }
  return left;
}

}  // namespace

std::vector<PerseusCandidate> perseus_candidates(const ProfiledInstruction& instruction,
                                                 const PerseusOptions& options) {
  std::vector<Trial> trials;
  for (std::uint32_t i = 0; i < instruction.options.size(); ++i) {
    const KnobOption& option = instruction.options[i];
    PerseusCandidate candidate;
    candidate.index = i;
    candidate.time = option.time;
    candidate.quantised = floor_divide(option.time.value(), options.unit.value());
    candidate.effective =
        option.energy - options.blocking * options.unit * static_cast<double>(candidate.quantised);
    const Joules compared =
        options.filter == PerseusFilter::kArtifact ? option.energy : candidate.effective;
    trials.push_back({candidate, compared.value()});
  }
  std::vector<Trial> left = unbeaten(trials, 1);
  if (left.size() <= 3) left = unbeaten(trials, options.noise_factor);
  // Of one quantised time the costliest stays: rounding down made it the closest.
  std::map<std::int64_t, PerseusCandidate, std::greater<>> by_time;
  for (const Trial& one : left) {
    const auto [at, is_new] = by_time.try_emplace(one.candidate.quantised, one.candidate);
    if (!is_new && one.candidate.effective > at->second.effective) at->second = one.candidate;
  }
  std::vector<PerseusCandidate> candidates;
  candidates.reserve(by_time.size());
  for (const auto& [time, candidate] : by_time) candidates.push_back(candidate);
  return candidates;
}

Result<std::vector<PerseusModel>> perseus_models(const PipelineProfile& profile,
                                                 const PipelineSchedule& schedule,
                                                 const PerseusOptions& options) {
  std::vector<PerseusModel> models;
  for (std::size_t stage = 0; stage < schedule.stages.size(); ++stage) {
    for (const std::string& name : schedule.instructions) {
      PerseusModel model;
      PJ_TRY(model.instruction, profile.find(static_cast<int>(stage), 0, name));
      model.candidates = perseus_candidates(*model.instruction, options);
      std::vector<Sample> samples;
      for (const PerseusCandidate& c : model.candidates) {
        samples.push_back({static_cast<double>(c.quantised), c.effective.value()});
      }
      Result<ExponentialFit> fit = fit_exponential(samples, options.unit.value() / 1e-3);
      if (!fit) {
        return fail(fit, fmt::format("{} of stage {}", name, stage));
      }
      model.fit = *fit;
      models.push_back(std::move(model));
    }
  }
  return models;
}

Result<std::vector<PerseusPoint>> perseus_frontier(const PipelineSchedule& schedule,
                                                   const std::vector<PerseusModel>& models,
                                                   const PerseusOptions& options) {
  CurveSet curves;
  std::vector<std::uint32_t> curve_of;
  const std::size_t kinds = schedule.instructions.size();
  for (const PerseusModel& model : models) {
    std::vector<CostPoint> points;
    const std::int64_t slowest = model.candidates.front().quantised;
    for (std::int64_t q = model.candidates.back().quantised; q <= slowest; ++q) {
      points.push_back({q, model.fit.at(static_cast<double>(q))});
    }
    curves.add(points, static_cast<std::uint64_t>(schedule.shape.microbatches));
  }
  PJ_CHECK(curves.seal());
  for (std::size_t stage = 0; stage < schedule.stages.size(); ++stage) {
    for (const PipelineStep& step : schedule.stages[stage]) {
      curve_of.push_back(static_cast<std::uint32_t>(stage * kinds + step.instruction));
    }
  }
  PJ_TRY(const TimeCostFrontier frontier, solve_time_cost(schedule.network(), curve_of, curves));
  const auto stages = static_cast<double>(schedule.stages.size());
  std::vector<PerseusPoint> points;
  for (Ticks t = frontier.longest() - 1; t >= frontier.shortest(); --t) {
    PerseusPoint point;
    point.quantised = t;
    point.time = options.unit * static_cast<double>(t);
    point.effective = Joules(frontier.cost_at(t));
    point.total = point.effective + options.blocking * point.time * stages;
    points.push_back(point);
  }
  return points;
}

}  // namespace perjoule
