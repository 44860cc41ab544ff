#include "base/energy.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace perjoule {

std::string_view name_of(Boundary boundary) {
  constexpr std::string_view kNames[] = {"B0", "B1", "B2", "B3", "B4"};
  return kNames[static_cast<int>(boundary)];
}

std::string_view name_of(Status status) {
  constexpr std::string_view kNames[] = {"measured",      "simulated", "estimated",
                                         "reconstructed", "missing",   "zero"};
  return kNames[static_cast<int>(status)];
}

std::string_view name_of(Grade grade) {
  constexpr std::string_view kNames[] = {"A", "B", "C", "D"};
  return kNames[static_cast<int>(grade)];
}

namespace {

constexpr Status kAllStatuses[] = {Status::kMeasured,      Status::kSimulated, Status::kEstimated,
                                   Status::kReconstructed, Status::kMissing,   Status::kZero};
constexpr std::string_view kJoin = " + ";

/// Rank of trust, best first; zero is exact and yields to whatever it is added to.
int distrust(Status status) {
  switch (status) {
    case Status::kZero:
      return 0;
    case Status::kMeasured:
      return 1;
    case Status::kReconstructed:
      return 2;
    case Status::kEstimated:
      return 3;
    case Status::kSimulated:
      return 4;
    case Status::kMissing:
      return 5;
  }
  return 5;
}

std::vector<SystematicPart> merge(const std::vector<SystematicPart>& a,
                                  const std::vector<SystematicPart>& b, double sign) {
  std::vector<SystematicPart> merged = a;
  for (const SystematicPart& part : b) {
    auto at = std::lower_bound(
        merged.begin(), merged.end(), part.sensor,
        [](const SystematicPart& p, const std::string& s) { return p.sensor < s; });
    if (at != merged.end() && at->sensor == part.sensor) {
      at->sigma += part.sigma * sign;
    } else {
      merged.insert(at, SystematicPart{part.sensor, part.sigma * sign});
    }
  }
  return merged;
}

std::string join_sources(const std::string& a, const std::string& b) {
  if (a.empty() || a == b) return b;
  if (b.empty()) return a;
  // A thousand repeats are of the sources that one of them has. Ids are whole words between joins.
  const std::string all = std::string(kJoin) + a + std::string(kJoin);
  if (all.find(std::string(kJoin) + b + std::string(kJoin)) != std::string::npos) return a;
  return a + std::string(kJoin) + b;
}

Joules quadrature(Joules a, Joules b) { return Joules(std::hypot(a.value(), b.value())); }

void take_statuses(const Energy& a, const Energy& b, Energy& sum) {
  const bool first = distrust(a.status) >= distrust(b.status);
  sum.status = first ? a.status : b.status;
  // What is missing is told of no more, and nothing added changes no state.
  if (sum.status == Status::kMissing) return;
  sum.mixed_with = a.mixed_with;
  sum.mixed_with.add(b.mixed_with);
  sum.mixed_with.add(first ? b.status : a.status);
  sum.mixed_with.remove(sum.status);
  sum.mixed_with.remove(Status::kZero);
}

Energy combine(const Energy& a, const Energy& b, double sign) {
  Energy sum;
  sum.joules = a.joules + b.joules * sign;
  sum.random = quadrature(a.random, b.random);
  sum.systematic = merge(a.systematic, b.systematic, sign);
  sum.lower = a.lower + (sign > 0 ? b.lower : -b.upper);
  sum.upper = a.upper + (sign > 0 ? b.upper : -b.lower);
  sum.source = join_sources(a.source, b.source);
  sum.boundary = std::max(a.boundary, b.boundary);
  sum.lower_bound = a.lower_bound || (sign > 0 ? b.lower_bound : b.upper_bound);
  sum.upper_bound = a.upper_bound || (sign > 0 ? b.upper_bound : b.lower_bound);
  take_statuses(a, b, sum);
  return sum;
}

}  // namespace

Joules Energy::standard_uncertainty() const {
  double variance = random.value() * random.value();
  for (const SystematicPart& part : systematic) variance += part.sigma.value() * part.sigma.value();
  return Joules(std::sqrt(variance));
}

Joules Energy::expanded_uncertainty() const { return 2.0 * standard_uncertainty(); }

std::string Energy::status_text() const {
  if (mixed_with.empty() || status == Status::kMissing) return std::string(name_of(status));
  std::string text;
  for (const Status one : kAllStatuses) {
    if (one != status && !mixed_with.contains(one)) continue;
    if (!text.empty()) text += kJoin;
    text += name_of(one);
  }
  return text;
}

bool Energy::set_status(std::string_view text) {
  Energy sum;
  sum.status = Status::kZero;
  for (;;) {
    const std::size_t join = text.find(kJoin);
    const std::string_view name = text.substr(0, join);
    Energy part;
    const auto* known = std::find_if(std::begin(kAllStatuses), std::end(kAllStatuses),
                                     [&](Status one) { return name_of(one) == name; });
    if (known == std::end(kAllStatuses)) return false;
    part.status = *known;
    Energy both;
    take_statuses(sum, part, both);
    sum = both;
    if (join == std::string_view::npos) break;
    text.remove_prefix(join + kJoin.size());
  }
  status = sum.status;
  mixed_with = sum.mixed_with;
  return true;
}

Grade Energy::grade() const {
  if (status != Status::kMeasured || joules.value() == 0 || one_sided()) return Grade::kD;
  const double relative = std::abs(expanded_uncertainty() / joules);
  if (relative < 0.02) return Grade::kA;
  if (relative < 0.05) return Grade::kB;
  if (relative < 0.15) return Grade::kC;
  return Grade::kD;
}

void Energy::name_sensors_of(std::string_view host) {
  if (host.empty()) return;
  for (SystematicPart& part : systematic) {
    if (part.sensor.find("GPU-") != std::string::npos) continue;
    part.sensor = std::string(host) + "/" + part.sensor;
  }
  std::sort(systematic.begin(), systematic.end(),
            [](const SystematicPart& a, const SystematicPart& b) { return a.sensor < b.sensor; });
}

Energy Energy::missing(std::string source, Boundary boundary) {
  Energy energy;
  energy.source = std::move(source);
  energy.boundary = boundary;
  return energy;
}

Energy operator+(const Energy& a, const Energy& b) { return combine(a, b, 1.0); }
Energy operator-(const Energy& a, const Energy& b) { return combine(a, b, -1.0); }

Energy operator*(const Energy& a, double factor) {
  Energy scaled = a;
  scaled.joules *= factor;
  scaled.random = abs(a.random * factor);
  for (SystematicPart& part : scaled.systematic) part.sigma *= factor;
  scaled.lower = factor >= 0 ? a.lower * factor : a.upper * factor;
  scaled.upper = factor >= 0 ? a.upper * factor : a.lower * factor;
  if (factor < 0) std::swap(scaled.lower_bound, scaled.upper_bound);
  return scaled;
}

}  // namespace perjoule
