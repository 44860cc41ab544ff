#include "base/parallel.h"

#include <gtest/gtest.h>

#include <new>

namespace perjoule {
namespace {

TEST(Parallel, DoesEveryPieceOnce) {
  for (const std::size_t count : {0U, 1U, 2U, 1000U}) {
    std::vector<std::atomic<int>> done(count);
    in_parallel(count, [&](std::size_t i) { ++done[i]; });
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(done[i], 1) << i;
  }
}

TEST(Parallel, WhatAPieceThrowsIsThrownOnceTheOthersHaveStopped) {
  for (const std::size_t bad : {0U, 7U, 999U}) {
    std::atomic<int> running = 0;
    EXPECT_THROW(in_parallel(1000,
                             [&](std::size_t i) {
                               ++running;
                               if (i == bad) {
                                 --running;
                                 throw std::bad_alloc();
                               }
                               --running;
                             }),
                 std::bad_alloc);
    EXPECT_EQ(running, 0);
  }
}

}  // namespace
}  // namespace perjoule
