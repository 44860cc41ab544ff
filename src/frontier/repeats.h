// Repeats of one setting become one point.
//
//   RepeatCollector repeats;
//   while (more()) repeats.add(next());          // averaged as they come: memory by the configs
//   std::vector<Point> points = std::move(repeats).take();
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/config.h"

namespace perjoule {

/// Averages the points that have equal configs; the others, and points without settings, stay as
/// they are. Order is that of the first of each.
///
/// Time, rate and energy become means. The energy's random part becomes the larger of what the
/// parts carry (their random parts in quadrature, over n) and what their spread shows: the standard
/// error of the mean, s / sqrt(n), s with n - 1. Systematic parts, being the same error each time,
/// do not shrink. A point with missing energy is left out of the mean unless all are missing.
/// `origin` and `file` are those of the first.
class RepeatCollector {
 public:
  /// With `average` false every point stays.
  explicit RepeatCollector(bool average = true) : average_(average) {}
  /// Room for so many points; memory that is never used costs nothing.
  void reserve(std::size_t points) { points_.reserve(points); }
  /// O(1) expected.
  void add(Point point);
  std::vector<Point> take() &&;

 private:
  /// Of a config that came more than once: what was added up so far.
  struct Sum {
    Point total;  ///< time, rate and energy summed
    double n = 0;
    double mean = 0;     ///< of the joules
    double squares = 0;  ///< sum of squared deviations from that mean
  };
  static Sum sum_of(Point point);
  void repeat(std::size_t first, Point point);
  /// Where a config is looked up: its point, one more than the index and 0 where free, and enough
  /// of its hash to leave most others unread.
  struct Slot {
    std::uint32_t point = 0;
    std::uint32_t hash = 0;
  };
  void grow();
  Slot& slot_of(const Config& config, std::uint32_t hash);

  bool average_;
  std::vector<Point> points_;  ///< the first of each config
  /// Open addressing: a map of a million nodes would cost more than everything else here.
  std::vector<Slot> slots_;
  std::unordered_map<std::size_t, Sum> sums_;  ///< by the first's index
};

/// The same for points that are there already. O(n) expected.
std::vector<Point> average_repeats(std::vector<Point> points);

}  // namespace perjoule
