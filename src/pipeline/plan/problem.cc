#include "pipeline/plan/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>

#include "base/text.h"

namespace perjoule {

Result<PipelineProblem> PipelineProblem::make(const PipelineProfile& profile,
                                              const PipelineSchedule& schedule, BlockingPower power,
                                              const SwitchCost& switching) {
  if (static_cast<std::size_t>(profile.stages()) != schedule.stages.size()) {
    return Error::invalid_argument(
        fmt::format("{} has {}, the schedule {}", profile.name(),
                    counted(profile.stages(), "stage"), schedule.stages.size()),
        "a pipeline has one profile for each of its stages");
  }
  PipelineProblem problem(schedule, std::move(power));
  problem.switching_ = switching;
  const std::vector<std::uint32_t> cycle = problem.network_.find_cycle();
  if (!cycle.empty()) {
    std::string names;
    for (const std::uint32_t activity : cycle) names += schedule.describe(activity) + " -> ";
    return Error::invalid_argument(
        fmt::format("the order waits for itself: {}{}", names, schedule.describe(cycle.front())),
        "no instruction may come before one that it waits for");
  }
  PJ_TRY(problem.order_, problem.network_.topological_order());
  PJ_CHECK(problem.gather(profile));
  PJ_CHECK(problem.check_figures());
  PJ_CHECK(problem.choose_tick());
  PJ_CHECK(problem.make_curves());
  problem.number_knobs();
  problem.tabulate_switches();
  return problem;
}

Outcome PipelineProblem::gather(const PipelineProfile& profile) {
  std::map<std::tuple<std::size_t, int, std::uint32_t>, std::uint32_t> index;
  class_of_.reserve(schedule_->size());
  for (std::size_t stage = 0; stage < schedule_->stages.size(); ++stage) {
    for (const PipelineStep& step : schedule_->stages[stage]) {
      const auto [at, is_new] = index.try_emplace({stage, step.chunk, step.instruction},
                                                  static_cast<std::uint32_t>(classes_.size()));
      if (is_new) {
        PJ_TRY(const ProfiledInstruction* const profiled,
               profile.find(static_cast<int>(stage), step.chunk,
                            schedule_->instructions[step.instruction]));
        classes_.push_back({profiled});
      }
      class_of_.push_back(at->second);
    }
  }
  return {};
}

Outcome PipelineProblem::check_figures() const {
  // Written so that NaN is refused as well.
  const auto is_power = [](Watts power) { return std::abs(power.value()) <= kMostPower.value(); };
  bool powers = is_power(power_.constant);
  for (const BlockingPower::AtKnob& one : power_.by_knob) powers = powers && is_power(one.power);
  if (!powers) {
    return Error::out_of_range(fmt::format("a blocking power above {}", to_text(kMostPower)),
                               "it is what one GPU draws while it waits: measure it, in watts");
  }
  if (!(switching_.energy <= kMostEnergy)) {
    return Error::out_of_range(
        fmt::format("a change of setting that takes {}", to_text(switching_.energy)),
        fmt::format("at most {} are believed of one", to_text(kMostEnergy)));
  }
  for (const Class& one : classes_) {
    for (const KnobOption& option : one.profiled->options) {
      const bool fits = option.time <= kMostTime && option.energy <= kMostEnergy &&
                        option.time.value() > 0 && std::isfinite(option.energy.value());
      if (fits) continue;
      return Error::out_of_range(
          fmt::format("{} of stage {} takes {} s and {} J", one.profiled->name, one.profiled->stage,
                      option.time.value(), option.energy.value()),
          fmt::format("at most {:g} s and {:g} J are believed of one instruction, with the factors "
                      "that it is multiplied by",
                      kMostTime.value(), kMostEnergy.value()));
    }
  }
  return {};
}

Outcome PipelineProblem::choose_tick() {
  double shortest = INFINITY;
  double longest = 0;
  for (const Class& one : classes_) {
    for (const KnobOption& option : one.profiled->options) {
      shortest = std::min(shortest, option.time.value());
      longest = std::max(longest, option.time.value());
    }
  }
  double per_second = 1e6;
  while (shortest * per_second < 1000 && per_second < 1e12) per_second *= 10;
  // The sum of all durations stays below 2^60 ticks; a coarser tick rather than none.
  while (longest * static_cast<double>(schedule_->size()) * per_second > 0x1p60) per_second /= 10;
  // A long pipeline's makespans are scaled by its events, twice, where they are solved alone: as
  // far as that leaves the shortest a hundred ticks.
  const double events = 2.0 * static_cast<double>(schedule_->size()) + 3;
  while (longest * events * events * per_second > 0x1p60 && shortest * per_second > 1000)
    per_second /= 10;
  if (shortest * per_second < 1) {
    return Error::out_of_range(
        fmt::format("times from {} to {} in one pipeline of {} instructions",
                    to_text(Seconds(shortest)), to_text(Seconds(longest)), schedule_->size()),
        "64-bit ticks cannot hold both; leave out instructions that take next to no time");
  }
  ticks_a_second_ = per_second;
  return {};
}

Outcome PipelineProblem::make_curves() {
  const double waiting = power_.least().value();
  std::vector<std::uint64_t> uses(classes_.size(), 0);
  for (const std::uint32_t c : class_of_) ++uses[c];
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    Class& one = classes_[c];
    std::vector<PipelineOption> all;
    for (std::uint32_t i = 0; i < one.profiled->options.size(); ++i) {
      const KnobOption& option = one.profiled->options[i];
      all.push_back({duration(option), option.energy.value() - waiting * option.time.value(), i});
    }
    std::stable_sort(all.begin(), all.end(), [](const PipelineOption& a, const PipelineOption& b) {
      return a.duration != b.duration ? a.duration < b.duration : a.effective < b.effective;
    });
    std::vector<CostPoint> points;
    for (const PipelineOption& option : all) {
      if (!one.options.empty() && option.effective >= one.options.back().effective) continue;
      one.options.push_back(option);
      points.push_back({option.duration, option.effective});
    }
    curves_.add(falling_hull(std::move(points)), uses[c]);
  }
  return curves_.seal();
}

void PipelineProblem::number_knobs() {
  const auto hash = [](const Config& config) { return config.hash(); };
  std::unordered_map<Config, std::uint32_t, decltype(hash)> numbers(0, hash);
  for (Class& one : classes_) {
    for (const KnobOption& option : one.profiled->options) {
      const auto [at, is_new] =
          numbers.try_emplace(option.knob, static_cast<std::uint32_t>(knobs_.size()));
      if (is_new) knobs_.push_back(option.knob);
      one.knobs.push_back(at->second);
    }
  }
}

void PipelineProblem::tabulate_switches() {
  const bool none = switching_.time.value() <= 0 && switching_.pairs.empty();
  if (none) return;
  const std::size_t count = knobs_.size();
  std::vector<Ticks> table(count * count, ticks(switching_.time));
  for (std::size_t i = 0; i < count; ++i) table[i * count + i] = 0;
  for (const SwitchCost::Pair& one : switching_.pairs) {
    const auto from = std::find(knobs_.begin(), knobs_.end(), one.from);
    const auto to = std::find(knobs_.begin(), knobs_.end(), one.to);
    if (from == to || from == knobs_.end() || to == knobs_.end()) continue;
    table[static_cast<std::size_t>(from - knobs_.begin()) * count +
          static_cast<std::size_t>(to - knobs_.begin())] = ticks(one.time);
  }
  if (std::any_of(table.begin(), table.end(), [](Ticks time) { return time > 0; }))
    switch_ticks_ = std::move(table);
}

Ticks PipelineProblem::duration(const KnobOption& option) const {
  // Half to even, so that what lies between two ticks is not always made longer.
  return std::max<Ticks>(1,
                         static_cast<Ticks>(std::nearbyint(option.time.value() * ticks_a_second_)));
}

std::int64_t PipelineProblem::flow_of_least_energy() const {
  const double a_second = power_.least().value() * static_cast<double>(schedule_->stages.size());
  // Held to what 64 bits have, where a unit of cost is next to nothing beside the power.
  return std::llround(std::clamp(a_second / ticks_a_second_ / curves_.unit(), -0x1p62, 0x1p62));
}

Ticks PipelineProblem::shortest() const {
  std::vector<Ticks> durations;
  for (const std::uint32_t c : class_of_) durations.push_back(curves_.durations(c).front());
  return earliest_times(network_, order_, durations).makespan;
}

Ticks PipelineProblem::longest() const {
  std::vector<Ticks> durations;
  for (const std::uint32_t c : class_of_) durations.push_back(curves_.durations(c).back());
  return earliest_times(network_, order_, durations).makespan;
}

Ticks PipelineProblem::ticks(Seconds time) const {
  // A request of 1.2 s is 1.2 s, not a tick less for what a double makes of it.
  const double ticks = std::floor(time.value() * ticks_a_second_ * (1 + 1e-15) + 1e-6);
  return static_cast<Ticks>(std::clamp(ticks, -0x1p62, 0x1p62));
}

Joules PipelineProblem::total_energy(double effective, Ticks makespan) const {
  const auto stages = static_cast<double>(schedule_->stages.size());
  return Joules(effective) + power_.least() * seconds(makespan) * stages;
}

}  // namespace perjoule
