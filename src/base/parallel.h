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
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/signals_kept.h"

namespace perjoule {

/// Calls `work` for 0 to `count` - 1 from as many threads as there are processors, and returns when
/// all is done. No two calls of it share what one of them writes. What one of them throws (there
/// may be no memory left) is thrown here, once the others have stopped.
template <typename Work>
void in_parallel(std::size_t count, const Work& work) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failed;
  std::mutex failing;  // guards failed
  const auto take = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      next = count;  // nobody begins another
      const std::lock_guard lock(failing);
      if (!failed) failed = std::current_exception();
    }
  };
  std::vector<std::jthread> others;
  const std::size_t threads = std::min<std::size_t>(count, std::thread::hardware_concurrency());
  try {
    const SignalsKept kept;
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back(take);
  } catch (const std::system_error&) {
    // Those that there are, or this one alone, do it as well.
  }
  take();
  others.clear();  // joins them
  if (failed) std::rethrow_exception(failed);
}

}  // namespace perjoule
