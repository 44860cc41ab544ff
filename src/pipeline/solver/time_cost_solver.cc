// The solvers of time_cost_frontier.h: parts of the frontier at once, or wanted makespans by
// themselves, joined.
#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>

#include "base/parallel.h"
#include "pipeline/solver/fixed_makespan.h"
#include "pipeline/solver/time_cost_part.h"

namespace perjoule {
namespace {

/// Where parts end, in shares of the way from the shortest makespan to the longest: so that each
/// takes about as long, for most corners lie near the shortest. By how much there is to solve, and
/// not by the processors: the schedules are the same everywhere.
constexpr std::uint32_t kTwoParts = 300, kFourParts = 3000;
constexpr std::array<double, 1> kInTwo{0.2};
constexpr std::array<double, 3> kInFour{0.4, 0.25, 0.12};

/// Parts of a frontier, one behind the other; costs are those above the longest makespan's.
struct Joined {
  std::vector<FrontierCorner> corners;
  std::vector<Schedule> schedules;
  std::optional<Schedule> of_flow;
  SolverCounts counts;

  void add(TimeCostPart& part) {
    double cost = 0;
    std::span<const FrontierCorner> its = part.corners();
    if (!corners.empty()) {
      // Where the part before ended is a corner only if the flow is another from there on.
      cost = corners.back().cost;
      corners.pop_back();
      if (corners.back().flow == its.front().flow && its.size() > 1) its = its.subspan(1);
    }
    for (FrontierCorner corner : its) {
      corner.cost += cost;
      corners.push_back(corner);
    }
    std::move(part.schedules().begin(), part.schedules().end(), std::back_inserter(schedules));
    if (!of_flow) of_flow = std::move(part.schedule_of_flow());
    counts.augmentations += part.counts().augmentations;
    counts.events += part.counts().events;
    counts.detached += part.counts().detached;
    ++counts.parts;
  }
};

}  // namespace

/// A network with what every way to solve it begins with.
class TimeCostJoiner {
 public:
  static Result<TimeCostJoiner> make(const ActivityNetwork& network,
                                     std::span<const std::uint32_t> curve_of,
                                     const CurveSet& curves) {
    TimeCostJoiner joiner(network, curve_of, curves);
    PJ_TRY(joiner.order_, network.topological_order());
    joiner.slowest_.resize(network.size());
    std::vector<Ticks> fastest(network.size());
    for (std::uint32_t a = 0; a < network.size(); ++a) {
      joiner.slowest_[a] = curves.durations(curve_of[a]).back();
      fastest[a] = curves.durations(curve_of[a]).front();
      joiner.least_cost_ += curves.cost(curve_of[a], joiner.slowest_[a]);
    }
    joiner.begin_ = earliest_times(network, joiner.order_, joiner.slowest_);
    joiner.shortest_ = earliest_times(network, joiner.order_, fastest).makespan;
    return joiner;
  }

  TimeCostFrontier whole(const ScheduleTimes& wanted) const;
  Result<TimeCostFrontier> only(const ScheduleTimes& wanted, const SolveProgress& progress) const;

 private:
  TimeCostJoiner(const ActivityNetwork& network, std::span<const std::uint32_t> curve_of,
                 const CurveSet& curves)
      : network_(network), curve_of_(curve_of), curves_(curves) {}
  Ticks longest() const { return begin_.makespan; }
  std::vector<Ticks> parts() const;
  std::optional<TimeCostFrontier> in_parts(std::span<const Ticks> begins,
                                           const ScheduleTimes& wanted) const;
  TimeCostFrontier frontier_of(Joined joined) const;
  /// What flows from the begin.
  std::int64_t flow_of(const Schedule& schedule) const;

  const ActivityNetwork& network_;
  std::span<const std::uint32_t> curve_of_;
  const CurveSet& curves_;
  std::vector<std::uint32_t> order_;
  std::vector<Ticks> slowest_;
  EarliestTimes begin_;
  Ticks shortest_ = 0;
  double least_cost_ = 0;  ///< J, of the longest makespan
};

/// Where parts begin, the longest makespan first.
std::vector<Ticks> TimeCostJoiner::parts() const {
  std::vector<Ticks> begins{longest()};
  std::span<const double> ends;
  if (network_.size() >= kTwoParts) ends = kInTwo;
  if (network_.size() >= kFourParts) ends = kInFour;
  for (const double end : ends) {
    const auto makespan =
        shortest_ + static_cast<Ticks>(end * static_cast<double>(longest() - shortest_));
    if (makespan < begins.back() && makespan > shortest_) begins.push_back(makespan);
  }
  return begins;
}

std::int64_t TimeCostJoiner::flow_of(const Schedule& schedule) const {
  // In the order of residual_network.h: an activity's own arc, its successors', then the begin's.
  std::int64_t flow = 0;
  std::size_t number = 0;
  for (std::uint32_t a = 0; a < network_.size(); ++a) {
    number += 1 + network_.successors(a).size();
    if (network_.predecessors(a).empty()) flow += schedule.flow[number++];
    if (network_.successors(a).empty()) ++number;
  }
  return flow;
}

TimeCostFrontier TimeCostJoiner::frontier_of(Joined joined) const {
  TimeCostFrontier frontier;
  frontier.longest_ = longest();
  frontier.shortest_ = shortest_;
  frontier.unit_ = curves_.unit();
  frontier.corners_ = std::move(joined.corners);
  for (FrontierCorner& corner : frontier.corners_) corner.cost += least_cost_;
  frontier.schedules_ = std::move(joined.schedules);
  if (joined.of_flow) frontier.schedules_.push_back(std::move(*joined.of_flow));
  std::stable_sort(frontier.schedules_.begin(), frontier.schedules_.end(),
                   [](const Schedule& a, const Schedule& b) { return a.makespan > b.makespan; });
  frontier.counts_ = joined.counts;
  return frontier;
}

/// None where the schedule that a part begins with was not found.
std::optional<TimeCostFrontier> TimeCostJoiner::in_parts(std::span<const Ticks> begins,
                                                         const ScheduleTimes& wanted) const {
  std::vector<std::unique_ptr<TimeCostPart>> parts(begins.size());
  in_parallel(begins.size(), [&](std::size_t i) {
    const bool is_last = i + 1 == begins.size();
    ScheduleTimes its{.makespans = {}, .flow = wanted.flow};
    for (const Ticks makespan : wanted.makespans) {
      if ((i == 0 || makespan <= begins[i]) && (is_last || makespan > begins[i + 1]))
        its.makespans.push_back(makespan);
    }
    auto part = std::make_unique<TimeCostPart>(network_, curve_of_, curves_, its);
    if (i == 0) {
      part->begin(begin_.start, slowest_, longest());
    } else {
      const auto first = schedule_of_makespan(network_, order_, curve_of_, curves_, begins[i]);
      if (!first) return;
      part->begin(*first);
    }
    part->run(is_last ? std::nullopt : std::optional(begins[i + 1]));
    parts[i] = std::move(part);
  });
  Joined joined;
  for (const auto& part : parts) {
    if (part == nullptr) return {};
    joined.add(*part);
  }
  return frontier_of(std::move(joined));
}

TimeCostFrontier TimeCostJoiner::whole(const ScheduleTimes& wanted) const {
  const std::vector<Ticks> begins = parts();
  if (auto frontier = in_parts(begins, wanted)) return std::move(*frontier);
  return *in_parts(std::span(begins).first(1), wanted);  // which needs no schedule to begin with
}

Result<TimeCostFrontier> TimeCostJoiner::only(const ScheduleTimes& wanted,
                                              const SolveProgress& progress) const {
  std::vector<Ticks> makespans = wanted.makespans;
  for (Ticks& makespan : makespans) makespan = std::clamp(makespan, shortest_, longest());
  std::sort(makespans.begin(), makespans.end(), std::greater<>());
  makespans.erase(std::unique(makespans.begin(), makespans.end()), makespans.end());
  std::mutex telling;  // guards done, and is held while it is told
  std::size_t done = 0;
  std::vector<std::optional<Result<Schedule>>> solved(makespans.size() + (wanted.flow ? 1 : 0));
  std::atomic<bool> failed = false;  // the others need not be solved then
  in_parallel(solved.size(), [&](std::size_t i) {
    if (failed) return;
    solved[i] = i < makespans.size()
                    ? schedule_of_makespan(network_, order_, curve_of_, curves_, makespans[i])
                    : schedule_of_flow(network_, order_, curve_of_, curves_, *wanted.flow);
    if (!*solved[i]) failed = true;
    const std::lock_guard lock(telling);
    if (++done; progress) progress(done, solved.size());
  });
  Joined joined;
  joined.corners.push_back({longest(), 0, 0});  // known without solving
  for (auto& one : solved) {
    if (!one) continue;  // another one has failed
    PJ_TRY(Schedule schedule, std::move(*one));
    FrontierCorner corner{schedule.makespan, -least_cost_, flow_of(schedule)};
    for (std::uint32_t a = 0; a < network_.size(); ++a)
      corner.cost += curves_.cost(curve_of_[a], schedule.end[a] - schedule.start[a]);
    joined.corners.push_back(corner);
    joined.schedules.push_back(std::move(schedule));
  }
  std::stable_sort(joined.corners.begin(), joined.corners.end(),
                   [](const auto& a, const auto& b) { return a.makespan > b.makespan; });
  TimeCostFrontier frontier = frontier_of(std::move(joined));
  frontier.whole_ = false;
  return frontier;
}

Result<TimeCostFrontier> solve_time_cost(const ActivityNetwork& network,
                                         std::span<const std::uint32_t> curve_of,
                                         const CurveSet& curves, const ScheduleTimes& wanted) {
  PJ_TRY(const TimeCostJoiner joiner, TimeCostJoiner::make(network, curve_of, curves));
  return joiner.whole(wanted);
}

Result<TimeCostFrontier> solve_wanted(const ActivityNetwork& network,
                                      std::span<const std::uint32_t> curve_of,
                                      const CurveSet& curves, const ScheduleTimes& wanted,
                                      const SolveProgress& progress) {
  PJ_TRY(const TimeCostJoiner joiner, TimeCostJoiner::make(network, curve_of, curves));
  return joiner.only(wanted, progress);
}

}  // namespace perjoule
