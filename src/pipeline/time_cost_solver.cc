// The solver of time_cost_frontier.h.
//
// Two trees are kept (search_trees.h). While they do not meet, everything but the source's tree
// moves.
#include <algorithm>

#include "pipeline/residual_network.h"
#include "pipeline/search_trees.h"
#include "pipeline/time_cost_frontier.h"

namespace perjoule {
namespace {

__extension__ using Wide = __int128;  // a flow times a shift

using Arc = ResidualNetwork::Arc;
using Neighbour = ResidualNetwork::Neighbour;

/// Paths of one makespan that are filled one by one before all are filled at once.
constexpr int kFewPaths = 2;

/// An arc between the source's tree and the rest, and the shift at which it comes to a corner.
struct Crossing {
  Ticks event;
  std::uint32_t arc;
};

bool later(const Crossing& a, const Crossing& b) { return a.event > b.event; }

}  // namespace

class TimeCostSolver {
 public:
  TimeCostSolver(const ActivityNetwork& network, std::span<const std::uint32_t> curve_of,
                 const CurveSet& curves, const ScheduleTimes& wanted)
      : net_(network, curve_of, curves), trees_(net_), curves_(curves), wanted_(wanted) {
    std::sort(wanted_.makespans.begin(), wanted_.makespans.end(), std::greater<>());
  }

  void place(std::span<const Ticks> start, std::span<const Ticks> durations, Ticks makespan);
  /// Down to the shortest makespan, or to the last wanted one where only those are.
  void run();
  TimeCostFrontier take(double cost_of_longest);

 private:
  Ticks time(std::uint32_t node) const {
    return trees_.of_source(node) ? time_[node] : time_[node] - (shift_ - settled_);
  }
  void settle(std::uint32_t number) {
    const Arc& arc = net_.arc(number);
    net_.settle(number, time(arc.to) - time(arc.from));
  }
  bool crosses(const Arc& arc) const {
    return (trees_.of_source(arc.from)) != (trees_.of_source(arc.to));
  }
  void settle_all();
  void list_crossing(std::uint32_t number);
  void list_crossings();
  bool advance();
  void move_to(Ticks shift);
  void corner(bool last);
  void keep_schedule(Ticks shift);

  ResidualNetwork net_;
  SearchTrees trees_;
  const CurveSet& curves_;
  ScheduleTimes wanted_;
  std::size_t kept_ = 0;     ///< of wanted_.makespans
  bool kept_flow_ = false;   ///< that wanted_.flow was passed
  std::vector<Ticks> time_;  ///< of each node, as of settled_
  Ticks shift_ = 0;
  Ticks settled_ = 0;
  Ticks longest_ = 0;
  Wide cost_ = 0;  ///< units above the longest makespan's
  std::vector<std::uint32_t> crossings_;
  std::vector<std::uint32_t> crossed_;
  std::vector<Crossing> events_;  ///< a heap, the next in front
  std::uint32_t listing_ = 0;
  TimeCostFrontier result_;
};

void TimeCostSolver::place(std::span<const Ticks> start, std::span<const Ticks> durations,
                           Ticks makespan) {
  longest_ = makespan;
  time_.resize(net_.nodes());
  for (std::size_t a = 0; a < start.size(); ++a) {
    time_[2 * a] = start[a];
    time_[2 * a + 1] = start[a] + durations[a];
  }
  time_[net_.source()] = 0;
  time_[net_.sink()] = makespan;
  for (std::uint32_t number = 0; number < net_.arcs(); ++number) settle(number);
}

/// Makes times absolute and brings the arcs that crossed up to date; those that have room now are
/// meetings.
void TimeCostSolver::settle_all() {
  const Ticks moved = shift_ - settled_;
  if (moved == 0) return;
  for (std::uint32_t n = 0; n < net_.nodes(); ++n) {
    time_[n] -= trees_.of_source(n) ? 0 : moved;
  }
  settled_ = shift_;
  for (const std::uint32_t number : crossings_) {
    settle(number);
    for (const Half half : {2 * number, 2 * number + 1}) {
      if (net_.open(half)) trees_.note_meeting(half);
    }
  }
}

void TimeCostSolver::list_crossing(std::uint32_t number) {
  Arc& arc = net_.arc(number);
  if (arc.listed == listing_ || !crosses(arc)) return;
  arc.listed = listing_;
  crossings_.push_back(number);
  const Ticks length = time(arc.to) - time(arc.from);
  const Ticks until = trees_.of_source(arc.from) ? net_.until_shorter_corner(number, length)
                                                 : net_.until_longer_corner(number, length);
  if (until != ResidualNetwork::kNever) events_.push_back({shift_ + until, number});
}

/// Lists the arcs that cross now: of those that crossed and those of nodes that moved.
void TimeCostSolver::list_crossings() {
  ++listing_;
  events_.clear();
  crossed_.swap(crossings_);
  crossings_.clear();
  for (const std::uint32_t number : crossed_) list_crossing(number);
  for (const std::uint32_t node : trees_.moved()) {
    const bool is_source = trees_.of_source(node);
    for (const Neighbour& neighbour : net_.neighbours(node)) {
      if (is_source != (trees_.of_source(neighbour.node))) {
        list_crossing(neighbour.half() >> 1);
      }
    }
  }
  trees_.moved().clear();
  std::make_heap(events_.begin(), events_.end(), later);
}

/// Moves the sink's side from corner to corner until the trees meet. False where that was not
/// wanted.
bool TimeCostSolver::advance() {
  while (!trees_.may_meet()) {
    const Crossing next = events_.front();
    std::pop_heap(events_.begin(), events_.end(), later);
    events_.pop_back();
    const Arc& arc = net_.arc(next.arc);
    if (!crosses(arc)) continue;
    ++result_.counts_.events;
    move_to(next.event);
    if (wanted_.only && kept_ == wanted_.makespans.size()) return false;
    settle(next.arc);
    const Half half = trees_.of_source(arc.from) ? 2 * next.arc : 2 * next.arc + 1;
    if (trees_.of_sink(net_.other(half))) {
      trees_.note_meeting(half);
      return true;
    }
    const std::span<const std::uint32_t> joined = trees_.reach(half);
    for (const std::uint32_t node : joined)
      time_[node] -= shift_ - settled_;  // it rests from now on
    for (const std::uint32_t node : joined) {
      for (const Neighbour& neighbour : net_.neighbours(node)) {
        const std::uint32_t number = neighbour.half() >> 1;
        if (trees_.of_source(neighbour.node)) {
          settle(number);  // it crossed until now, or both ends joined
        } else {
          const std::size_t before = events_.size();
          list_crossing(number);
          if (events_.size() > before) std::push_heap(events_.begin(), events_.end(), later);
        }
      }
    }
  }
  return true;
}

void TimeCostSolver::move_to(Ticks shift) {
  while (kept_ < wanted_.makespans.size() && longest_ - wanted_.makespans[kept_] <= shift) {
    keep_schedule(std::max<Ticks>(0, longest_ - wanted_.makespans[kept_]));
    ++kept_;
  }
  cost_ += static_cast<Wide>(trees_.flow()) * (shift - shift_);
  shift_ = shift;
}

/// Keeps the schedule of a shift between the last event and the next one.
void TimeCostSolver::keep_schedule(Ticks shift) {
  Schedule schedule{longest_ - shift, {}, {}, {}};
  const std::uint32_t activities = (net_.nodes() - 2) / 2;
  schedule.start.resize(activities);
  schedule.end.resize(activities);
  const auto at = [&](std::uint32_t node) {
    return time_[node] - (trees_.of_source(node) ? 0 : shift - settled_);
  };
  for (std::uint32_t a = 0; a < activities; ++a) {
    schedule.start[a] = at(2 * a);
    schedule.end[a] = at(2 * a + 1);
  }
  schedule.price.reserve(activities);
  for (std::uint32_t number = 0; number < net_.arcs(); ++number) {
    const Arc& arc = net_.arc(number);  // activities' arcs come in their order
    if (arc.curve == ResidualNetwork::kPrecedence) continue;
    schedule.price.push_back(static_cast<double>(arc.flow) * curves_.unit());
  }
  result_.schedules_.push_back(std::move(schedule));
}

void TimeCostSolver::corner(bool last) {
  auto& corners = result_.corners_;
  const double cost = static_cast<double>(cost_) * curves_.unit();
  const FrontierCorner here{longest_ - shift_, cost, trees_.flow()};
  if (!corners.empty() && corners.back().makespan == here.makespan) corners.pop_back();
  if (last || corners.empty() || corners.back().flow != here.flow) corners.push_back(here);
  if (wanted_.flow && !kept_flow_ && (last || trees_.flow() >= *wanted_.flow)) {
    kept_flow_ = true;
    keep_schedule(shift_);
  }
  if (last) {
    for (; kept_ < wanted_.makespans.size(); ++kept_) keep_schedule(shift_);
  }
}

void TimeCostSolver::run() {
  trees_.grow_anew();
  for (;;) {
    for (int filled = 0; trees_.take_meeting(); ++filled) {
      if (!(filled < kFewPaths ? trees_.fill() : trees_.fill_all())) return corner(true);
      if (filled < kFewPaths) trees_.mend();
    }
    corner(false);
    list_crossings();
    if (!advance()) return corner(true);
    settle_all();
  }
}

TimeCostFrontier TimeCostSolver::take(double cost_of_longest) {
  for (FrontierCorner& corner : result_.corners_) corner.cost += cost_of_longest;
  result_.counts_.augmentations = trees_.augmentations();
  result_.counts_.detached = trees_.detached();
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
