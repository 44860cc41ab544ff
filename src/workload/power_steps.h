// One device's course of power as pieces of a line, so that the energy between any two moments, and
// what is not known of it, follow in O(log n).
//
// A course of points (PowerKind) is the line through them; one of means is level over the time that
// each is the mean of. Where a sample is missing, a line leads over the hole in either.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "workload/power_log.h"

namespace perjoule {

/// Time without a sample.
struct PowerGap {
  std::int64_t begin_unix_ns = 0;
  std::int64_t end_unix_ns = 0;

  Seconds duration() const {
    return Seconds(static_cast<double>(end_unix_ns - begin_unix_ns) * 1e-9);
  }
};

class PowerSteps {
 public:
  PowerSteps(const PowerSeries& series, PowerKind kind);

  /// The time that the samples speak of; empty, begin = end, of a single sample.
  std::int64_t begin() const { return begin_; }
  std::int64_t end() const { return end_; }

  /// Between two moments, the second no earlier. Before the begin and after the end the power
  /// beside it is taken to go on. O(log n).
  Joules energy(std::int64_t from, std::int64_t until) const;

  /// Variance, in J^2, of that energy for want of samples: between two points the power may have
  /// changed at any moment, evenly likely, from the one to the other, (dP dt)^2 / 12; of a mean
  /// only where the window cuts its time. Pieces that lie in `gaps` are left out: they are told
  /// apart. O(pieces in it).
  double sampling_variance(std::int64_t from, std::int64_t until,
                           const std::vector<PowerGap>& gaps) const;

  /// Distances of neighbouring samples above that, where they lie between the two moments, cut to
  /// them. O(pieces in it).
  std::vector<PowerGap> gaps(std::int64_t from, std::int64_t until, Seconds above) const;

  /// The lowest and the highest power between two moments. O(pieces in it).
  struct Range {
    Watts low;
    Watts high;
  };
  Range range(std::int64_t from, std::int64_t until) const;

 private:
  /// Power from p0 to p1 over [begin, end).
  struct Piece {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    double p0 = 0;
    double p1 = 0;
    bool line = false;  ///< else level, a mean
    double joules_before = 0;
  };
  void add(std::int64_t begin, std::int64_t end, double p0, double p1, bool line);
  /// The energy from the begin to that moment; negative before it.
  double joules_until(std::int64_t at) const;
  /// The first piece that ends after that moment.
  std::size_t piece_after(std::int64_t at) const;
  /// The largest step of power from a piece to its neighbours.
  double largest_step(std::size_t piece) const;

  std::vector<Piece> pieces_;
  std::int64_t begin_ = 0;
  std::int64_t end_ = 0;
  double first_power_ = 0;
  double last_power_ = 0;
};

}  // namespace perjoule
