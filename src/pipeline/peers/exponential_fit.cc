#include "pipeline/peers/exponential_fit.h"

#include <cminpack.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace perjoule {
namespace {

/// The residuals as MINPACK asks for them.
int residuals(void* data, int count, int, const double* p, double* off, int) {
  const auto* samples = static_cast<const Sample*>(data);
  for (int i = 0; i < count; ++i) {
    off[i] = p[0] * std::exp(p[1] * samples[i].x) + p[2] - samples[i].y;
  }
  return 0;
}

std::optional<ExponentialFit> fit_from(std::vector<Sample>& samples, double a, double b, double c) {
  const int count = static_cast<int>(samples.size());
  std::vector<double> p = {a, b, c};
  std::vector<double> off(samples.size());
  std::vector<double> jacobian(3 * samples.size());
  std::vector<double> work(samples.size());
  double diagonal[3], transposed[3], work1[3], work2[3], work3[3];
  int pivots[3];
  int evaluations = 0;
  // What SciPy's curve_fit calls it with, and the peer's limit of evaluations.
  constexpr double kTolerance = 1.49012e-8;
  const int status =
      lmdif(residuals, samples.data(), count, 3, p.data(), off.data(), kTolerance, kTolerance, 0,
            50000, std::numeric_limits<double>::epsilon(), diagonal, 1, 100, 0, &evaluations,
            jacobian.data(), count, pivots, transposed, work1, work2, work3, work.data());
  if (status <= 0 || status > 4) return std::nullopt;
  ExponentialFit fit{p[0], p[1], p[2], 0};
  for (const Sample& s : samples) {
    const double residual = s.y - fit.at(s.x);
    fit.mean_square += residual * residual / static_cast<double>(samples.size());
  }
  if (!std::isfinite(fit.mean_square) || fit.a < 0) return std::nullopt;
  return fit;
}

}  // namespace

double ExponentialFit::at(double x) const { return a * std::exp(b * x) + c; }

Result<ExponentialFit> fit_exponential(std::span<const Sample> samples, double unit) {
  std::vector<double> xs;
  for (const Sample& s : samples) xs.push_back(s.x);
  std::sort(xs.begin(), xs.end());
  xs.erase(std::unique(xs.begin(), xs.end()), xs.end());
  if (xs.size() < 3) {
    return Error::invalid_argument(
        "an exponential needs three different times, there are " + std::to_string(xs.size()),
        "take a finer unit of time");
  }
  std::vector<Sample> points(samples.begin(), samples.end());
  std::optional<ExponentialFit> best;
  for (const double a : {10.0, 100.0, 1000.0}) {
    for (const double rate : {0.01, 0.02, 0.03, 0.04, 0.05, 0.1}) {
      for (const double c : {10.0, 100.0, 1000.0}) {
        const auto fit = fit_from(points, a, -rate * unit, c);
        if (fit && (!best || fit->mean_square < best->mean_square)) best = fit;
      }
    }
  }
  if (!best || !(best->b < 0)) {
    return Error::invalid_argument("no falling exponential fits",
                                   "plan with the measured points, which need no fit");
  }
  return *best;
}

}  // namespace perjoule
