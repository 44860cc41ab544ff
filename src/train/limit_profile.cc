#include "train/limit_profile.h"

#include <algorithm>

namespace perjoule {

std::vector<std::size_t> LimitProfile::all() const {
  std::vector<std::size_t> limits;
  for (std::size_t i = 0; i < costs_.size(); ++i) {
    if (!costs_[i]) limits.push_back(i);
  }
  return limits;
}

std::vector<std::size_t> LimitProfile::around(std::size_t near) const {
  const std::size_t centre = empty() ? std::min(near, costs_.size() - 1) : best();
  std::vector<std::size_t> limits;
  const std::size_t first = centre == 0 ? 0 : centre - 1;
  const std::size_t last = std::min(centre + 1, costs_.size() - 1);
  for (std::size_t i = first; i <= last; ++i) {
    if (!costs_[i]) limits.push_back(i);
  }
  return limits;
}

bool LimitProfile::empty() const {
  return std::none_of(costs_.begin(), costs_.end(), [](const auto& cost) { return cost; });
}

std::size_t LimitProfile::best() const {
  std::size_t best = costs_.size();
  for (std::size_t i = 0; i < costs_.size(); ++i) {
    if (costs_[i] && (best == costs_.size() || *costs_[i] < *costs_[best])) best = i;
  }
  return best;
}

}  // namespace perjoule
