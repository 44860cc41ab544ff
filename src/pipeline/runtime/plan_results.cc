// What iterations took under which orders, and the plan beside the highest setting.
#include <algorithm>

#include "pipeline/runtime/plan_service.h"

namespace perjoule {

/// Of an iteration, over all ranks; none where none has reported one, missing where some have not:
/// a sum over some of them looks like a saving.
std::optional<Energy> PlanService::energy_of(const Stretch& stretch) const {
  std::optional<Energy> energy;
  std::size_t told = 0;
  for (const auto& [number, rank] : stretch.ranks) {
    if (rank.iterations() == 0) continue;
    ++told;
    const Energy its = rank.mean_energy(ranks_[static_cast<std::size_t>(number)].place.counter);
    energy = energy ? *energy + its : its;
  }
  if (energy && told < ranks_in_all()) energy->status = Status::kMissing;
  return energy;
}

std::optional<PlanService::Summary> PlanService::summary_of(const Stretch& stretch) const {
  const Decision& decision = stretch.decision;
  const StageSettings& settings = decision.waiting ? *decision.waiting : *decision.usual;
  Summary summary;
  summary.phase = decision.phase;
  summary.name = settings.name;
  summary.epoch = decision.epoch;
  summary.first = stretch.first;
  summary.planned_time = settings.time;
  summary.gap = settings.gap;
  const std::optional<Energy> energy = energy_of(stretch);
  if (!energy) return std::nullopt;
  for (const auto& [number, rank] : stretch.ranks) {
    if (rank.iterations() == 0) continue;
    summary.iterations = summary.time.value() > 0 ? std::min(summary.iterations, rank.iterations())
                                                  : rank.iterations();
    summary.time = std::max(summary.time, rank.mean_time());
    summary.median_time = std::max(summary.median_time, rank.median_time());
  }
  summary.energy = *energy;
  if (decision.phase != RuntimePhase::kProfile && decision.phase != RuntimePhase::kPlan && plans_) {
    // What the profile says of them, though they ran before it was there.
    summary.planned_time = plans_->highest().time;
    summary.planned_energy = plans_->highest().energy * job_.pipelines;
    return summary;
  }
  const auto waiting = static_cast<double>(
      decision.waiting ? job_.pipelines - static_cast<int>(decision.stragglers.size()) : 0);
  summary.planned_energy = decision.usual->energy * (job_.pipelines - waiting) +
                           (decision.waiting ? decision.waiting->energy * waiting : Joules(0));
  return summary;
}

std::size_t PlanService::ranks() const {
  const std::lock_guard lock(mutex_);
  return ranks_.size();
}

std::vector<PlanService::Summary> PlanService::summaries() const {
  const std::lock_guard lock(mutex_);
  std::vector<Summary> all;
  for (const Stretch& stretch : stretches_) {
    if (auto summary = summary_of(stretch)) all.push_back(std::move(*summary));
  }
  return all;
}

std::optional<PlanService::Comparison> PlanService::comparison() const {
  const std::lock_guard lock(mutex_);
  const auto told = [](const std::optional<Summary>& summary) {
    return summary && summary->energy.status != Status::kMissing;
  };
  for (std::size_t i = stretches_.size(); i-- > 2;) {
    if (stretches_[i].decision.turn != ComparisonTurns::Turn::kPlanAgain) continue;
    auto highest = summary_of(stretches_[i - 1]);
    auto before = summary_of(stretches_[i - 2]);
    const auto behind = summary_of(stretches_[i]);
    // What was broken off is none.
    const bool whole = told(highest) && told(before) && told(behind) &&
                       stretches_[i - 2].decision.usual == stretches_[i].decision.usual &&
                       2 * behind->iterations >= request_.highest;
    if (!whole) continue;
    before->iterations += behind->iterations;
    before->time = (before->time + behind->time) / 2.0;
    before->median_time = (before->median_time + behind->median_time) / 2.0;
    before->energy = (before->energy + behind->energy) / 2.0;
    return Comparison{std::move(*highest), std::move(*before), true};
  }
  std::optional<Summary> highest;
  std::optional<Summary> plan;
  for (const Stretch& stretch : stretches_) {
    const RuntimePhase phase = stretch.decision.phase;
    if (phase != RuntimePhase::kHighest && phase != RuntimePhase::kPlan) continue;
    auto summary = summary_of(stretch);
    std::optional<Summary>& longest = phase == RuntimePhase::kPlan ? plan : highest;
    if (told(summary) && (!longest || summary->iterations > longest->iterations))
      longest = std::move(summary);
  }
  if (!highest || !plan) return std::nullopt;
  return Comparison{std::move(*highest), std::move(*plan), false};
}

}  // namespace perjoule
