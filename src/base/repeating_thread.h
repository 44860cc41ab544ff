// A thread that does one thing again and again until it is destroyed.
//
//   RepeatingThread looks(Seconds(0.2), [this] { end_overdue(); });   // last member: it uses all
//   else
//
// The pause is between two calls; a stop does not wait for its end, only for a call that runs.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/signals_kept.h"
#include "base/units.h"

namespace perjoule {

class RepeatingThread {
 public:
  /// Does nothing.
  RepeatingThread() = default;
  template <typename Work>
  RepeatingThread(Seconds pause, Work work) {
    const SignalsKept kept;
    thread_ = std::jthread([pause, work = std::move(work)](const std::stop_token& stop) {
      std::mutex mutex;
      std::condition_variable_any never;
      std::unique_lock lock(mutex);
      for (;;) {
        never.wait_for(lock, stop, std::chrono::duration<double>(pause.value()),
                       [] { return false; });
        if (stop.stop_requested()) return;
        work();
      }
    });
  }

  /// Returns when no call runs any more, and none will.
  void stop() { thread_ = std::jthread(); }

 private:
  std::jthread thread_;
};

}  // namespace perjoule
