// Linear least squares with a prior: what measurements leave open keeps the value it was expected
// to have, and says so by its standard error.
//
//   LeastSquares fit(2);
//   fit.add({1.0, 2.0}, 5.1);  ...
//   const auto solved = fit.solve({.mean = 3, .sigma = 3}, noise);
//   solved.value[0], solved.sigma[0]
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace perjoule {

class LeastSquares {
 public:
  explicit LeastSquares(std::size_t unknowns);

  /// An equation sum x_i u_i = y whose error is independent of the others'. O(unknowns^2).
  void add(std::span<const double> x, double y, double weight = 1);
  /// Equations that share an unknown constant: sum x_i u_i + c = y. The constant is eliminated.
  /// `rows` holds one equation's x behind the other. O(equations x unknowns^2).
  void add_with_constant(std::span<const double> rows, std::span<const double> y);
  std::size_t equations() const { return equations_; }

  /// What every unknown is expected to be.
  struct Prior {
    double mean = 0;
    double sigma = 1;  ///< above 0
  };
  struct Solution {
    std::vector<double> value;
    std::vector<double> sigma;  ///< one standard error of each
    double noise = 0;           ///< one standard deviation of an equation's error
  };
  /// The most likely unknowns. The noise of an equation is estimated from what is left over, in a
  /// few rounds from `noise` on (above 0). O(unknowns^3).
  Solution solve(const Prior& prior, double noise) const;

 private:
  std::size_t unknowns_;
  std::size_t equations_ = 0;
  std::size_t constants_ = 0;
  std::vector<double> products_;  ///< X^T X by row
  std::vector<double> right_;     ///< X^T y
  double squares_ = 0;            ///< y^T y
};

}  // namespace perjoule
