#include "pipeline/runtime/drift_watch.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace perjoule {
namespace {

// Changes of setting that are remembered: some iterations of a plan with many.
constexpr std::size_t kRemembered = 4096;

}  // namespace
void DriftWatch::add(int stage, const PipelineStep& step, Seconds took, Seconds expected,
                     std::optional<Seconds> before) {
  Times& times = times_[{stage, step.chunk, step.instruction}];
  if (before) {
    times.switched.push_back({took.value(), expected.value(), before->value()});
  } else if (expected.value() > 0) {
    times.ratios.push_back(took / expected);
  }
}

bool DriftWatch::drifted() const {
  return std::any_of(times_.begin(), times_.end(), [this](const auto& one) {
    return std::abs(one.second.ratio() / one.second.applied - 1) > tolerance_;
  });
}

std::optional<SwitchLaw> DriftWatch::switch_law() const {
  std::vector<SwitchSample> all(seen_.begin(), seen_.end());
  const std::vector<SwitchSample> now = switches();
  all.insert(all.end(), now.begin(), now.end());
  return SwitchLaw::fit(all);
}

/// Since the last restart.
std::vector<SwitchSample> DriftWatch::switches() const {
  std::vector<SwitchSample> samples;
  for (const auto& [key, times] : times_) {
    const double ratio = times.ratio();
    for (const Times::Switched& one : times.switched) {
      samples.push_back({1 - one.expected / one.before, Seconds(one.took - ratio * one.expected)});
    }
  }
  return samples;
}

PipelineProfile DriftWatch::scaled(const PipelineProfile& profile,
                                   const PipelineSchedule& schedule) {
  for (auto& [key, times] : times_) times.applied = times.ratio();
  PipelineProfile scaled = profile;
  scaled.scale_each([&](const ProfiledInstruction& one) {
    for (const auto& [key, times] : times_) {
      const auto& [stage, chunk, instruction] = key;
      if (stage == one.stage && chunk == one.chunk &&
          equals_ignoring_case(schedule.instructions[instruction], one.name))
        return times.applied;
    }
    return 1.0;
  });
  return scaled;
}

void DriftWatch::restart() {
  for (const SwitchSample& one : switches()) seen_.push_back(one);
  while (seen_.size() > kRemembered) seen_.pop_front();
  for (auto& [key, times] : times_) {
    times.ratios.clear();
    times.switched.clear();
  }
  iterations_ = 0;
}

}  // namespace perjoule
