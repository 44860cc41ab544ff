#include "math/rhythm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <optional>
#include <vector>

namespace perjoule {
namespace {

constexpr double kFallen = 0.2;          // r has left its peak at lag 0
constexpr double kAsHigh = 0.8;          // of the highest peak
constexpr double kStillThere = 0.6;      // of the first peak, at its multiples
constexpr int kLeastMultiples = 3;       // chance makes one peak, not three in line
constexpr double kParabolaError = 0.15;  // samples
constexpr double kLookAside = 0.15;      // of a period, for the peak at the next multiple

struct Prepared {
  std::vector<double> flat;    ///< the series without its straight trend
  std::vector<double> smooth;  ///< that, smoothed
  double depth = 0;
};

Prepared prepare(std::span<const float> series) {
  const auto n = static_cast<double>(series.size());
  double mean = 0;
  double slope = 0;
  for (std::size_t i = 0; i < series.size(); ++i) {
    mean += static_cast<double>(series[i]) / n;
    slope += static_cast<double>(series[i]) * (static_cast<double>(i) - (n - 1) / 2);
  }
  slope /= n * (n * n - 1) / 12;
  Prepared out;
  std::vector<double>& flat = out.flat;
  flat.resize(series.size());
  double square = 0;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const double trend = mean + slope * (static_cast<double>(i) - (n - 1) / 2);
    flat[i] = static_cast<double>(series[i]) - trend;
    square += flat[i] * flat[i] / n;
  }
  out.depth = mean > 0 ? std::sqrt(square) / mean : 0;
  out.smooth.resize(flat.size());
  for (std::size_t i = 0; i < flat.size(); ++i) {
    const double before = flat[i > 0 ? i - 1 : i];
    const double after = flat[i + 1 < flat.size() ? i + 1 : i];
    out.smooth[i] = (before + 2 * flat[i] + after) / 4;
  }
  return out;
}

/// r(k) for k up to half the series.
std::vector<double> correlation(const std::vector<double>& x) {
  const std::size_t n = x.size();
  std::vector<double> squares(n + 1);  // of the first i values
  for (std::size_t i = 0; i < n; ++i) squares[i + 1] = squares[i] + x[i] * x[i];
  std::vector<double> r(n / 2 + 1);
  for (std::size_t k = 0; k < r.size(); ++k) {
    double sum = 0;
    for (std::size_t i = 0; i + k < n; ++i) sum += x[i] * x[i + k];
    const double scale = std::sqrt(squares[n - k] * (squares[n] - squares[k]));
    r[k] = scale > 0 ? sum / scale : 0;
  }
  return r;
}

bool is_peak(const std::vector<double>& r, std::size_t k) {
  return k > 0 && k + 1 < r.size() && r[k] >= r[k - 1] && r[k] > r[k + 1];
}

/// The lag of the peak at k, between samples.
double placed(const std::vector<double>& r, std::size_t k) {
  const double bend = r[k - 1] - 2 * r[k] + r[k + 1];
  return static_cast<double>(k) + (bend < 0 ? 0.5 * (r[k - 1] - r[k + 1]) / bend : 0);
}

/// How high the peak at k is between samples: of the cubics through four neighbours, the better
/// one.
double height(const std::vector<double>& r, std::size_t k) {
  double best = r[k];
  for (const std::size_t left : {k - 1, k}) {
    if (left < 1 || left + 2 >= r.size()) continue;
    best = std::max(best, (9 * (r[left] + r[left + 1]) - r[left - 1] - r[left + 2]) / 16);
  }
  return best;
}

/// The highest peak in [low, high].
std::optional<std::size_t> highest_peak(const std::vector<double>& r, double low, double high) {
  std::optional<std::size_t> best;
  for (auto k = static_cast<std::size_t>(std::max(1.0, std::ceil(low)));
       static_cast<double>(k) <= high && k + 1 < r.size(); ++k) {
    if (is_peak(r, k) && (!best || height(r, k) > height(r, *best))) best = k;
  }
  return best;
}

/// The first peak that is as high as any, those that are expected first.
std::optional<std::size_t> first_peak(const std::vector<double>& r, double longest,
                                      const RhythmDemands& demands) {
  std::size_t from = 1;
  while (from < r.size() && r[from] >= kFallen) ++from;
  const auto highest = highest_peak(r, static_cast<double>(from), longest);
  if (!highest) return std::nullopt;
  const double enough = kAsHigh * height(r, *highest);
  const auto expected = highest_peak(r, std::max(static_cast<double>(from), demands.expected_above),
                                     std::min(longest, demands.expected_below));
  if (expected && height(r, *expected) >= enough) return expected;
  for (std::size_t k = from; static_cast<double>(k) <= longest; ++k) {
    if (is_peak(r, k) && height(r, k) >= enough) return k;
  }
  return std::nullopt;
}

/// The lag of the strongest of the waves that a series of this period is made of: its period over
/// a whole number.
double strongest_wave(const std::vector<double>& x, double period) {
  double strongest = 0;
  double answer = period;
  for (int m = 1; 2 * m <= period; ++m) {
    const double turn = 2 * std::numbers::pi * m / period;
    const std::complex<double> onward = std::polar(1.0, turn);
    std::complex<double> wave = 1;
    std::complex<double> sum;
    for (const double value : x) {
      sum += value * wave;
      wave *= onward;
    }
    if (std::norm(sum) <= strongest) continue;
    strongest = std::norm(sum);
    answer = period / m;
  }
  return answer;
}

/// The line through the origin and the peaks at one, two, ... periods.
class PeakLine {
 public:
  void add(double multiple, double lag) {
    multiples_.push_back(multiple);
    lags_.push_back(lag);
    product_ += multiple * lag;
    square_ += multiple * multiple;
  }
  double period() const { return product_ / square_; }
  int count() const { return static_cast<int>(lags_.size()); }
  double sigma() const {
    double residual = 0;
    for (std::size_t i = 0; i < lags_.size(); ++i)
      residual += std::pow(lags_[i] - multiples_[i] * period(), 2);
    const double variance = count() > 1 ? residual / (count() - 1) / square_ : 0;
    return std::sqrt(variance + std::pow(kParabolaError / count(), 2));
  }

 private:
  std::vector<double> multiples_;
  std::vector<double> lags_;
  double product_ = 0;
  double square_ = 0;
};

}  // namespace

Result<Rhythm> find_rhythm(std::span<const float> series, const RhythmDemands& demands) {
  const double longest = static_cast<double>(series.size()) / demands.least_periods;
  if (series.size() < 8 || longest < demands.least_period)
    return Error::unavailable("too short a series for a rhythm");
  const Prepared prepared = prepare(series);
  if (!(prepared.depth >= demands.least_depth)) return Error::not_found("the series is even");
  const std::vector<double> r = correlation(prepared.smooth);
  const auto first = first_peak(r, longest, demands);
  if (!first || !(height(r, *first) >= demands.least_regularity))
    return Error::not_found("the series does not repeat itself");
  PeakLine line;
  line.add(1, placed(r, *first));
  for (int m = 2;; ++m) {
    const double lag = m * line.period();
    const double aside = std::max(1.0, kLookAside * line.period());
    const auto peak = highest_peak(r, lag - aside, lag + aside);
    if (!peak || height(r, *peak) < kStillThere * height(r, *first)) break;
    line.add(m, placed(r, *peak));
  }
  if (line.count() < kLeastMultiples)
    return Error::not_found("the series does not keep its rhythm");
  if (line.period() < demands.least_period) {
    return Error::not_found(
        fmt::format("a rhythm of {:.1f} samples is too fast for the sampling", line.period()));
  }
  // Steps that are too fast show a slower alias; so does a ripple within slow steps.
  const double wave = strongest_wave(prepared.flat, line.period());
  if (wave < demands.least_period) {
    return Error::not_found(
        fmt::format("what repeats every {:.1f} samples is mostly a wave of {:.1f}, too fast for "
                    "the sampling: it may be an alias",
                    line.period(), wave));
  }
  return Rhythm{line.period(), line.sigma(), std::min(1.0, height(r, *first)), prepared.depth};
}

}  // namespace perjoule
