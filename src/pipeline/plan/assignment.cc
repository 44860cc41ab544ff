#include "pipeline/plan/assignment.h"

#include <algorithm>

namespace perjoule {

Assignment::Assignment(const PipelineProblem& problem, Ticks makespan)
    : problem_(problem),
      makespan_(makespan),
      option_(problem.network().size(), 0),
      duration_(option_.size()),
      start_(option_.size(), 0),
      end_(option_.size(), makespan),
      position_(option_.size()) {
  for (std::uint32_t i = 0; i < option_.size(); ++i) position_[problem.order()[i]] = i;
  for (std::uint32_t a = 0; a < option_.size(); ++a) take(a, 0);
}

double Assignment::total() const {
  double sum = 0;
  for (std::uint32_t a = 0; a < option_.size(); ++a) sum += effective(a);
  return sum;
}

Ticks Assignment::settle_start(std::uint32_t a) {
  Ticks start = 0;
  for (const std::uint32_t before : problem().network().predecessors(a)) {
    start = std::max(start, start_[before] + duration(before));
  }
  return start_[a] = start;
}

Ticks Assignment::settle_starts() {
  Ticks makespan = 0;
  for (const std::uint32_t a : problem().order()) {
    makespan = std::max(makespan, settle_start(a) + duration(a));
  }
  return makespan;
}

void Assignment::settle_ends() {
  for (std::size_t i = problem().order().size(); i-- > 0;) {
    settle_end(problem().order()[i]);
  }
}

Ticks Assignment::settle_end(std::uint32_t a) {
  Ticks end = makespan_;
  for (const std::uint32_t after : problem().network().successors(a)) {
    end = std::min(end, end_[after] - duration(after));
  }
  return end_[a] = end;
}

void Assignment::set(std::uint32_t a, std::uint32_t option) {
  take(a, option);
  push_starts(a);
  pull_ends(a);
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

std::uint32_t most_frugal(const std::vector<PipelineOption>& options, Ticks duration) {
  const auto after = std::partition_point(
      options.begin(), options.end(),
      [duration](const PipelineOption& option) { return option.duration <= duration; });
  return after == options.begin() ? 0 : static_cast<std::uint32_t>(after - options.begin() - 1);
}

}  // namespace perjoule
