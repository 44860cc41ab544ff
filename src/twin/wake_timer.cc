#include "twin/wake_timer.h"

#include <chrono>
#include <utility>

#include "base/signals_kept.h"

namespace perjoule::twin {

WakeTimer::WakeTimer() {
  const SignalsKept kept;
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void WakeTimer::call_at(Instant when, std::function<void()> function) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.emplace(when, std::move(function));
  }
  changed_.notify_one();
}

void WakeTimer::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (waiting_.empty()) {
      changed_.wait(lock, stop, [this] { return !waiting_.empty(); });
      continue;
    }
    const Instant first = waiting_.begin()->first;
    const Seconds left = first - clock_.now();
    if (left > Seconds(0)) {
      changed_.wait_for(lock, stop, std::chrono::duration<double>(left.value()),
                        [&] { return waiting_.begin()->first < first; });
      continue;
    }
    const std::function<void()> due = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    lock.unlock();
    due();
    lock.lock();
  }
}

}  // namespace perjoule::twin
