#include "meter/attribution.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace perjoule {
namespace {

/// One sigma of a share that was counted in n ticks, by the rule of succession: what was never seen
/// in two looks may well have been there between them.
double share_sigma(double share, double ticks) {
  const double n = std::max(1.0, ticks);
  const double middle = (share * n + 1) / (n + 2);
  return std::sqrt(middle * (1 - middle) / (n + 3));
}

/// `ticks` is infinite where nothing had to be counted: one owner has it all.
Attributed part(const Energy& total, std::string owner, double share, double ticks) {
  Attributed out{std::move(owner), total * share, share};
  if (std::isinf(ticks)) return out;
  const double sigma = share_sigma(share, ticks);
  out.energy.random = Joules(std::hypot(out.energy.random.value(), total.joules.value() * sigma));
  // A share is a model of who used what, even where the total was measured.
  if (share < 1) {
    if (out.energy.status == Status::kMeasured) out.energy.status = Status::kEstimated;
    if (out.energy.mixed_with.contains(Status::kMeasured)) {
      out.energy.mixed_with.remove(Status::kMeasured);
      if (out.energy.status != Status::kEstimated) out.energy.mixed_with.add(Status::kEstimated);
    }
  }
  if (out.energy.status == Status::kEstimated) {
    // A model's interval: the total's, and what the count leaves open.
    out.energy.lower = std::max(Joules(0), total.lower * std::max(0.0, share - 2 * sigma));
    out.energy.upper = total.upper * std::min(1.0, share + 2 * sigma);
  } else {
    out.energy.lower = Joules(0);
    out.energy.upper = total.upper;
  }
  return out;
}

}  // namespace

std::vector<Attributed> attribute(const Energy& total, const std::optional<Joules>& idle,
                                  const std::vector<Weight>& weights, double ticks) {
  std::vector<Attributed> parts;
  const bool alone = !idle && weights.size() <= 1;
  const double counted = alone ? std::numeric_limits<double>::infinity() : ticks;
  double left = 1;
  if (idle && total.joules.value() > 0) {
    const double share = std::clamp(*idle / total.joules, 0.0, 1.0);
    parts.push_back(part(total, kIdleOwner, share, counted));
    left = 1 - share;
  }
  double sum = 0;
  for (const Weight& weight : weights) sum += std::max(0.0, weight.amount);
  if (!(sum > 0)) {
    if (left > 0) parts.push_back(part(total, kUnattributedOwner, left, counted));
    return parts;
  }
  for (const Weight& weight : weights) {
    parts.push_back(part(total, weight.owner, left * std::max(0.0, weight.amount) / sum, counted));
  }
  return parts;
}

}  // namespace perjoule
