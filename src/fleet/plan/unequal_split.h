// The least power at which exactly n servers carry a load together, each with a share, a layout and
// a clock of its own: for all n and loads of a fleet at once.
//
// c(l), the least power of one server at load l within the latencies, is piecewise linear, and of
// servers on linear pieces all but one sit at an end of theirs in some optimum: one constraint, the
// sum, couples them. So n - 1 servers take loads of a grid that holds the measured ones, and one
// takes what is left, exactly:
//
//   B(k, s) = min over grid loads l of B(k - 1, s - l) + c(l),      B(0, 0) = 0
//   P(n, L) = min over s <= L of B(n - 1, s) + c(L - s)
//
// It is exact where pieces end on the grid (a latency may bind between two points of it), and at
// most a grid step from that elsewhere. Beside it stand all equal splits, so that it never loses to
// one. Building takes O(n x T x R) for T grid loads of the fleet and R of a server, an answer
// O(R + curves).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "fleet/plan/server_curves.h"

namespace perjoule {

/// Servers of one curve in a split, and what they draw together.
struct SplitPart {
  std::size_t curve = 0;
  int servers = 0;
};

struct ServerSplit {
  Watts power = {};
  std::vector<SplitPart> parts = {};  ///< by curve
};

class UnequalSplit {
 public:
  /// For up to `most` servers. The grid is made coarser until it takes less than half a second and
  /// some 150 MB; above about 2,000 servers it is too coarse to help, and only equal splits are
  /// left.
  UnequalSplit(const ServerCurves& servers, int most);

  /// None where `n` servers cannot carry it within the latencies. O(R).
  std::optional<Watts> power(int n, double load) const;
  /// The same, with what each server does. O(n + R).
  std::optional<ServerSplit> split(int n, double load) const;
  double step() const { return step_; }

 private:
  struct Last {  ///< n - 1 servers at a sum of the grid, one at the rest
    std::size_t sum = 0;
    ServerUse use = {};
    Watts power = {};
  };
  std::optional<Last> best(int n, double load) const;
  double& cell(std::size_t k, std::size_t sum) { return power_[k * sums_ + sum]; }
  double cell(std::size_t k, std::size_t sum) const { return power_[k * sums_ + sum]; }

  const ServerCurves& servers_;
  double step_ = 0;
  double highest_ = 0;                              ///< load of one server
  std::vector<std::optional<ServerUse>> row_ = {};  ///< of one server by grid load, 0 first
  std::size_t sums_ = 1;                            ///< grid loads of the fleet, 0 first
  std::vector<double> power_ = {};                  ///< B(k, s), k major
  std::vector<std::uint16_t> choice_ = {};          ///< grid load that it took
};

}  // namespace perjoule
