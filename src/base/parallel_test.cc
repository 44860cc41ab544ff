#include "base/parallel.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

TEST(Parallel, DoesEveryPieceOnce) {
  for (const std::size_t count : {0U, 1U, 2U, 1000U}) {
    std::vector<std::atomic<int>> done(count);
    in_parallel(count, [&](std::size_t i) { ++done[i]; });
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(done[i], 1) << i;
  }
}

}  // namespace
}  // namespace perjoule
