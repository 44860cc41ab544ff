#include "math/least_squares.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>

namespace perjoule {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
// The noise settles to a percent in two or three.
constexpr int kRounds = 5;

}  // namespace

LeastSquares::LeastSquares(std::size_t unknowns)
    : unknowns_(unknowns), products_(unknowns * unknowns), right_(unknowns) {}

void LeastSquares::add(std::span<const double> x, double y, double weight) {
  for (std::size_t i = 0; i < unknowns_; ++i) {
    if (x[i] == 0) continue;
    for (std::size_t j = 0; j < unknowns_; ++j)
      products_[i * unknowns_ + j] += weight * x[i] * x[j];
    right_[i] += weight * x[i] * y;
  }
  squares_ += weight * y * y;
  ++equations_;
}

void LeastSquares::add_with_constant(std::span<const double> rows, std::span<const double> y) {
  if (y.size() < 2) return;  // one equation and its own constant say nothing
  const auto count = static_cast<double>(y.size());
  std::vector<double> mean(unknowns_);
  double y_mean = 0;
  for (std::size_t row = 0; row < y.size(); ++row) {
    for (std::size_t i = 0; i < unknowns_; ++i) mean[i] += rows[row * unknowns_ + i] / count;
    y_mean += y[row] / count;
  }
  std::vector<double> x(unknowns_);
  for (std::size_t row = 0; row < y.size(); ++row) {
    for (std::size_t i = 0; i < unknowns_; ++i) x[i] = rows[row * unknowns_ + i] - mean[i];
    add(x, y[row] - y_mean);
  }
  ++constants_;
}

LeastSquares::Solution LeastSquares::solve(const Prior& prior, double noise) const {
  const auto n = static_cast<Eigen::Index>(unknowns_);
  const Eigen::Map<const Matrix> products(products_.data(), n, n);
  const Eigen::Map<const Eigen::VectorXd> right(right_.data(), n);
  const Eigen::VectorXd expected = Eigen::VectorXd::Constant(n, prior.mean);
  Solution solution;
  solution.noise = noise;
  for (int round = 0; round < kRounds; ++round) {
    // Never so small that the prior is lost in rounding beside the equations.
    solution.noise = std::max(solution.noise, 1e-6 * prior.sigma * std::sqrt(products.trace()));
    const double ridge = std::pow(solution.noise / prior.sigma, 2);
    const Eigen::LDLT<Eigen::MatrixXd> factors(products + ridge * Eigen::MatrixXd::Identity(n, n));
    const Eigen::VectorXd value = expected + factors.solve(right - products * expected);
    const Eigen::VectorXd spread =
        factors.solve(Eigen::MatrixXd::Identity(n, n)).diagonal() * solution.noise * solution.noise;
    solution.value.assign(value.data(), value.data() + n);
    solution.sigma.resize(unknowns_);
    for (Eigen::Index i = 0; i < n; ++i)
      solution.sigma[static_cast<std::size_t>(i)] = std::sqrt(std::max(0.0, spread[i]));
    // Unknowns that only the prior knows took no equation.
    double known = 0;
    for (Eigen::Index i = 0; i < n; ++i)
      known += 1 - std::min(1.0, spread[i] / std::pow(prior.sigma, 2));
    const double freedom =
        static_cast<double>(equations_) - static_cast<double>(constants_) - known;
    if (freedom < 1) break;
    const double left = squares_ - 2 * value.dot(right) + value.dot(products * value);
    const double before = solution.noise;
    // Below a billionth of the values it is rounding, and the prior would vanish.
    const double least = 1e-9 * std::sqrt(squares_ / static_cast<double>(equations_));
    solution.noise = std::max({std::sqrt(std::max(0.0, left) / freedom), least, 1e-300});
    if (std::abs(solution.noise - before) < 0.01 * before) break;
  }
  return solution;
}

}  // namespace perjoule
