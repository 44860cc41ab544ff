// Independent pieces of work on all processors.
//
//   in_parallel(plans.size(), [&](std::size_t i) { plans[i] = better(plans[i]); });
//
// Pieces are taken in order by whoever is free. Results that are summed are to be summed
// afterwards, in order, so that a sum does not depend on who did what.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "base/signals_kept.h"

namespace perjoule {

/// Calls `work` for 0 to `count` - 1 from as many threads as there are processors, and returns when
/// all is done. `work` throws nothing, and no two calls of it share what one of them writes.
template <typename Work>
void in_parallel(std::size_t count, const Work& work) {
  std::atomic<std::size_t> next = 0;
  const auto take = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::jthread> others;
  const std::size_t threads = std::min<std::size_t>(count, std::thread::hardware_concurrency());
  {
    const SignalsKept kept;
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back(take);
  }
  take();
}

}  // namespace perjoule
