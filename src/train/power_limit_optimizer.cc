#include "train/power_limit_optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "frontier/frontier.h"

namespace perjoule {
namespace {

constexpr int kStrangeWindows = 2;
// A step that is slower by this much is slower, and not just noise.
constexpr double kClearlySlower = 1.03;

/// Rules whose answer may lie off the frontier, at a limit that is slower and takes more energy.
bool needs_all_limits(const Rule& rule) {
  if (std::holds_alternative<PowerBudget>(rule)) return true;
  const auto* slowdown = std::get_if<MaxSlowdown>(&rule);
  return slowdown != nullptr && !slowdown->setting.empty();
}

Outcome check_limits(const std::vector<Watts>& limits) {
  if (limits.empty()) return Error::invalid_argument("no power limit to try");
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (!(limits[i].value() > 0) || (i > 0 && !(limits[i] < limits[i - 1])))
      return Error::invalid_argument("the power limits to try do not descend, or are not above 0");
  }
  return {};
}

Outcome check_gpus(const PowerLimitPlan& plan) {
  for (const std::vector<Watts>& limits : plan.gpus) {
    PJ_CHECK(check_limits(limits));
    if (limits.size() != plan.gpus.front().size())
      return Error::invalid_argument("the GPUs have not equally many power limits to try");
  }
  const auto* slowdown = std::get_if<MaxSlowdown>(&plan.rule);
  if (slowdown != nullptr && !slowdown->setting.empty()) {
    return Error::invalid_argument("the lowest limit is not one where each GPU has its own",
                                   "leave out --lowest, or decide on all GPUs together");
  }
  return {};
}

}  // namespace

std::string text_of(const GpuLimits& limits) {
  std::string text;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (i > 0 && std::count(limits.begin(), limits.end(), limits[0]) ==
                     static_cast<std::ptrdiff_t>(limits.size()))
      break;
    text += fmt::format("{}{:g}", i > 0 ? "/" : "", limits[i].value());
  }
  return text + " W";
}

Result<PowerLimitOptimizer> PowerLimitOptimizer::make(PowerLimitPlan plan) {
  if (plan.gpus.empty()) {
    PJ_CHECK(check_limits(plan.limits));
  } else {
    PJ_CHECK(check_gpus(plan));
  }
  if (!(plan.wait_steps >= 0) || !(plan.warm_up_steps >= 0) || !(plan.profile_steps > 0))
    return Error::invalid_argument("steps to wait or to warm up are below 0, or none to measure");
  if (!(plan.drift >= 0)) return Error::invalid_argument("the drift is below 0");
  if (!(plan.stall == 0 || plan.stall > 1)) {
    return Error::invalid_argument(fmt::format("a stall of {:g} times the median step", plan.stall),
                                   "take a factor above 1, or 0 to count every step");
  }
  if (auto* eta = std::get_if<EtaCost>(&plan.rule)) {
    if (!(eta->eta >= 0 && eta->eta <= 1))
      return Error::invalid_argument(fmt::format("eta {} lies outside 0 to 1", eta->eta));
    if (!eta->max_power) {
      Watts highest;
      for (const auto& limits : plan.gpus) highest += limits.front();
      eta->max_power = plan.gpus.empty() ? plan.limits.front() : highest;
    }
  }
  return PowerLimitOptimizer(std::move(plan));
}

std::size_t PowerLimitOptimizer::places() const {
  return plan_.gpus.empty() ? plan_.limits.size() : plan_.gpus.front().size();
}

GpuLimits PowerLimitOptimizer::at_place(std::size_t place) const {
  if (plan_.gpus.empty()) return {plan_.limits[place]};
  return at_places(std::vector<std::size_t>(plan_.gpus.size(), place));
}

GpuLimits PowerLimitOptimizer::at_places(const std::vector<std::size_t>& places) const {
  GpuLimits limits;
  for (std::size_t k = 0; k < places.size(); ++k) limits.push_back(plan_.gpus[k][places[k]]);
  return limits;
}

std::optional<Watts> PowerLimitOptimizer::limit() const {
  if (asked_.empty()) return std::nullopt;
  return *std::max_element(asked_.begin(), asked_.end());
}

std::optional<GpuLimits> PowerLimitOptimizer::ask(GpuLimits limits) {
  if (asked_ == limits) return std::nullopt;
  asked_ = std::move(limits);
  return asked_;
}

bool PowerLimitOptimizer::long_enough(const StepTotals& took, double steps) const {
  return took.steps >= steps && took.time >= plan_.least_time;
}

std::optional<GpuLimits> PowerLimitOptimizer::observe(const StepTotals& now) {
  auto limits = take(now);
  next_look_ = reckon_next_look();
  return limits;
}

std::optional<GpuLimits> PowerLimitOptimizer::take(const StepTotals& now) {
  if (!window_) window_.emplace(now, plan_.stall);
  window_->tell(now);
  if (phase_ == Phase::kSettled) return watch(now);
  const StepTotals took = window_->taken();
  switch (phase_) {
    case Phase::kWaiting:
      if (took.steps < plan_.wait_steps) return std::nullopt;
      window_.emplace(now, plan_.stall);
      return begin_profile(at_place(next_));
    case Phase::kWarmUp:
      if (took.steps < plan_.warm_up_steps) return std::nullopt;
      window_.emplace(now, plan_.stall);
      phase_ = Phase::kProfiling;
      return std::nullopt;
    case Phase::kProfiling: {
      if (!long_enough(took, plan_.profile_steps)) return std::nullopt;
      stalls_ += window_->stalls();
      auto limits = end_profile(took);
      window_.emplace(now, plan_.stall);
      return limits;
    }
    case Phase::kSettled:
      break;
  }
  return std::nullopt;
}

double PowerLimitOptimizer::reckon_next_look() const {
  const double wanted = phase_ == Phase::kWaiting     ? plan_.wait_steps
                        : phase_ == Phase::kWarmUp    ? plan_.warm_up_steps
                        : phase_ == Phase::kProfiling ? plan_.profile_steps
                                                      : plan_.warm_up_steps + plan_.profile_steps;
  return window_->count() + std::max(0.0, wanted - window_->taken().steps);
}

void PowerLimitOptimizer::epoch_ended() {
  if (window_) window_->pause();
  next_look_ = 0;  // the step after a pause ends it
}

void PowerLimitOptimizer::begin_again() {
  window_.reset();
  next_look_ = 0;
  if (phase_ == Phase::kProfiling) phase_ = Phase::kWarmUp;
}

std::optional<GpuLimits> PowerLimitOptimizer::begin_profile(GpuLimits limits) {
  // Without a warm-up the very next step is measured, and not the one after it.
  phase_ = plan_.warm_up_steps > 0 ? Phase::kWarmUp : Phase::kProfiling;
  return ask(std::move(limits));
}

std::optional<GpuLimits> PowerLimitOptimizer::end_profile(const StepTotals& took) {
  Point point;
  point.config.set("power limit", text_of(asked_));
  point.time = took.time / took.steps;
  point.energy = took.energy / took.steps;
  point.energy.random = Joules(
      std::hypot(point.energy.random.value(), (point.energy.joules * took.uncertainty).value()));
  const auto before = std::find(limits_of_points_.begin(), limits_of_points_.end(), asked_);
  if (before != limits_of_points_.end()) {
    const Seconds earlier =
        points_[static_cast<std::size_t>(before - limits_of_points_.begin())].time;
    // Of two draws the difference is the root of two standard deviations.
    repeat_error_ = std::abs(point.time / earlier - 1) / std::numbers::sqrt2;
  }
  point.time_random =
      point.time * std::hypot(std::max(window_->time_error(), repeat_error_), took.uncertainty);
  if (before == limits_of_points_.end()) {
    points_.push_back(std::move(point));
    limits_of_points_.push_back(asked_);
  } else {
    // Where the search begins is measured once more, as it is now.
    points_[static_cast<std::size_t>(before - limits_of_points_.begin())] = std::move(point);
  }
  return go_on(took);
}

std::optional<GpuLimits> PowerLimitOptimizer::go_on(const StepTotals& took) {
  // Without each GPU's energy there is nothing to decide by.
  const bool each = took.gpus.size() == plan_.gpus.size();
  if (search_) {
    if (!each) return settle();
    GpuSteps measured;
    measured.time = took.time / took.steps;
    const auto here = std::find(limits_of_points_.begin(), limits_of_points_.end(), asked_);
    measured.time_random =
        points_[static_cast<std::size_t>(here - limits_of_points_.begin())].time_random;
    for (const Energy& energy : took.gpus) measured.energy.push_back(energy.joules / took.steps);
    search_->told(measured);
  } else {
    ++next_;
    if (next_ < places() && !rest_is_dominated()) return begin_profile(at_place(next_));
    if (plan_.gpus.size() < 2 || !each || !begin_search()) return settle();
  }
  return search_->done() ? settle() : begin_profile(at_places(search_->limits()));
}

/// What the rule allows a step to take, by the points so far.
Seconds PowerLimitOptimizer::bound_of_time() const {
  if (const auto* deadline = std::get_if<Deadline>(&plan_.rule)) return deadline->at_most;
  if (const auto* slowdown = std::get_if<MaxSlowdown>(&plan_.rule))
    return slowdown->factor * points_[choice_->baseline].time;
  return Seconds(std::numeric_limits<double>::infinity());
}

/// From the limit that the rule chooses for all.
bool PowerLimitOptimizer::begin_search() {
  if (!choose()) return false;
  search_.emplace(plan_.gpus.size(), places(), choice_->chosen, bound_of_time());
  choice_.reset();
  return true;
}

std::optional<GpuLimits> PowerLimitOptimizer::leave_out_rest() {
  begin_again();
  return settle();
}

bool PowerLimitOptimizer::rest_is_dominated() const {
  if (needs_all_limits(plan_.rule) || points_.size() < 3) return false;
  for (std::size_t i = points_.size() - 2; i < points_.size(); ++i) {
    const bool worse = points_[i].time > points_[i - 1].time * kClearlySlower &&
                       points_[i].energy.joules > points_[i - 1].energy.joules;
    if (!worse) return false;
  }
  return true;
}

bool PowerLimitOptimizer::choose() {
  const auto frontier = Frontier::make(points_);
  const auto choice = frontier ? frontier->choose(plan_.rule) : Result<Choice>(fail(frontier));
  choice_.reset();
  if (choice) choice_ = *choice;
  return choice_.has_value();
}

std::optional<GpuLimits> PowerLimitOptimizer::settle() {
  phase_ = Phase::kSettled;
  strange_ = 0;
  search_.reset();
  // Steps of no time or energy: nothing to choose by, so as fast as it goes.
  if (!choose()) return ask(at_place(0));
  return ask(limits_of_points_[choice_->chosen]);
}

std::optional<GpuLimits> PowerLimitOptimizer::watch(const StepTotals& now) {
  if (plan_.drift == 0 || !choice_) return std::nullopt;
  const StepTotals took = window_->taken();
  if (!long_enough(took, plan_.warm_up_steps + plan_.profile_steps)) return std::nullopt;
  const Point& chosen = points_[choice_->chosen];
  const double time = took.time / took.steps / chosen.time;
  const double energy = took.energy.joules / took.steps / chosen.energy.joules;
  window_.emplace(now, plan_.stall);
  // One tick of a slow counter may be a tenth of a window's energy: what the two figures leave open
  // is no drift. Gain and offset are the same in both.
  const double doubt = 2 * std::hypot(took.energy.random / took.energy.joules,
                                      chosen.energy.random / chosen.energy.joules);
  const bool energy_tells = !took.energy.one_sided() && !chosen.energy.one_sided();
  const bool strange = std::abs(time - 1) > plan_.drift ||
                       (energy_tells && std::abs(energy - 1) > plan_.drift + doubt);
  strange_ = strange ? strange_ + 1 : 0;
  if (strange_ < kStrangeWindows) return std::nullopt;
  points_.clear();
  limits_of_points_.clear();
  repeat_error_ = 0;
  choice_.reset();
  next_ = 0;
  ++repeats_;
  return begin_profile(at_place(next_));
}

}  // namespace perjoule
