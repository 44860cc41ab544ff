#include "pipeline/runtime/switch_law.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "math/statistic.h"

namespace perjoule {
namespace {

// Fewer have no median to speak of.
constexpr std::size_t kLeastSamples = 20;
constexpr std::size_t kLeastInClass = 3;
// Changes of about the same gain are of one class.
constexpr double kClass = 1.0 / 64;

/// A median with the number of what it is of.
struct Class {
  double faster = 0;
  double longer = 0;
  double count = 0;
};

/// Medians of changes to faster settings, by how much faster.
std::vector<Class> classes_of(std::span<const SwitchSample> samples) {
  std::map<long, std::pair<std::vector<double>, std::vector<double>>> by_class;
  for (const SwitchSample& one : samples) {
    if (one.faster <= 0) continue;
    auto& [faster, longer] = by_class[std::lround(one.faster / kClass)];
    faster.push_back(one.faster);
    longer.push_back(one.longer.value());
  }
  std::vector<Class> classes;
  for (auto& [number, both] : by_class) {
    auto& [faster, longer] = both;
    if (faster.size() < kLeastInClass) continue;
    classes.push_back({median(faster), median(longer), static_cast<double>(faster.size())});
  }
  return classes;
}

}  // namespace

std::optional<SwitchLaw> SwitchLaw::fit(std::span<const SwitchSample> samples) {
  if (samples.size() < kLeastSamples) return std::nullopt;
  SwitchLaw law;
  std::vector<double> slower;
  for (const SwitchSample& one : samples) {
    if (one.faster <= 0) slower.push_back(one.longer.value());
  }
  if (slower.size() >= kLeastInClass) law.constant_ = std::max(0.0, median(slower));
  // Weighted normal equations of a r + b r^2, neither below zero.
  double rr = 0, rrr = 0, rrrr = 0, ry = 0, rry = 0;
  for (const Class& one : classes_of(samples)) {
    const double r = one.faster;
    const double y = one.longer - law.constant_;
    rr += one.count * r * r;
    rrr += one.count * r * r * r;
    rrrr += one.count * r * r * r * r;
    ry += one.count * r * y;
    rry += one.count * r * r * y;
  }
  if (rr <= 0) return law;
  const double determinant = rr * rrrr - rrr * rrr;
  // Classes of one gain alone tell a and b not apart.
  if (determinant > 1e-9 * rr * rrrr) {
    law.linear_ = (ry * rrrr - rry * rrr) / determinant;
    law.quadratic_ = (rr * rry - rrr * ry) / determinant;
  } else {
    law.linear_ = ry / rr;
  }
  if (law.linear_ < 0) {
    law.linear_ = 0;
    law.quadratic_ = std::max(0.0, rry / rrrr);
  } else if (law.quadratic_ < 0) {
    law.quadratic_ = 0;
    law.linear_ = std::max(0.0, ry / rr);
  }
  return law;
}

Seconds SwitchLaw::time(double faster) const {
  const double r = std::max(0.0, faster);
  return Seconds(constant_ + linear_ * r + quadratic_ * r * r);
}

}  // namespace perjoule
