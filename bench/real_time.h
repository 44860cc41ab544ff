// For measurements of what a client does, and not of what else its machine has to do.
#pragma once

#include <sched.h>

namespace perjoule::bench {

/// Has this thread, and what it starts, go before whatever else the machine has to do, where the
/// system allows that: a kernel thread that runs for 3 ms on the client's processor is nothing of
/// the client's.
class RealTime {
 public:
  RealTime() {
    sched_param priority{};
    priority.sched_priority = 1;
    is_allowed_ = ::sched_setscheduler(0, SCHED_FIFO, &priority) == 0;
  }
  ~RealTime() {
    const sched_param none{};
    if (is_allowed_) (void)::sched_setscheduler(0, SCHED_OTHER, &none);
  }
  RealTime(const RealTime&) = delete;
  RealTime& operator=(const RealTime&) = delete;
  bool is_allowed() const { return is_allowed_; }

 private:
  bool is_allowed_ = false;
};

}  // namespace perjoule::bench
