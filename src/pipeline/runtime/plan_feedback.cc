// What the plan service learns from the iterations that run as planned: times that drift, what a
// change of setting takes, and how much slack plans must leave.
#include <algorithm>
#include <cmath>

#include "pipeline/runtime/plan_service.h"

namespace perjoule {
namespace {

/// A switch that takes less of an instruction's time is as good as none.
constexpr double kNoSwitchTime = 0.02;
/// Nor is all planned anew for less of a change of what a switch takes.
constexpr double kSameSwitchTime = 0.25;

/// An iteration that takes this much longer than it may, relative, is planned anew with more slack.
constexpr double kInTime = 0.005;
/// What takes longer for other reasons than full stages would take all slack there is.
constexpr double kMostMargin = 0.02;

}  // namespace

void PlanService::follow_drift(const Rank& rank, const IterationReport& report,
                               const Decision& decision) {
  // A straggler is slow for reasons that are not the model's; it is followed by straggle().
  const bool straggles = decision.stragglers.count(rank.place.pipeline) > 0;
  const bool waits = decision.waiting && !straggles;
  const StageSettings& settings = waits ? *decision.waiting : *decision.usual;
  const auto stage = static_cast<std::size_t>(rank.place.stage);
  for (std::size_t i = 0; i < report.took.size() && !straggles; ++i) {
    const PipelineStep& step = schedule_.stages[stage][i];
    const std::vector<std::uint32_t>& knob = settings.knob[stage];
    const auto option_at = [&](std::uint32_t setting) {
      return first_plans_->option(rank.place.stage, step, settings.knobs[setting]);
    };
    const KnobOption* const option = option_at(knob[i]);
    if (option == nullptr || !std::isfinite(report.took[i].value())) continue;
    std::optional<Seconds> before;
    if (i > 0 && knob[i] != knob[i - 1]) {
      const KnobOption* const was = option_at(knob[i - 1]);
      if (was == nullptr) continue;
      before = was->time;
    }
    drift_.add(rank.place.stage, step, report.took[i], option->time, before);
  }
  // Once an iteration, by the first rank there is.
  const auto first =
      std::find_if(ranks_.begin(), ranks_.end(), [](const Rank& other) { return !other.gone; });
  if (first == ranks_.end() || &*first != &rank || !drift_.iteration() || planning_ ||
      turns_.under_way())
    return;
  const bool learnt_switching = learn_switching();
  const bool learnt_margin = learn_margin(decision);
  if (drift_.drifted()) {
    start_planning(drift_.scaled(first_plans_->profile(), schedule_), plans_->power());
  } else if (learnt_switching || learnt_margin) {
    start_planning(plans_->profile(), plans_->power());
  } else if (decision.usual == usual_) {
    turns_.settle(usual_.get());
  }
  drift_.restart();
}

bool PlanService::learn_switching() {
  const auto law = drift_.switch_law();
  if (!law || !measures_switching_) return false;
  SwitchCost& known = request_.plans.switching;
  SwitchCost measured = plans_->switch_cost(*law);
  bool changed = false;
  for (const SwitchCost::Pair& one : measured.pairs) {
    const Seconds before = known.time_of(one.from, one.to);
    const double change = std::abs((one.time - before).value());
    changed = changed || (change >= kNoSwitchTime * plans_->mean_instruction().value() &&
                          change >= kSameSwitchTime * before.value());
  }
  if (changed) known = std::move(measured);
  return changed;
}

bool PlanService::learn_margin(const Decision& decision) {
  if (!decision.stragglers.empty() || decision.plans != plans_) return false;
  const auto time_of = [](const Stretch& stretch) {
    Seconds time;
    for (const auto& [number, rank] : stretch.ranks) {
      if (rank.iterations() > 0) time = std::max(time, rank.median_time());
    }
    return time;
  };
  Seconds may_take = plans_->highest().time;
  Seconds takes;
  for (const Stretch& stretch : stretches_) {
    if (stretch.decision.phase == RuntimePhase::kHighest) may_take = time_of(stretch);
    if (stretch.decision.epoch == decision.epoch) takes = time_of(stretch);
  }
  const double over =
      takes / std::max(may_take * request_.plans.slowdown, plans_->usual().time) - 1;
  if (over <= kInTime || request_.plans.margin >= kMostMargin) return false;
  request_.plans.margin = std::min(kMostMargin, request_.plans.margin + over);
  return true;
}

}  // namespace perjoule
