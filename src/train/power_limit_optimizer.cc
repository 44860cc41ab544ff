#include "train/power_limit_optimizer.h"

#include <fmt/format.h>

#include <cmath>

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

}  // namespace

Result<PowerLimitOptimizer> PowerLimitOptimizer::make(PowerLimitPlan plan) {
  if (plan.limits.empty()) return Error::invalid_argument("no power limit to try");
  for (std::size_t i = 0; i < plan.limits.size(); ++i) {
    if (!(plan.limits[i].value() > 0) || (i > 0 && !(plan.limits[i] < plan.limits[i - 1])))
      return Error::invalid_argument("the power limits to try do not descend, or are not above 0");
  }
  if (!(plan.wait_steps >= 0) || !(plan.warm_up_steps >= 0) || !(plan.profile_steps > 0))
    return Error::invalid_argument("steps to wait or to warm up are below 0, or none to measure");
  if (!(plan.drift >= 0)) return Error::invalid_argument("the drift is below 0");
  if (auto* eta = std::get_if<EtaCost>(&plan.rule)) {
    if (!(eta->eta >= 0 && eta->eta <= 1))
      return Error::invalid_argument(fmt::format("eta {} lies outside 0 to 1", eta->eta));
    if (!eta->max_power) eta->max_power = plan.limits.front();
  }
  return PowerLimitOptimizer(std::move(plan));
}

std::optional<Watts> PowerLimitOptimizer::ask(Watts limit) {
  if (asked_ == limit) return std::nullopt;
  asked_ = limit;
  return limit;
}

std::optional<Watts> PowerLimitOptimizer::observe(const StepTotals& now) {
  if (!mark_) mark_ = now;
  const double steps = now.steps - mark_->steps;
  switch (phase_) {
    case Phase::kWaiting:
      if (steps < plan_.wait_steps) return std::nullopt;
      mark_ = now;
      return begin_profile();
    case Phase::kWarmUp:
      if (steps < plan_.warm_up_steps) return std::nullopt;
      mark_ = now;
      phase_ = Phase::kProfiling;
      return std::nullopt;
    case Phase::kProfiling:
      if (steps < plan_.profile_steps || now.time - mark_->time < plan_.least_time)
        return std::nullopt;
      return end_profile(now);
    case Phase::kSettled:
      return watch(now);
  }
  return std::nullopt;
}

double PowerLimitOptimizer::next_look() const {
  if (!mark_) return 0;
  switch (phase_) {
    case Phase::kWaiting:
      return mark_->steps + plan_.wait_steps;
    case Phase::kWarmUp:
      return mark_->steps + plan_.warm_up_steps;
    case Phase::kProfiling:
      return mark_->steps + plan_.profile_steps;
    case Phase::kSettled:
      return mark_->steps + plan_.warm_up_steps + plan_.profile_steps;
  }
  return 0;
}

void PowerLimitOptimizer::epoch_ended() {
  mark_.reset();
  if (phase_ == Phase::kProfiling) phase_ = Phase::kWarmUp;
}

std::optional<Watts> PowerLimitOptimizer::begin_profile() {
  phase_ = Phase::kWarmUp;
  return ask(plan_.limits[next_]);
}

std::optional<Watts> PowerLimitOptimizer::end_profile(const StepTotals& now) {
  const double steps = now.steps - mark_->steps;
  Point point;
  point.config.set("power limit", fmt::format("{:g} W", asked_->value()));
  point.time = (now.time - mark_->time) / steps;
  point.energy = (now.energy - mark_->energy) / steps;
  point.energy.random = Joules(
      std::hypot(point.energy.random.value(), (point.energy.joules * now.uncertainty).value()));
  points_.push_back(std::move(point));
  mark_ = now;
  ++next_;
  if (next_ == plan_.limits.size() || rest_is_dominated()) return settle();
  return begin_profile();
}

std::optional<Watts> PowerLimitOptimizer::leave_out_rest() {
  mark_.reset();
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

std::optional<Watts> PowerLimitOptimizer::settle() {
  phase_ = Phase::kSettled;
  strange_ = 0;
  const auto frontier = Frontier::make(points_);
  const auto choice = frontier ? frontier->choose(plan_.rule) : Result<Choice>(fail(frontier));
  if (!choice) {
    // Steps of no time or energy: nothing to choose by, so as fast as it goes.
    choice_.reset();
    return ask(plan_.limits.front());
  }
  choice_ = *choice;
  return ask(plan_.limits[choice_->chosen]);
}

std::optional<Watts> PowerLimitOptimizer::watch(const StepTotals& now) {
  const double steps = now.steps - mark_->steps;
  if (plan_.drift == 0 || !choice_) return std::nullopt;
  if (steps < plan_.warm_up_steps + plan_.profile_steps ||
      now.time - mark_->time < plan_.least_time)
    return std::nullopt;
  const Point& chosen = points_[choice_->chosen];
  const double time = (now.time - mark_->time) / steps / chosen.time;
  const double energy = (now.energy.joules - mark_->energy.joules) / steps / chosen.energy.joules;
  mark_ = now;
  const bool strange = std::abs(time - 1) > plan_.drift || std::abs(energy - 1) > plan_.drift;
  strange_ = strange ? strange_ + 1 : 0;
  if (strange_ < kStrangeWindows) return std::nullopt;
  points_.clear();
  choice_.reset();
  next_ = 0;
  ++repeats_;
  return begin_profile();
}

}  // namespace perjoule
