#include "cli/fleet_plan_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/fleet_options.h"
#include "cli/table.h"
#include "fleet/plan/server_curves.h"

namespace perjoule::cli {
namespace {

constexpr auto kRight = Table::Align::kRight;

std::string watts_text(const std::optional<Watts>& power) {
  return power ? to_text(*power, 5) : std::string("-");
}

Json watts_json(const std::optional<Watts>& power) { return power ? Json(power->value()) : Json(); }

std::string clock_text(const ProfileCurve& curve) {
  return fmt::format("{:g} MHz", curve.clock_mhz);
}

/// Why one instance has no answer.
std::string why_late(const GpuClock& one) {
  const ClockChoice& choice = one.choice;
  if (!choice.nearest) return fmt::format("an instance carries at most {:g}", choice.highest_load);
  const ProfileCurve& curve = one.profile.curves[choice.nearest->curve];
  return fmt::format("late: nearest is {} {}, {:.3g} times what is allowed", text_of(curve.layout),
                     clock_text(curve), choice.nearest_times);
}

Table clock_table(const PlanView& view, const std::vector<LoadPlan>& plans) {
  Table table({{"ONE INSTANCE AT", kRight},
               {"GPU"},
               {"LAYOUT"},
               {"CLOCK", kRight},
               {"POWER", kRight},
               {"TTFT", kRight},
               {"TBT", kRight},
               {"FIGURES"},
               {"HIGHEST CLOCK", kRight},
               {"SAVED", kRight}});
  for (const LoadPlan& plan : plans) {
    for (const GpuClock& one : plan.clocks) {
      const std::string load = fmt::format("{:g}/s", plan.problem.load);
      const ClockChoice& choice = one.choice;
      if (!choice.chosen) {
        table.add({load, printable(one.gpu), "none"});
        continue;
      }
      const ProfileCurve& curve = one.profile.curves[choice.chosen->curve];
      const ServingPoint& point = choice.chosen->at.point;
      std::string highest = "-";
      if (choice.reference) {
        highest = to_text(choice.reference->at.point.power, 5);
        if (!choice.reference_meets) highest += " (late)";
      }
      const auto saving = choice.saving();
      table.add({load, printable(one.gpu), text_of(curve.layout), clock_text(curve),
                 to_text(point.power, 5), to_text(point.ttft[view.target.ttft.statistic], 3),
                 to_text(point.tbt[view.target.tbt.statistic], 3),
                 std::string(name_of(choice.chosen->at.reach)), highest,
                 saving ? percent(*saving, 1) : "-"});
    }
  }
  return table;
}

/// A line for every instance that has no answer.
std::string late_text(const std::vector<LoadPlan>& plans) {
  std::string text;
  for (const LoadPlan& plan : plans) {
    for (const GpuClock& one : plan.clocks) {
      if (one.choice.chosen) continue;
      text += fmt::format("none at {:g}/s on {}: {}\n", plan.problem.load, printable(one.gpu),
                          why_late(one));
    }
  }
  return text;
}

Table pool_table(const PlanView& view, const std::vector<LoadPlan>& plans) {
  Table table({{"POOL FOR", kRight},
               {"KIND"},
               {"COUNT", kRight},
               {"LAYOUT"},
               {"CLOCK", kRight},
               {"LOAD OF EACH", kRight},
               {"POWER", kRight}});
  for (const LoadPlan& plan : plans) {
    const std::string load = fmt::format("{:g}/s", plan.problem.load);
    if (!plan.pool.feasible) {
      table.add({load, "infeasible"});
      continue;
    }
    for (const PoolUse& use : plan.pool.uses) {
      const PoolKind& kind = plan.problem.kinds[use.kind];
      const PoolRow& row = kind.rows[use.row];
      const ProfileCurve& curve = view.profile.curves[row.curve];
      table.add({load, printable(kind.name), std::to_string(use.count), text_of(curve.layout),
                 clock_text(curve), fmt::format("{:g}/s", row.load),
                 to_text(row.power * use.count, 5)});
    }
  }
  return table;
}

Table total_table(const std::vector<LoadPlan>& plans) {
  Table table({{"IN ALL FOR", kRight},
               {"GPUS", kRight},
               {"CARRIES", kRight},
               {"POWER", kRight},
               {"EQUAL LOADS", kRight},
               {"AT THE HIGHEST CLOCK", kRight}});
  for (const LoadPlan& plan : plans) {
    const bool feasible = plan.pool.feasible;
    table.add({fmt::format("{:g}/s", plan.problem.load),
               feasible ? std::to_string(plan.pool.gpus) : "-",
               feasible ? fmt::format("{:g}/s", plan.pool.capacity) : "-",
               feasible ? to_text(plan.pool.power, 5) : "-", watts_text(plan.equal.free),
               watts_text(plan.equal.highest_clock)});
  }
  return table;
}

Json pick_json(const GpuClock& one, const std::optional<ClockPick>& pick) {
  if (!pick) return {};
  const ProfileCurve& curve = one.profile.curves[pick->curve];
  Json json = Json::object();
  json["tp"] = curve.layout.tensor_parallel;
  json["pp"] = curve.layout.pipeline_parallel;
  json["clock_mhz"] = curve.clock_mhz;
  json["power_w"] = pick->at.point.power.value();
  json["reach"] = name_of(pick->at.reach);
  return json;
}

Json clock_json(const GpuClock& one) {
  Json json = Json::object();
  json["gpu"] = one.gpu;
  json["chosen"] = pick_json(one, one.choice.chosen);
  json["highest_clock"] = pick_json(one, one.choice.reference);
  json["highest_clock_meets"] = one.choice.reference_meets;
  const auto saving = one.choice.saving();
  json["saving"] = saving ? Json(*saving) : Json();
  if (!one.choice.chosen) json["reason"] = why_late(one);
  return json;
}

Json pool_json(const PlanView& view, const LoadPlan& plan) {
  Json json = Json::object();
  json["feasible"] = plan.pool.feasible;
  if (!plan.pool.feasible) {
    json["reason"] = why_infeasible(plan);
    return json;
  }
  json["power_w"] = plan.pool.power.value();
  json["capacity_tps"] = plan.pool.capacity;
  json["gpus"] = plan.pool.gpus;
  json["instances"] = Json::array();
  for (const PoolUse& use : plan.pool.uses) {
    const PoolKind& kind = plan.problem.kinds[use.kind];
    const PoolRow& row = kind.rows[use.row];
    const ProfileCurve& curve = view.profile.curves[row.curve];
    Json one = Json::object();
    one["kind"] = kind.name;
    one["count"] = use.count;
    one["tp"] = curve.layout.tensor_parallel;
    one["pp"] = curve.layout.pipeline_parallel;
    one["clock_mhz"] = curve.clock_mhz;
    one["load_tps"] = row.load;
    one["power_w"] = row.power.value();
    json["instances"].push_back(std::move(one));
  }
  return json;
}

}  // namespace

std::vector<GpuClock> clocks_at(const ServingProfile& profile, double load,
                                const LatencyTarget& target) {
  std::vector<GpuClock> clocks;
  for (const ProfileCurve& curve : profile.curves) {
    const std::string& gpu = curve.layout.gpu;
    const bool done = std::any_of(clocks.begin(), clocks.end(),
                                  [&](const GpuClock& one) { return one.gpu == gpu; });
    if (done) continue;
    GpuClock one{gpu, select_curves(profile, "", gpu, ""), {}};
    one.choice = choose_clock(one.profile, load, target);
    clocks.push_back(std::move(one));
  }
  return clocks;
}

EqualSplits equal_splits(const ServingProfile& profile, const PoolProblem& problem,
                         const LatencyTarget& target) {
  if (problem.kinds.size() != 1) return {};
  const auto servers = ServerCurves::make(profile, target);
  if (!servers) return {};
  const PoolKind& kind = problem.kinds.front();
  int most = kind.most;
  if (problem.most_gpus) most = std::min(most, *problem.most_gpus / kind.gpus);
  EqualSplits splits;
  if (const auto split = best_equal_split(*servers, problem.load, most, {}))
    splits.free = split->power;
  const auto highest =
      best_equal_split(*servers, problem.load, most, {.clock = ClockScaling::kHighest});
  if (highest) splits.highest_clock = highest->power;
  return splits;
}

std::string why_infeasible(const LoadPlan& plan) {
  const double most = highest_pool_load(plan.problem);
  const std::string load = fmt::format("{:g} tokens/s", plan.problem.load);
  if (most == 0) {
    for (const PoolKind& kind : plan.problem.kinds) {
      if (!kind.rows.empty()) return load + ": no instances there may be";
    }
    return load + ": no point of the profile meets the latencies";
  }
  return fmt::format("{}: the instances there may be carry at most {:g} within the latencies", load,
                     most);
}

std::string plan_text(const PlanView& view, const std::vector<LoadPlan>& plans) {
  return clock_table(view, plans).text() + late_text(plans) + "\n" +
         pool_table(view, plans).text() + "\n" + total_table(plans).text() + "\n" +
         text_of(view.target) + "; solved by " + view.solver + ".\n" + profile_footer(view.profile);
}

Json plan_json(const PlanView& view, const std::vector<LoadPlan>& plans) {
  Json json = Json::object();
  json["schema"] = "perjoule.fleet-plan.v1";
  json["target"] = json_of(view.target);
  json["solver"] = view.solver;
  json["origins"] = json_of_texts(origins_of(view.profile));
  json["loads"] = Json::array();
  for (const LoadPlan& plan : plans) {
    Json one = Json::object();
    one["load_tps"] = plan.problem.load;
    one["clocks"] = Json::array();
    for (const GpuClock& clock : plan.clocks) one["clocks"].push_back(clock_json(clock));
    one["pool"] = pool_json(view, plan);
    one["equal_split_w"] = watts_json(plan.equal.free);
    one["equal_split_highest_clock_w"] = watts_json(plan.equal.highest_clock);
    json["loads"].push_back(std::move(one));
  }
  json["notes"] = json_of_texts(view.profile.notes);
  return json;
}

}  // namespace perjoule::cli
