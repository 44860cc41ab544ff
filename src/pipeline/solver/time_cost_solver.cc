// The solver of time_cost_frontier.h.
//
// Two trees are kept (search_trees.h). While they do not meet, everything but the source's tree
// moves (event_walk.h).
#include <algorithm>

#include "pipeline/solver/event_walk.h"
#include "pipeline/solver/time_cost_frontier.h"

namespace perjoule {
namespace {

__extension__ using Wide = __int128;  // a flow times a shift

using Arc = ResidualNetwork::Arc;

/// Paths of one makespan that are filled one by one before all are filled at once.
constexpr int kFewPaths = 2;

}  // namespace

class TimeCostSolver {
 public:
  TimeCostSolver(const ActivityNetwork& network, std::span<const std::uint32_t> curve_of,
                 const CurveSet& curves, const ScheduleTimes& wanted)
      : net_(network, curve_of, curves), walk_(net_), curves_(curves), wanted_(wanted) {
    std::sort(wanted_.makespans.begin(), wanted_.makespans.end(), std::greater<>());
  }

  void place(std::span<const Ticks> start, std::span<const Ticks> durations, Ticks makespan);
  /// Down to the shortest makespan, or to the last wanted one where only those are.
  void run();
  TimeCostFrontier take(double cost_of_longest);

 private:
  bool before_move(Ticks shift);
  void corner(bool last);
  void keep_schedule(Ticks shift);

  ResidualNetwork net_;
  EventWalk walk_;
  const CurveSet& curves_;
  ScheduleTimes wanted_;
  std::size_t kept_ = 0;    ///< of wanted_.makespans
  bool kept_flow_ = false;  ///< that wanted_.flow was passed
  Ticks longest_ = 0;
  Wide cost_ = 0;  ///< units above the longest makespan's
  TimeCostFrontier result_;
};

void TimeCostSolver::place(std::span<const Ticks> start, std::span<const Ticks> durations,
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

/// Keeps the schedules wanted on the way to a shift, and counts what it costs. False where the last
/// one that is wanted is passed.
bool TimeCostSolver::before_move(Ticks shift) {
  while (kept_ < wanted_.makespans.size() && longest_ - wanted_.makespans[kept_] <= shift) {
    keep_schedule(std::max<Ticks>(0, longest_ - wanted_.makespans[kept_]));
    ++kept_;
  }
  cost_ += static_cast<Wide>(walk_.trees().flow()) * (shift - walk_.shift());
  return !wanted_.only || kept_ < wanted_.makespans.size();
}

/// Keeps the schedule of a shift between the last event and the next one.
void TimeCostSolver::keep_schedule(Ticks shift) {
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
  result_.schedules_.push_back(std::move(schedule));
}

void TimeCostSolver::corner(bool last) {
  auto& corners = result_.corners_;
  const double cost = static_cast<double>(cost_) * curves_.unit();
  const std::int64_t flow = walk_.trees().flow();
  const FrontierCorner here{longest_ - walk_.shift(), cost, flow};
  if (!corners.empty() && corners.back().makespan == here.makespan) corners.pop_back();
  if (last || corners.empty() || corners.back().flow != here.flow) corners.push_back(here);
  if (wanted_.flow && !kept_flow_ && (last || flow >= *wanted_.flow)) {
    kept_flow_ = true;
    keep_schedule(walk_.shift());
  }
  if (last) {
    for (; kept_ < wanted_.makespans.size(); ++kept_) keep_schedule(walk_.shift());
  }
}

void TimeCostSolver::run() {
  SearchTrees& trees = walk_.trees();
  trees.grow_anew();
  for (;;) {
    for (int filled = 0; trees.take_meeting(); ++filled) {
      if (!(filled < kFewPaths ? trees.fill() : trees.fill_all())) return corner(true);
      if (filled < kFewPaths) trees.mend();
    }
    corner(false);
    walk_.list_crossings();
    if (!walk_.advance([this](Ticks shift) { return before_move(shift); })) return corner(true);
    walk_.settle_all();
  }
}

TimeCostFrontier TimeCostSolver::take(double cost_of_longest) {
  for (FrontierCorner& corner : result_.corners_) corner.cost += cost_of_longest;
  result_.counts_.augmentations = walk_.trees().augmentations();
  result_.counts_.events = walk_.events();
  result_.counts_.detached = walk_.trees().detached();
  std::stable_sort(result_.schedules_.begin(), result_.schedules_.end(),
                   [](const Schedule& a, const Schedule& b) { return a.makespan > b.makespan; });
  return std::move(result_);
}

Result<TimeCostFrontier> solve_time_cost(const ActivityNetwork& network,
                                         std::span<const std::uint32_t> curve_of,
                                         const CurveSet& curves, const ScheduleTimes& wanted) {
  PJ_TRY(const std::vector<std::uint32_t> order, network.topological_order());
  std::vector<Ticks> slowest(network.size());
  double cost = 0;
  for (std::uint32_t a = 0; a < network.size(); ++a) {
    slowest[a] = curves.durations(curve_of[a]).back();
    cost += curves.cost(curve_of[a], slowest[a]);
  }
  const EarliestTimes times = earliest_times(network, order, slowest);
  TimeCostSolver solver(network, curve_of, curves, wanted);
  solver.place(times.start, slowest, times.makespan);
  solver.run();
  return solver.take(cost);
}

}  // namespace perjoule
