#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <tuple>

#include "pipeline/plan.h"

namespace perjoule {
namespace {

/// A assigned of options with the earliest and latest times that it leaves, both kept up to date.
class Assignment {
 public:
  Assignment(const PipelineProblem& problem, Ticks makespan)
      : problem_ref_(problem),
        makespan_(makespan),
        option_(problem.network().size(), 0),
        start_(option_.size(), 0),
        end_(option_.size(), makespan) {
    position_.resize(option_.size());
    for (std::uint32_t i = 0; i < option_.size(); ++i) position_[problem.order()[i]] = i;
  }

  const std::vector<PipelineOption>& options(std::uint32_t a) const {
    return problem().options(problem().class_of()[a]);
  }
  std::uint32_t option(std::uint32_t a) const { return option_[a]; }
  Ticks duration(std::uint32_t a) const { return options(a)[option_[a]].duration; }
  double effective(std::uint32_t a) const { return options(a)[option_[a]].effective; }
  double total() const {
    double sum = 0;
    for (std::uint32_t a = 0; a < option_.size(); ++a) sum += effective(a);
    return sum;
  }
  Ticks start(std::uint32_t a) const { return start_[a]; }
  /// How much longer it could take with all others as they are.
  Ticks slack(std::uint32_t a) const { return end_[a] - start_[a] - duration(a); }

  void dither(const Schedule& schedule);
  void round_columns(const Schedule& schedule);
  /// The earliest starts afresh; answers the makespan.
  Ticks settle_starts();
  void settle_ends();
  void set(std::uint32_t a, std::uint32_t option) {
    option_[a] = option;
    push_starts(a);
    pull_ends(a);
  }

 private:
  void push_starts(std::uint32_t a);
  void pull_ends(std::uint32_t a);

  std::reference_wrapper<const PipelineProblem> problem_ref_;
  const PipelineProblem& problem() const { return problem_ref_; }
  Ticks makespan_;
  std::vector<std::uint32_t> option_;
  std::vector<Ticks> start_;  ///< earliest
  std::vector<Ticks> end_;    ///< latest
  std::vector<std::uint32_t> position_;
  std::vector<std::uint32_t> heap_;
};

/// The most frugal option of at most that duration; the fastest where there is none.
std::uint32_t most_frugal(const std::vector<PipelineOption>& options, Ticks duration) {
  const auto after = std::partition_point(
      options.begin(), options.end(),
      [duration](const PipelineOption& option) { return option.duration <= duration; });
  return after == options.begin() ? 0 : static_cast<std::uint32_t>(after - options.begin() - 1);
}

void Assignment::dither(const Schedule& schedule) {
  for (const std::uint32_t a : problem().order()) {
    Ticks start = 0;
    for (const std::uint32_t before : problem().network().predecessors(a)) {
      start = std::max(start, start_[before] + duration(before));
    }
    start_[a] = start;
    option_[a] = most_frugal(options(a), schedule.end[a] - start);
  }
}

/// Columns: one instruction of one microbatch on all stages. In the steady state of a pipeline the
/// exact schedule gives the same duration between two options to all of them, and rounding them
/// down one by one gives up the whole gain: a stage that is slower alone only waits less. So as
/// many columns as the time allows are rounded up whole, and the others down.
void Assignment::round_columns(const Schedule& schedule) {
  const PipelineSchedule& pipeline = problem().schedule();
  std::vector<std::uint32_t> up(option_.size());
  std::map<std::tuple<std::uint32_t, int, int>, std::vector<std::uint32_t>> columns;
  for (std::size_t stage = 0; stage < pipeline.stages.size(); ++stage) {
    for (std::size_t i = 0; i < pipeline.stages[stage].size(); ++i) {
      const PipelineStep& step = pipeline.stages[stage][i];
      const std::uint32_t a = pipeline.number(stage, i);
      const Ticks exact = schedule.end[a] - schedule.start[a];
      option_[a] = most_frugal(options(a), exact);
      up[a] = option_[a];
      const auto corners = problem().curves().durations(problem().class_of()[a]);
      const auto corner = std::lower_bound(corners.begin(), corners.end(), exact);
      if (corner != corners.end()) up[a] = most_frugal(options(a), *corner);
      if (up[a] != option_[a]) {
        columns[{step.instruction, step.chunk, step.microbatch}].push_back(a);
      }
    }
  }
  std::vector<const std::vector<std::uint32_t>*> order;
  for (const auto& [key, activities] : columns) order.push_back(&activities);
  const std::vector<std::uint32_t> down = option_;
  // The first k of the columns; which ones makes little difference to the time.
  const auto fits = [&](std::size_t k) {
    option_ = down;
    for (std::size_t i = 0; i < k; ++i) {
      for (const std::uint32_t a : *order[order.size() - 1 - i]) option_[a] = up[a];
    }
    return settle_starts() <= makespan_;
  };
  std::size_t most = 0;
  std::size_t too_many = order.size() + 1;
  while (most + 1 < too_many) {
    const std::size_t k = (most + too_many) / 2;
    (fits(k) ? most : too_many) = k;
  }
  (void)fits(most);
}

Ticks Assignment::settle_starts() {
  Ticks makespan = 0;
  for (const std::uint32_t a : problem().order()) {
    Ticks start = 0;
    for (const std::uint32_t before : problem().network().predecessors(a)) {
      start = std::max(start, start_[before] + duration(before));
    }
    start_[a] = start;
    makespan = std::max(makespan, start + duration(a));
  }
  return makespan;
}

void Assignment::settle_ends() {
  for (std::size_t i = problem().order().size(); i-- > 0;) {
    const std::uint32_t a = problem().order()[i];
    Ticks end = makespan_;
    for (const std::uint32_t after : problem().network().successors(a)) {
      end = std::min(end, end_[after] - duration(after));
    }
    end_[a] = end;
  }
}

void Assignment::push_starts(std::uint32_t a) {
  const auto later = [this](std::uint32_t x, std::uint32_t y) {
    return position_[x] > position_[y];
  };
  heap_.assign(1, a);
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const std::uint32_t node = heap_.back();
    heap_.pop_back();
    for (const std::uint32_t after : problem().network().successors(node)) {
      Ticks start = 0;
      for (const std::uint32_t before : problem().network().predecessors(after)) {
        start = std::max(start, start_[before] + duration(before));
      }
      if (start == start_[after]) continue;
      start_[after] = start;
      heap_.push_back(after);
      std::push_heap(heap_.begin(), heap_.end(), later);
    }
  }
}

void Assignment::pull_ends(std::uint32_t a) {
  const auto earlier = [this](std::uint32_t x, std::uint32_t y) {
    return position_[x] < position_[y];
  };
  heap_.assign(1, a);
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), earlier);
    const std::uint32_t node = heap_.back();
    heap_.pop_back();
    for (const std::uint32_t before : problem().network().predecessors(node)) {
      Ticks end = makespan_;
      for (const std::uint32_t after : problem().network().successors(before)) {
        end = std::min(end, end_[after] - duration(after));
      }
      if (end == end_[before]) continue;
      end_[before] = end;
      heap_.push_back(before);
      std::push_heap(heap_.begin(), heap_.end(), earlier);
    }
  }
}

/// Gives slack to whoever saves most by it, until nobody can use what is left.
void give_back(Assignment& assigned, std::uint32_t count) {
  struct Offer {
    double saving;
    std::uint32_t activity;
    bool operator<(const Offer& other) const { return saving < other.saving; }
  };
  std::priority_queue<Offer> offers;
  const auto offer = [&](std::uint32_t a) {
    const Ticks slack = assigned.slack(a);
    if (slack <= 0) return;
    const std::uint32_t slower = most_frugal(assigned.options(a), assigned.duration(a) + slack);
    if (slower <= assigned.option(a)) return;
    offers.push({assigned.effective(a) - assigned.options(a)[slower].effective, a});
  };
  for (std::uint32_t a = 0; a < count; ++a) offer(a);
  while (!offers.empty()) {
    const Offer best = offers.top();
    offers.pop();
    const std::uint32_t slower =
        most_frugal(assigned.options(best.activity),
                    assigned.duration(best.activity) + assigned.slack(best.activity));
    if (slower <= assigned.option(best.activity)) continue;
    const double saving =
        assigned.effective(best.activity) - assigned.options(best.activity)[slower].effective;
    if (saving < best.saving) {
      offers.push({saving, best.activity});
      continue;
    }
    assigned.set(best.activity, slower);
  }
}

}  // namespace

PipelinePlan round_schedule(const PipelineProblem& problem, const Schedule& schedule,
                            double bound) {
  const std::uint32_t count = problem.network().size();
  Assignment assigned(problem, schedule.makespan);
  assigned.dither(schedule);
  assigned.settle_ends();
  give_back(assigned, count);
  Assignment by_columns(problem, schedule.makespan);
  by_columns.round_columns(schedule);
  by_columns.settle_ends();
  give_back(by_columns, count);
  if (by_columns.total() < assigned.total()) assigned = std::move(by_columns);
  PipelinePlan plan;
  plan.requested = schedule.makespan;
  plan.bound = bound;
  plan.option.resize(count);
  plan.start.resize(count);
  for (std::uint32_t a = 0; a < count; ++a) {
    plan.option[a] = assigned.option(a);
    plan.start[a] = assigned.start(a);
    plan.makespan = std::max(plan.makespan, assigned.start(a) + assigned.duration(a));
    plan.effective += assigned.effective(a);
  }
  return plan;
}

}  // namespace perjoule
