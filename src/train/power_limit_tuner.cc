#include "train/power_limit_tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace perjoule {
namespace {

constexpr double kUsualStep = 25;  // watts, as Zeus has it

std::string text_of_limit(Watts limit) { return fmt::format("{:g} W", limit.value()); }

}  // namespace

Result<std::vector<Knob*>> power_limit_knobs(const Inventory& machine,
                                             const std::vector<std::string>& devices) {
  std::vector<Knob*> knobs;
  for (Knob* knob : machine.knobs()) {
    const KnobInfo& info = knob->info();
    const bool wanted =
        devices.empty() ? info.device.rfind("gpu:", 0) == 0
                        : std::find(devices.begin(), devices.end(), info.device) != devices.end();
    if (wanted && info.name == "power limit") knobs.push_back(knob);
  }
  if (knobs.empty()) {
    return Error::not_found("no GPU here whose power limit can be set",
                            "perjoule devices lists what can be set");
  }
  return knobs;
}

Result<std::vector<Watts>> limits_between(const std::vector<Knob*>& knobs, Watts step) {
  if (!(step.value() > 0)) return Error::invalid_argument("the step between limits is not above 0");
  double lowest = 0;
  double highest = std::numeric_limits<double>::infinity();
  for (const Knob* knob : knobs) {
    lowest = std::max(lowest, knob->info().minimum);
    highest = std::min(highest, knob->info().maximum);
  }
  if (knobs.empty() || !(lowest <= highest)) {
    return Error::invalid_argument("the GPUs have no power limit in common",
                                   "choose GPUs that are alike");
  }
  std::vector<Watts> limits;
  for (double limit = highest; limit > lowest; limit -= step.value()) limits.emplace_back(limit);
  limits.emplace_back(lowest);
  return limits;
}

Result<std::vector<std::vector<Watts>>> limits_of_each(const std::vector<Knob*>& knobs,
                                                       Watts step) {
  if (!(step.value() > 0)) return Error::invalid_argument("the step between limits is not above 0");
  bool alike = true;
  double widest = 0;
  for (const Knob* knob : knobs) {
    const KnobInfo& info = knob->info();
    const KnobInfo& first = knobs.front()->info();
    alike = alike && info.minimum == first.minimum && info.maximum == first.maximum;
    widest = std::max(widest, info.maximum - info.minimum);
  }
  if (alike) {
    PJ_TRY(const std::vector<Watts> limits, limits_between(knobs, step));
    return std::vector<std::vector<Watts>>(knobs.size(), limits);
  }
  const double parts = std::ceil(widest / step.value());
  std::vector<std::vector<Watts>> all;
  for (const Knob* knob : knobs) {
    const KnobInfo& info = knob->info();
    const double part = (info.maximum - info.minimum) / parts;
    if (part < 1) {
      return Error::invalid_argument(
          fmt::format("{} takes {:g} to {:g} W only: too little beside the {:g} W of another",
                      info.device, info.minimum, info.maximum, widest),
          "choose GPUs that are more alike, or give --limits");
    }
    std::vector<Watts> limits;
    for (double i = 0; i < parts; ++i) limits.emplace_back(std::round(info.maximum - i * part));
    limits.emplace_back(info.minimum);
    all.push_back(std::move(limits));
  }
  return all;
}

Result<PowerLimitTuner> PowerLimitTuner::make(std::vector<Knob*> knobs, KnobJournal& journal,
                                              PowerLimitPlan plan) {
  if (plan.per_gpu) {
    if (plan.limits.empty()) {
      PJ_TRY(plan.gpus, limits_of_each(knobs, Watts(kUsualStep)));
    } else {
      plan.gpus.assign(knobs.size(), plan.limits);
    }
  } else if (plan.limits.empty()) {
    PJ_TRY(plan.limits, limits_between(knobs, Watts(kUsualStep)));
  }
  for (const Knob* knob : knobs) {
    for (const Watts limit : plan.limits) {
      if (limit.value() < knob->info().minimum || limit.value() > knob->info().maximum) {
        return Error::out_of_range(fmt::format("power limit {:g} W: {} takes {:g} to {:g} W",
                                               limit.value(), knob->info().device,
                                               knob->info().minimum, knob->info().maximum));
      }
    }
  }
  Watts max_power;
  for (const auto& limits : plan.gpus) max_power += limits.front();
  if (!plan.per_gpu) max_power = plan.limits.front() * static_cast<double>(knobs.size());
  if (auto* eta = std::get_if<EtaCost>(&plan.rule); eta != nullptr && !eta->max_power)
    eta->max_power = max_power;
  PJ_TRY(PowerLimitOptimizer optimizer, PowerLimitOptimizer::make(std::move(plan)));
  return PowerLimitTuner(std::move(knobs), journal, std::move(optimizer), max_power);
}

Outcome PowerLimitTuner::observe(const StepTotals& now) {
  if (ended_) return {};
  const std::optional<GpuLimits> limits = optimizer_.observe(now);
  return limits ? set(*limits) : Outcome();
}

Result<bool> PowerLimitTuner::leave_out_rest() {
  const bool measuring = optimizer_.phase() != PowerLimitOptimizer::Phase::kSettled;
  if (ended_ || !measuring || optimizer_.points().size() < 2) return false;
  if (const auto limits = optimizer_.leave_out_rest()) PJ_CHECK(set(*limits));
  return true;
}

Outcome PowerLimitTuner::give_up() {
  ended_ = true;
  return journal_->restore();
}

Outcome PowerLimitTuner::fall_back(Error error) {
  const Outcome put_back = give_up();
  error.message += put_back ? "; every limit was put back, and nothing is chosen"
                            : "; and not every limit could be put back: " + put_back.error().text();
  failure_ = error;
  return tl::unexpected<Error>(std::move(error));
}

std::vector<std::string> PowerLimitTuner::devices() const {
  std::vector<std::string> devices;
  for (const Knob* knob : knobs_) devices.push_back(knob->info().device);
  return devices;
}

Outcome PowerLimitTuner::set(const GpuLimits& limits) {
  for (std::size_t i = 0; i < knobs_.size(); ++i) {
    Knob* const knob = knobs_[i];
    const Watts limit = limits.size() == 1 ? limits.front() : limits[i];
    if (set_[i] == limit) continue;
    const std::string asked = text_of_limit(limit);
    const Result<std::string> in_force = journal_->turn(*knob, asked);
    if (!in_force) return fall_back(in_force.error());
    set_[i] = limit;
    if (*in_force != asked)
      notes_.push_back(
          fmt::format("{}: {} asked, {} in force", knob->info().device, asked, *in_force));
  }
  return {};
}

}  // namespace perjoule
