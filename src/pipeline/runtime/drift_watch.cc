#include "pipeline/runtime/drift_watch.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace perjoule {
namespace {

// Fewer have no median to speak of.
constexpr std::size_t kLeastSwitches = 20;

}  // namespace

void DriftWatch::add(int stage, const PipelineStep& step, Seconds took, Seconds expected,
                     bool switched) {
  Times& times = times_[{stage, step.chunk, step.instruction}];
  if (switched) {
    times.switched.push_back({took.value(), expected.value()});
  } else if (expected.value() > 0) {
    times.ratios.push_back(took / expected);
  }
}

bool DriftWatch::drifted() const {
  return std::any_of(times_.begin(), times_.end(), [this](const auto& one) {
    return std::abs(one.second.ratio() / one.second.applied - 1) > tolerance_;
  });
}

std::optional<Seconds> DriftWatch::switch_time() const {
  std::vector<double> longer;
  for (const auto& [key, times] : times_) {
    const double ratio = times.ratio();
    for (const Times::Switched& one : times.switched)
      longer.push_back(one.took - ratio * one.expected);
  }
  if (longer.size() < kLeastSwitches) return std::nullopt;
  return Seconds(std::max(0.0, median(longer)));
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
  for (auto& [key, times] : times_) {
    times.ratios.clear();
    times.switched.clear();
  }
  iterations_ = 0;
}

}  // namespace perjoule
