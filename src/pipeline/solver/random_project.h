// Projects for tests of the solvers: random, layered, with classes of activities.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "math/random.h"
#include "pipeline/solver/time_cost_frontier.h"

namespace perjoule {

using Points = std::vector<CostPoint>;

/// A curve of a few corners, falling and convex; now and then of one option alone.
inline Points random_points(Random& random) {
  Points points;
  Ticks duration = 1 + static_cast<Ticks>(random.below(40));
  double cost = 50 * random.uniform() - 10;
  points.push_back({duration, cost});
  double slope = 3 * random.uniform() + 0.5;
  for (std::uint64_t more = random.below(5); more > 0; --more) {
    const Ticks step = 1 + static_cast<Ticks>(random.below(12));
    duration += step;
    cost -= slope * static_cast<double>(step);
    points.push_back({duration, cost});
    slope *= 0.3 + 0.6 * random.uniform();
  }
  return points;
}

/// A layered project with a curve for each class of activities, as a stage's are.
struct RandomProject {
  std::vector<Points> classes;
  std::vector<std::uint32_t> class_of;
  std::vector<Precedence> edges;

  explicit RandomProject(Random& random, std::uint32_t least = 4, std::uint32_t spread = 20) {
    for (std::uint64_t i = 2 + random.below(5); i > 0; --i)
      classes.push_back(random_points(random));
    const auto count = static_cast<std::uint32_t>(least + random.below(spread));
    for (std::uint32_t a = 0; a < count; ++a) {
      class_of.push_back(static_cast<std::uint32_t>(random.below(classes.size())));
      for (std::uint32_t before = a > 6 ? a - 6 : 0; before < a; ++before) {
        if (random.uniform() < 0.35) edges.push_back({before, a});
      }
    }
  }
  ActivityNetwork network() const { return {static_cast<std::uint32_t>(class_of.size()), edges}; }
  CurveSet curves() const {
    CurveSet set;
    for (std::size_t c = 0; c < classes.size(); ++c) {
      const auto uses = std::count(class_of.begin(), class_of.end(), c);
      set.add(falling_hull(classes[c]),
              static_cast<std::uint64_t>(std::max<std::ptrdiff_t>(1, uses)));
    }
    EXPECT_TRUE(set.seal());
    return set;
  }
};

inline double cost_of(const RandomProject& project, const CurveSet& curves,
                      const Schedule& schedule) {
  double cost = 0;
  for (std::uint32_t a = 0; a < project.class_of.size(); ++a)
    cost += curves.cost(project.class_of[a], schedule.end[a] - schedule.start[a]);
  return cost;
}

}  // namespace perjoule
