#include "meter/attribution.h"

#include <algorithm>
#include <cmath>

namespace perjoule {
namespace {

Attributed part(const Energy& total, std::string owner, double share, double ticks) {
  Attributed out{std::move(owner), total * share, share};
  const double sampling = std::sqrt(std::max(0.0, share * (1 - share)) / std::max(1.0, ticks));
  out.energy.random =
      Joules(std::hypot(out.energy.random.value(), total.joules.value() * sampling));
  // A share is a model of who used what, even where the total was measured.
  if (share < 1) {
    if (out.energy.status == Status::kMeasured) out.energy.status = Status::kEstimated;
    if (out.energy.mixed_with.contains(Status::kMeasured)) {
      out.energy.mixed_with.remove(Status::kMeasured);
      if (out.energy.status != Status::kEstimated) out.energy.mixed_with.add(Status::kEstimated);
    }
  }
  return out;
}

}  // namespace

std::vector<Attributed> attribute(const Energy& total, const std::optional<Joules>& idle,
                                  const std::vector<Weight>& weights, double ticks) {
  std::vector<Attributed> parts;
  double left = 1;
  if (idle && total.joules.value() > 0) {
    const double share = std::clamp(*idle / total.joules, 0.0, 1.0);
    parts.push_back(part(total, kIdleOwner, share, ticks));
    left = 1 - share;
  }
  double sum = 0;
  for (const Weight& weight : weights) sum += std::max(0.0, weight.amount);
  if (!(sum > 0)) {
    if (left > 0) parts.push_back(part(total, kUnattributedOwner, left, ticks));
    return parts;
  }
  for (const Weight& weight : weights) {
    parts.push_back(part(total, weight.owner, left * std::max(0.0, weight.amount) / sum, ticks));
  }
  return parts;
}

}  // namespace perjoule
