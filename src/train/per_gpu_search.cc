#include "train/per_gpu_search.h"

#include <algorithm>
#include <numeric>

#include "frontier/frontier.h"

namespace perjoule {
namespace {

constexpr double kTimeHolds = 1.01;
constexpr double kNoMoreEnergy = 1.005;

}  // namespace

PerGpuSearch::PerGpuSearch(std::size_t gpus, std::size_t limits, std::size_t start, Seconds bound)
    : limits_(limits),
      start_(start),
      bound_(bound),
      kept_(gpus, start),
      energy_(gpus),
      trial_(gpus, start) {}

void PerGpuSearch::told(const GpuSteps& step) {
  if (stage_ == Stage::kBegin) {
    time_ = step.time;
    for (std::size_t k = 0; k < energy_.size(); ++k) energy_[k] = {step.energy[k]};
    Group all(kept_.size());
    std::iota(all.begin(), all.end(), 0);
    groups_.push_back(std::move(all));
    stage_ = Stage::kLowering;
    return next_trial();
  }
  if (stage_ != Stage::kLowering) {
    stage_ = Stage::kDone;
    return;
  }
  const Group group = std::move(groups_.back());
  groups_.pop_back();
  if (holds(group, step)) {
    kept_ = trial_;
    for (const std::size_t k : group) energy_[k].push_back(step.energy[k]);
    groups_.push_back(group);
  } else if (group.size() > 1) {
    const auto middle = group.begin() + static_cast<std::ptrdiff_t>(group.size() / 2);
    groups_.emplace_back(middle, group.end());
    groups_.emplace_back(group.begin(), middle);
  }
  next_trial();
}

Joules PerGpuSearch::least(std::size_t gpu) const {
  return *std::min_element(energy_[gpu].begin(), energy_[gpu].end());
}

bool PerGpuSearch::holds(const Group& group, const GpuSteps& step) const {
  Joules before;
  Joules now;
  for (const std::size_t k : group) {
    before += least(k);
    now += step.energy[k];
  }
  const Seconds allowed = bound_ + doubt_of(bound_, step.time_random);
  return step.time <= std::min(time_ * kTimeHolds, allowed) && now <= before * kNoMoreEnergy;
}

void PerGpuSearch::next_trial() {
  while (!groups_.empty()) {
    Group& group = groups_.back();
    std::erase_if(group, [this](std::size_t k) { return kept_[k] + 1 >= limits_; });
    if (group.empty()) {
      groups_.pop_back();
      continue;
    }
    trial_ = kept_;
    for (const std::size_t k : group) ++trial_[k];
    return;
  }
  trial_ = most_frugal();
  const bool begun = std::all_of(trial_.begin(), trial_.end(),
                                 [this](std::size_t limit) { return limit == start_; });
  // What T held under last was measured just as it stands.
  stage_ = begun || trial_ == kept_ ? Stage::kDone : Stage::kConfirming;
}

std::vector<std::size_t> PerGpuSearch::most_frugal() const {
  std::vector<std::size_t> limits;
  for (std::size_t k = 0; k < energy_.size(); ++k) {
    const Joules enough = least(k) * kNoMoreEnergy;
    const auto first = std::find_if(energy_[k].begin(), energy_[k].end(),
                                    [&](Joules energy) { return energy <= enough; });
    limits.push_back(start_ + static_cast<std::size_t>(first - energy_[k].begin()));
  }
  return limits;
}

}  // namespace perjoule
