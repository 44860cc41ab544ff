#include "cli/scatter.h"

#include <gtest/gtest.h>

namespace perjoule::cli {
namespace {
TEST(Scatter, PlacesDotsAndTheHigherRankWins) {
  const std::string plot = scatter({{1, 9, 'o', 1}, {1, 9, '*', 2}, {5, 5, 'o', 1}, {9, 1, '.', 0}},
                                   {"time", "energy", "1 s", "9 s", "1 J", "9 J"}, 9, 3);
  EXPECT_EQ(plot,
            "energy\n"
            "9 J |*\n"
            "    |    o\n"
            "1 J |        .\n"
            "    +---------\n"
            "     1 s   9 s  time\n");
}

TEST(Scatter, WideRangesAreLogarithmicAndOnePointIsFine) {
  const std::string plot = scatter({{1, 1, 'a', 0}, {10, 1, 'b', 0}, {100, 1, 'c', 0}},
                                   {"t", "e", "1", "100", "1", "1"}, 5, 1);
  EXPECT_NE(plot.find("|a b c"), std::string::npos);
  EXPECT_NE(plot.find("t (log)"), std::string::npos);
  EXPECT_EQ(scatter({}, {}, 5, 5), "");
  EXPECT_NE(scatter({{2, 2, 'x', 0}}, {}, 5, 5).find('x'), std::string::npos);
}
}  // namespace
}  // namespace perjoule::cli
