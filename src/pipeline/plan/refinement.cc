#include "pipeline/plan/refinement.h"

#include <algorithm>
#include <numeric>

#include "pipeline/plan/assignment.h"

namespace perjoule {
namespace {

constexpr double kNothing = 1e-9;  ///< J; below it a saving is rounding
/// Activities in a window: of short pipelines long ones too, which let a chain of exchanges through
/// from end to end; in long ones more of the short windows find more.
constexpr std::uint32_t kLeastWindow = 10, kMostWindow = 100, kMostWindowLong = 60;
constexpr std::uint32_t kLong = 256;  ///< activities above which a pipeline is long
/// Factors of the price: one for a window, and how far activities are from it.
constexpr double kLeastShare = 0.7, kMostShare = 1.1, kMostSpread = 0.8;
/// The loss that is let pass, in mean losses of an activity.
constexpr double kTolerated = 2;
constexpr int kTriesARound = 500;
/// Rounds that find nothing after which there is thought to be nothing.
constexpr int kRoundsInVain = 10;

}  // namespace

Refinement::Refinement(const PipelineProblem& problem, const Schedule& schedule,
                       const PipelinePlan& plan, Direction direction, std::uint64_t seed)
    : makespan_(plan.requested), loss_(plan.effective - plan.bound), random_(seed) {
  const bool forward = direction == Direction::kForward;
  const ActivityNetwork& network = problem.network();
  const std::uint32_t count = network.size();
  for (std::uint32_t c = 0; c < problem.classes(); ++c) {
    const std::vector<PipelineOption>& options = problem.options(c);
    std::vector<Corner>& corners = class_corners_.emplace_back();
    for (const Ticks duration : problem.curves().durations(c)) {
      const std::uint32_t option = most_frugal(options, duration);
      double slope = 0;
      if (!corners.empty()) {
        const PipelineOption& last = options[corners.back().option];
        slope = (last.effective - options[option].effective) /
                static_cast<double>(options[option].duration - last.duration);
      }
      corners.push_back({option, slope});
    }
  }
  activity_.resize(count);
  std::iota(activity_.begin(), activity_.end(), 0U);
  std::stable_sort(activity_.begin(), activity_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return forward ? schedule.start[a] < schedule.start[b] : schedule.end[a] > schedule.end[b];
  });
  Places place(count);
  for (std::uint32_t p = 0; p < count; ++p) place[activity_[p]] = p;
  for (const std::uint32_t a : activity_) {
    const auto before = forward ? network.predecessors(a) : network.successors(a);
    const auto after = forward ? network.successors(a) : network.predecessors(a);
    for (const std::uint32_t b : before) before_.push_back(place[b]);
    for (const std::uint32_t b : after) after_.push_back(place[b]);
    first_before_.push_back(static_cast<std::uint32_t>(before_.size()));
    first_after_.push_back(static_cast<std::uint32_t>(after_.size()));
    choices_.push_back(&problem.options(problem.class_of()[a]));
    corners_.push_back(&class_corners_[problem.class_of()[a]]);
    price_.push_back(schedule.price[a]);
    exact_.push_back(schedule.end[a] - schedule.start[a]);
    option_.push_back(plan.option[a]);
    duration_.push_back((*choices_.back())[plan.option[a]].duration);
  }
  new_option_ = best_option_ = option_;
  new_duration_ = duration_;
  start_.resize(count);
  end_.resize(count);
  for (std::uint32_t p = 0; p < count; ++p) start_[p] = earliest_start(p);
  for (std::uint32_t p = count; p-- > 0;) end_[p] = latest_end(p);
  new_start_ = start_;
  new_end_ = end_;
}

Ticks Refinement::earliest_start(std::uint32_t place) const {
  Ticks earliest = 0;
  for (std::uint32_t i = first_before_[place]; i < first_before_[place + 1]; ++i) {
    earliest = std::max(earliest, start_[before_[i]] + duration_[before_[i]]);
  }
  return earliest;
}

Ticks Refinement::latest_end(std::uint32_t place) const {
  Ticks latest = makespan_;
  for (std::uint32_t i = first_after_[place]; i < first_after_[place + 1]; ++i) {
    latest = std::min(latest, end_[after_[i]] - duration_[after_[i]]);
  }
  return latest;
}

/// How late each place of the window may end (new_end_), reckoning with durations that those behind
/// it are to have. Whether those are the shortest, so that nothing later can fit.
bool Refinement::limit(std::uint32_t first, std::uint32_t last) {
  const bool as_exact = (random_.bits() & 1) != 0;
  for (std::uint32_t p = last; p-- > first;) {
    Ticks latest = makespan_;
    for (std::uint32_t i = first_after_[p]; i < first_after_[p + 1]; ++i) {
      const std::uint32_t q = after_[i];
      const Ticks start = q >= last  ? end_[q] - duration_[q]
                          : as_exact ? new_end_[q] - exact_[q]
                                     : new_end_[q] - choices_[q]->front().duration;
      latest = std::min(latest, start);
    }
    new_end_[p] = latest;
  }
  return !as_exact;
}

/// The option of at most `room` with the least effective energy and price of its ticks. On a convex
/// hull that is the last corner whose slope is worth the price; where the room ends before it, what
/// lies between the corner before and the room counts too.
std::uint32_t Refinement::best_choice(std::uint32_t place, Ticks room, double price) const {
  const std::vector<PipelineOption>& choices = *choices_[place];
  const std::vector<Corner>& corners = *corners_[place];
  std::size_t k = 0;
  while (k + 1 < corners.size() && corners[k + 1].slope >= price &&
         choices[corners[k + 1].option].duration <= room) {
    ++k;
  }
  std::uint32_t best = corners[k].option;
  if (k + 1 == corners.size() || corners[k + 1].slope < price) return best;
  double least = choices[best].effective + price * static_cast<double>(choices[best].duration);
  for (std::uint32_t i = best + 1; i < choices.size() && choices[i].duration <= room; ++i) {
    const double cost = choices[i].effective + price * static_cast<double>(choices[i].duration);
    if (cost > least) continue;
    least = cost;
    best = i;
  }
  return best;
}

/// Chooses an option for each place of the window, and its start. False where one is later than a
/// limit that must hold.
bool Refinement::choose(std::uint32_t first, std::uint32_t last, bool must_hold) {
  const double share = kLeastShare + (kMostShare - kLeastShare) * random_.uniform();
  const double spread = kMostSpread * random_.uniform();
  for (std::uint32_t p = first; p < last; ++p) {
    Ticks start = 0;
    for (std::uint32_t i = first_before_[p]; i < first_before_[p + 1]; ++i) {
      const std::uint32_t q = before_[i];
      start =
          std::max(start, q < first ? start_[q] + duration_[q] : new_start_[q] + new_duration_[q]);
    }
    new_start_[p] = start;
    const std::vector<PipelineOption>& choices = *choices_[p];
    const Ticks room = new_end_[p] - start;
    if (must_hold && choices[0].duration > room) return false;
    const double price = price_[p] * (share + spread * (random_.uniform() - 0.5));
    const std::uint32_t best = best_choice(p, room, price);
    new_option_[p] = best;
    new_duration_[p] = choices[best].duration;
  }
  return true;
}

/// Gives each place of the window, last first, what slack there is. What the new choice saves;
/// nothing where it does not fit.
std::optional<double> Refinement::fill(std::uint32_t first, std::uint32_t last) {
  double saving = 0;
  for (std::uint32_t p = last; p-- > first;) {
    Ticks latest = makespan_;
    for (std::uint32_t i = first_after_[p]; i < first_after_[p + 1]; ++i) {
      const std::uint32_t q = after_[i];
      latest =
          std::min(latest, q >= last ? end_[q] - duration_[q] : new_end_[q] - new_duration_[q]);
    }
    new_end_[p] = latest;
    const std::vector<PipelineOption>& choices = *choices_[p];
    const Ticks room = latest - new_start_[p];
    std::uint32_t option = new_option_[p];
    if (choices[option].duration > room) return std::nullopt;
    while (option + 1 < choices.size() && choices[option + 1].duration <= room) ++option;
    new_option_[p] = option;
    new_duration_[p] = choices[option].duration;
    saving += choices[option_[p]].effective - choices[option].effective;
  }
  return saving;
}

/// Takes what was chosen for the window, and brings the times of all places up to date.
void Refinement::take(std::uint32_t first, std::uint32_t last) {
  for (std::uint32_t p = first; p < last; ++p) {
    option_[p] = new_option_[p];
    duration_[p] = new_duration_[p];
  }
  const auto count = static_cast<std::uint32_t>(start_.size());
  std::uint32_t reach = last;  // places behind it see no change
  for (std::uint32_t p = first; p < count && p <= reach; ++p) {
    const Ticks start = earliest_start(p);
    if (start == start_[p] && p >= last) continue;
    start_[p] = start;
    for (std::uint32_t i = first_after_[p]; i < first_after_[p + 1]; ++i) {
      reach = std::max(reach, after_[i]);
    }
  }
  reach = first;
  for (std::uint32_t p = last; p-- > 0 && p + 1 > reach;) {
    const Ticks end = latest_end(p);
    if (end == end_[p] && p < first) continue;
    end_[p] = end;
    for (std::uint32_t i = first_before_[p]; i < first_before_[p + 1]; ++i) {
      reach = std::min(reach, before_[i]);
    }
  }
}

void Refinement::run(int tries, double enough) {
  const auto count = static_cast<std::uint32_t>(activity_.size());
  const double tolerance = kTolerated * loss_ / count;
  const std::uint32_t most_window = count > kLong ? kMostWindowLong : kMostWindow;
  double saved = 0;
  double most_saved = 0;
  for (int t = 0; t < tries && loss_ - most_saved > enough; ++t) {
    const auto size =
        kLeastWindow + static_cast<std::uint32_t>(random_.below(most_window - kLeastWindow));
    const auto end = static_cast<std::uint32_t>(random_.below(count + size));
    const std::uint32_t first = end < size ? 0 : end - size;
    const std::uint32_t last = std::min(count, end + 1);
    if (!choose(first, last, limit(first, last))) continue;
    const std::optional<double> saving = fill(first, last);
    const double allowed = tolerance * (1 - static_cast<double>(t) / tries);
    if (!saving || saved + *saving < most_saved - allowed - kNothing) continue;
    take(first, last);
    saved += *saving;
    if (saved <= most_saved + kNothing) continue;
    most_saved = saved;
    best_option_ = option_;
  }
}

std::vector<std::uint32_t> Refinement::options() const {
  std::vector<std::uint32_t> by_activity(activity_.size());
  for (std::uint32_t p = 0; p < activity_.size(); ++p) by_activity[activity_[p]] = best_option_[p];
  return by_activity;
}

PipelinePlan refine_plan(const PipelineProblem& problem, const Schedule& schedule,
                         const PipelinePlan& plan, const RefinementLimit& limit) {
  PipelinePlan best = plan;
  int in_vain = 0;
  for (int round = 0; round * kTriesARound < limit.most_tries; ++round) {
    const auto seed = static_cast<std::uint64_t>(limit.tried / kTriesARound + round);
    if (best.effective - best.bound <= limit.enough || in_vain == kRoundsInVain) break;
    const auto direction =
        round % 2 == 0 ? Refinement::Direction::kForward : Refinement::Direction::kBackward;
    Refinement refinement(problem, schedule, best, direction, seed);
    refinement.run(std::min(kTriesARound, limit.most_tries - round * kTriesARound), limit.enough);
    Assignment assigned(problem, plan.requested);
    assigned.take(refinement.options());
    assigned.settle_starts();
    const double before = best.effective;
    best = plan_of(assigned, plan.bound);
    in_vain = best.effective < before - kNothing ? 0 : in_vain + 1;
  }
  return best;
}

}  // namespace perjoule
