#include "pipeline/runtime/drift_watch.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace perjoule {

void DriftWatch::add(int stage, const PipelineStep& step, Seconds took, Seconds expected) {
  Times& times = times_[{stage, step.chunk, step.instruction}];
  times.took += took.value();
  times.expected += expected.value();
}

bool DriftWatch::iteration() {
  if (++iterations_ < patience_) return false;
  const bool drifted = std::any_of(times_.begin(), times_.end(), [this](const auto& one) {
    return std::abs(one.second.ratio() - 1) > tolerance_;
  });
  if (!drifted) restart();
  return drifted;
}

PipelineProfile DriftWatch::scaled(const PipelineProfile& profile,
                                   const PipelineSchedule& schedule) const {
  PipelineProfile scaled = profile;
  scaled.scale_each([&](const ProfiledInstruction& one) {
    for (const auto& [key, times] : times_) {
      const auto& [stage, chunk, instruction] = key;
      if (stage == one.stage && chunk == one.chunk &&
          equals_ignoring_case(schedule.instructions[instruction], one.name))
        return times.ratio();
    }
    return 1.0;
  });
  return scaled;
}

void DriftWatch::restart() {
  times_.clear();
  iterations_ = 0;
}

}  // namespace perjoule
