#include "pipeline/solver/time_cost_part.h"

#include <algorithm>

namespace perjoule {
namespace {

using Arc = ResidualNetwork::Arc;

/// Paths of one makespan that are filled one by one before all are filled at once.
constexpr int kFewPaths = 2;

}  // namespace

TimeCostPart::TimeCostPart(const ActivityNetwork& network, std::span<const std::uint32_t> curve_of,
                           const CurveSet& curves, const ScheduleTimes& wanted)
    : net_(network, curve_of, curves), walk_(net_), curves_(curves), wanted_(wanted) {
  std::sort(wanted_.makespans.begin(), wanted_.makespans.end(), std::greater<>());
}

void TimeCostPart::begin(std::span<const Ticks> start, std::span<const Ticks> durations,
                         Ticks makespan) {
  longest_ = makespan;
  std::vector<Ticks> times(net_.nodes());
  for (std::size_t a = 0; a < start.size(); ++a) {
    times[2 * a] = start[a];
    times[2 * a + 1] = start[a] + durations[a];
  }
  times[net_.source()] = 0;
  times[net_.sink()] = makespan;
  walk_.start(std::move(times));
}

void TimeCostPart::begin(const Schedule& schedule) {
  longest_ = schedule.makespan;
  std::vector<Ticks> times(net_.nodes());
  for (std::size_t a = 0; a < schedule.start.size(); ++a) {
    times[2 * a] = schedule.start[a];
    times[2 * a + 1] = schedule.end[a];
  }
  times[net_.source()] = 0;
  times[net_.sink()] = longest_;
  std::int64_t flow = 0;
  for (std::uint32_t number = 0; number < net_.arcs(); ++number) {
    Arc& arc = net_.arc(number);
    arc.flow = schedule.flow[number];
    if (arc.from == net_.source()) flow += arc.flow;
  }
  walk_.start(std::move(times));
  walk_.trees().begin_with(flow);
}

/// Keeps the schedules wanted on the way to a shift, and counts what it costs. False where this
/// part ends on the way.
bool TimeCostPart::before_move(Ticks shift) {
  const Ticks reached = std::min(shift, most_shift_);
  while (kept_ < wanted_.makespans.size() && longest_ - wanted_.makespans[kept_] <= reached) {
    schedules_.push_back(schedule_at(std::max<Ticks>(0, longest_ - wanted_.makespans[kept_])));
    ++kept_;
  }
  cost_ += static_cast<Wide>(walk_.trees().flow()) * (reached - walk_.shift());
  return shift < most_shift_;
}

/// The schedule of a shift between the last event and the next one.
Schedule TimeCostPart::schedule_at(Ticks shift) const {
  Schedule schedule;
  schedule.makespan = longest_ - shift;
  schedule.unit = curves_.unit();
  const std::uint32_t activities = (net_.nodes() - 2) / 2;
  schedule.start.resize(activities);
  schedule.end.resize(activities);
  for (std::uint32_t a = 0; a < activities; ++a) {
    schedule.start[a] = walk_.time_at(2 * a, shift);
    schedule.end[a] = walk_.time_at(2 * a + 1, shift);
  }
  schedule.price.reserve(activities);
  schedule.flow.reserve(net_.arcs());
  for (std::uint32_t number = 0; number < net_.arcs(); ++number) {
    const Arc& arc = net_.arc(number);  // activities' arcs come in their order
    schedule.flow.push_back(arc.flow);
    if (arc.curve == ResidualNetwork::kPrecedence) continue;
    schedule.price.push_back(static_cast<double>(arc.flow) * curves_.unit());
  }
  return schedule;
}

void TimeCostPart::corner() {
  const std::int64_t flow = walk_.trees().flow();
  const FrontierCorner here{longest_ - walk_.shift(), static_cast<double>(cost_) * curves_.unit(),
                            flow};
  if (!corners_.empty() && corners_.back().makespan == here.makespan) corners_.pop_back();
  if (corners_.empty() || corners_.back().flow != here.flow) corners_.push_back(here);
  if (wanted_.flow && !schedule_of_flow_ && flow >= *wanted_.flow)
    schedule_of_flow_ = schedule_at(walk_.shift());
}

void TimeCostPart::end(std::optional<Ticks> until) {
  if (!until) corner();
  const Ticks makespan = until.value_or(longest_ - walk_.shift());
  if (corners_.back().makespan != makespan) {
    corners_.push_back(
        {makespan, static_cast<double>(cost_) * curves_.unit(), walk_.trees().flow()});
  }
  if (until) return;
  for (; kept_ < wanted_.makespans.size(); ++kept_)
    schedules_.push_back(schedule_at(walk_.shift()));
  if (wanted_.flow && !schedule_of_flow_) schedule_of_flow_ = schedule_at(walk_.shift());
}

void TimeCostPart::run(std::optional<Ticks> until) {
  if (until) most_shift_ = longest_ - *until;
  SearchTrees& trees = walk_.trees();
  trees.grow_anew();
  for (;;) {
    for (int filled = 0; trees.take_meeting(); ++filled) {
      if (!(filled < kFewPaths ? trees.fill() : trees.fill_all())) return end({});
      if (filled < kFewPaths) trees.mend();
    }
    corner();
    walk_.list_crossings();
    if (!walk_.advance([this](Ticks shift) { return before_move(shift); }))
      return end(walk_.shift() >= most_shift_ ? until : std::nullopt);
    walk_.settle_all();
  }
}

SolverCounts TimeCostPart::counts() const {
  return {walk_.trees().augmentations(), walk_.events(), walk_.trees().detached(), 1};
}

}  // namespace perjoule
