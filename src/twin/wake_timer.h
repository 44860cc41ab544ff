// Calls functions at moments of the real clock, from a thread of its own.
//
//   WakeTimer timer;
//   timer.call_at(clock.now() + Seconds(2), [] { ... });
//
// A function that is due calls no more of the timer than call_at(). What has not been called when
// the timer ends is not called.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>

#include "base/clock.h"

namespace perjoule::twin {

class WakeTimer {
 public:
  WakeTimer();
  void call_at(Instant when, std::function<void()> function);

 private:
  void run(const std::stop_token& stop);

  RealClock clock_;
  std::mutex mutex_;  // of what waits
  std::condition_variable_any changed_;
  std::multimap<Instant, std::function<void()>> waiting_;
  std::jthread thread_;  // last: its end is waited for before all else goes
};

}  // namespace perjoule::twin
