// Looks who holds the GPUs while a command runs, in a thread of its own.
//
// The question costs up to 100 ms a GPU on a busy driver. Nobody who measures may wait for that:
// neither the command's end nor a unit's mark, a signal or a budget.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "meter/gpu_usage.h"

namespace perjoule {

class GpuWatch {
 public:
  GpuWatch(std::vector<Device*> devices, std::string procfs, const Clock& clock);

  /// From now on, for the program `root` and all below it. The first looks follow each other
  /// quickly, so that a short run is looked at too; those of a slow driver are few.
  void start(std::int64_t root);
  /// Whose the GPUs' time was until `end`. Ends the looks: waits for the device that is being
  /// asked.
  std::vector<DeviceUsage> finish(Instant end);

 private:
  void watch(const std::stop_token& stop, std::int64_t root);

  const Clock& clock_;
  GpuUsage usage_;  ///< the thread's until it has ended
  std::mutex mutex_;
  std::condition_variable_any woken_;
  std::jthread thread_;  ///< the last member: it uses the others
};

}  // namespace perjoule
