// One thread's waiting: for descriptors, for instants, and for other threads.
//
//   PJ_TRY(const auto loop, EventLoop::create(clock));
//   PJ_CHECK(loop->watch(socket.get(), EPOLLIN, connection));       // connection.ready(events)
//   const auto timer = loop->call_at(clock.now() + Seconds(5), [&] { connection.give_up(); });
//   std::jthread other([&] { loop->post([&] { loop->stop(); }); });
//   loop->run();                                                     // until stop()
//
// Readiness is level-triggered: who reads less than there is, is called again. Timers run by the
// monotonic clock, to the microsecond and not to epoll's millisecond: a timerfd is set to the
// earliest. All but post() and stop() are of the loop's own thread. Callbacks may watch, forget,
// set and cancel what they like, themselves included.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "base/result.h"

namespace perjoule {

/// Who is told that a descriptor is ready.
class FdWatcher {
 public:
  virtual ~FdWatcher() = default;
  /// With EPOLLIN, EPOLLOUT, EPOLLHUP and EPOLLERR as epoll(7) has them.
  virtual void ready(std::uint32_t events) = 0;
};

class EventLoop {
 public:
  using TimerId = std::uint64_t;  ///< 0 is none
  using Call = std::function<void()>;

  /// The clock must be the system's monotonic one, unless nobody waits longer than a turn. It must
  /// outlive the loop.
  static Result<std::unique_ptr<EventLoop>> create(const Clock& clock);
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  const Clock& clock() const { return clock_; }

  /// Calls watcher.ready() while the descriptor is ready for one of `events`. The watcher must live
  /// until forget(). conflict where it is watched already.
  Outcome watch(int fd, std::uint32_t events, FdWatcher& watcher);
  /// Other events of a watched descriptor. not_found where it is none.
  Outcome change(int fd, std::uint32_t events);
  /// To be called before the descriptor is closed; nothing happens where it is not watched. Events
  /// of it that are already known are dropped.
  void forget(int fd);

  /// Calls once, at `when` or soon after; those of one instant in the order they were set in.
  /// O(log timers).
  TimerId call_at(Instant when, Call call);
  /// The call does not come any more; nothing happens where it already came. O(1) on average.
  void cancel(TimerId timer);
  std::size_t timers() const { return calls_.size(); }

  /// From any thread: has the loop's thread make this call, in the order they came in.
  void post(Call call);
  /// From any thread: run() returns after its turn.
  void stop();

  /// Turns until stop(); at once where stop() came before.
  void run();
  /// Waits until something happens, or not at all, and makes the calls that are due.
  void turn(bool may_wait = true);

 private:
  struct Slot {
    FdWatcher* watcher = nullptr;
    std::uint32_t generation = 0;  ///< tells events of a closed descriptor from its successor's
  };
  struct Timer {
    Instant when;
    TimerId id = 0;
    /// For std::push_heap and its like, which keep the largest in front: the earliest, here.
    bool operator<(const Timer& other) const {
      return when > other.when || (when == other.when && id > other.id);
    }
  };

  explicit EventLoop(const Clock& clock) : clock_(clock) {}
  Outcome open();
  void call_watchers(bool may_wait);
  void call_timers();
  void call_posted();
  void set_timerfd();
  /// Takes timers without a call from the front, and all of them where they are the most: the one
  /// in front has one afterwards.
  void drop_cancelled();
  void fetch_watcher(std::uint64_t key) const;

  const Clock& clock_;
  FileDescriptor epoll_;
  FileDescriptor wake_;      ///< an eventfd
  FileDescriptor timer_;     ///< a timerfd, set to armed_
  std::vector<Slot> slots_;  ///< by descriptor
  std::vector<Timer> heap_;
  std::unordered_map<TimerId, Call> calls_;  ///< of the timers that are not cancelled
  TimerId last_timer_ = 0;
  Instant armed_;  ///< 0 where the timerfd is not set
  std::mutex mutex_;
  std::vector<Call> posted_;  ///< guarded by mutex_
  std::atomic<bool> stopped_ = false;
};

}  // namespace perjoule
