#include "base/huge_pages.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace perjoule {
namespace {

TEST(HugePages, PiecesAreAlignedAndApart) {
  HugePages pages;
  std::vector<std::pair<char*, std::size_t>> pieces;
  // The small first region, regions of the usual size, and one larger than that.
  for (const std::size_t size : {std::size_t{1}, std::size_t{100}, std::size_t{1} << 20U,
                                 std::size_t{7} << 20U, std::size_t{20} << 20U, std::size_t{8}}) {
    for (const std::size_t alignment : {8U, 64U, 4096U}) {
      auto* piece = static_cast<char*>(pages.allocate(size, alignment));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece) % alignment, 0U);
      std::memset(piece, static_cast<int>(pieces.size()), size);
      pieces.emplace_back(piece, size);
    }
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    EXPECT_EQ(pieces[i].first[0], static_cast<char>(i));
    EXPECT_EQ(pieces[i].first[pieces[i].second - 1], static_cast<char>(i));
  }
}

TEST(HugePages, AFewObjectsDoNotCostMegabytes) {
  HugePages pages;
  for (int i = 0; i < 10; ++i) (void)pages.allocate(1000, 8);
  EXPECT_LE(pages.reserved(), 64U << 10U);
}

TEST(HugePages, APoolGivesTheSamePlacesAgain) {
  HugePagePool pool;
  std::size_t after_first = 0;
  for (int round = 0; round < 20; ++round) {
    std::vector<std::pair<char*, std::size_t>> places;
    // As vectors that grow by doubling, and beyond what is pooled.
    for (std::size_t size = 100; size < std::size_t{3} << 20U; size *= 2) {
      for (int i = 0; i < 3; ++i) {
        auto* place = static_cast<char*>(pool.allocate(size, 8));
        std::memset(place, i, size);
        places.emplace_back(place, size);
      }
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto [place, size] = places[i];
      EXPECT_EQ(place[size - 1], static_cast<char>(i % 3));
      pool.deallocate(place, size, 8);
    }
    if (round == 0) after_first = pool.reserved();
  }
  EXPECT_EQ(pool.reserved(), after_first);
}

}  // namespace
}  // namespace perjoule
