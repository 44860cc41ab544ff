#include "serving/load/arrivals.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/text.h"
#include "math/random.h"

namespace perjoule {
namespace {

bool is_positive(double value) { return std::isfinite(value) && value > 0; }

/// Above 0, as a logarithm wants it.
double positive_uniform(Random& random) { return 1 - random.uniform(); }

double exponential(Random& random) { return -std::log(positive_uniform(random)); }

/// Of scale 1: Marsaglia and Tsang, "A simple method for generating gamma variables" (2000); shapes
/// below 1 by their section 6.
double gamma(Random& random, double shape) {
  if (shape < 1) {
    // Drawn first, whatever comes of the other.
    const double u = positive_uniform(random);
    return gamma(random, shape + 1) * std::pow(u, 1 / shape);
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = random.normal();
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(positive_uniform(random)) < 0.5 * x * x + d - d * v + d * std::log(v))
      return d * v;
  }
}

std::vector<Seconds> constant_times(Hertz rate, std::size_t count) {
  std::vector<Seconds> times(count);
  // Not summed up: a long run would drift.
  for (std::size_t i = 0; i < count; ++i) times[i] = static_cast<double>(i + 1) / rate;
  return times;
}

std::vector<Seconds> random_times(const Arrivals& arrivals, std::size_t count, std::uint64_t seed) {
  Random random(seed);
  const bool is_poisson = arrivals.law == ArrivalLaw::kPoisson;
  std::vector<Seconds> times(count);
  double sum = 0;  // in mean gaps
  for (Seconds& time : times) {
    sum +=
        is_poisson ? exponential(random) : gamma(random, arrivals.burstiness) / arrivals.burstiness;
    time = sum / arrivals.rate;
  }
  if (!arrivals.has_exact_mean || count == 0 || sum <= 0) return times;
  const Seconds end = static_cast<double>(count) / arrivals.rate;
  const double stretch = end / times.back();
  for (Seconds& time : times) time = std::min(time * stretch, end);
  times.back() = end;
  return times;
}

Result<std::vector<Seconds>> trace_times(const Arrivals& arrivals, std::size_t count) {
  if (!is_positive(arrivals.speed)) {
    return Error::invalid_argument("a trace's speed must be above 0: " + exact(arrivals.speed));
  }
  if (count > arrivals.trace.size()) {
    return Error::out_of_range(
        "the trace holds fewer requests than are wanted: " + std::to_string(arrivals.trace.size()) +
            " of " + std::to_string(count),
        "ask for fewer");
  }
  std::vector<Seconds> times = arrivals.trace;
  for (const Seconds time : times) {
    if (!std::isfinite(time.value()))
      return Error::invalid_argument("an instant of the trace is no number");
  }
  std::sort(times.begin(), times.end());
  times.resize(count);
  const Seconds first = times.empty() ? Seconds() : times.front();
  for (Seconds& time : times) time = (time - first) / arrivals.speed;
  return times;
}

}  // namespace

std::string_view name_of(ArrivalLaw law) {
  switch (law) {
    case ArrivalLaw::kAtOnce:
      break;
    case ArrivalLaw::kConstant:
      return "constant";
    case ArrivalLaw::kPoisson:
      return "poisson";
    case ArrivalLaw::kGamma:
      return "gamma";
    case ArrivalLaw::kTrace:
      return "trace";
  }
  return "at_once";
}

Result<std::vector<Seconds>> arrival_times(const Arrivals& arrivals, std::size_t count,
                                           std::uint64_t seed) {
  if (arrivals.law == ArrivalLaw::kAtOnce) return std::vector<Seconds>(count);
  if (arrivals.law == ArrivalLaw::kTrace) return trace_times(arrivals, count);
  if (!is_positive(arrivals.rate.value()) || !std::isfinite(1 / arrivals.rate.value())) {
    return Error::invalid_argument(
        "a rate of requests must be above 0: " + exact(arrivals.rate.value()) + " per second");
  }
  if (arrivals.law == ArrivalLaw::kConstant) return constant_times(arrivals.rate, count);
  if (arrivals.law == ArrivalLaw::kGamma && !is_positive(arrivals.burstiness)) {
    return Error::invalid_argument("a burstiness must be above 0: " + exact(arrivals.burstiness),
                                   "1 is Poisson, less is burstier");
  }
  return random_times(arrivals, count, seed);
}

}  // namespace perjoule
