// Whose work a GPU did while a command ran: the command's and its descendants', or other
// processes'.
//
// A GPU's energy counter knows no processes. The driver tells who holds the device and what share
// of its time each one had lately; look() is called now and again, and gives the time since the
// last look to those. Where the driver tells no shares, the holders count alike, as in `top`.
//
// Pids are the driver's. One that this process cannot see (another container's, or numbers of the
// host's namespace) is nobody of ours and counts as another's.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "device/device.h"

namespace perjoule {

/// Seconds of a device's time.
struct DeviceUsage {
  std::string device;
  Seconds mine;
  Seconds others;
  int looks = 0;                     ///< that anybody was found at
  std::set<std::int64_t> strangers;  ///< pids of the others
};

class GpuUsage {
 public:
  GpuUsage(std::vector<Device*> devices, std::string procfs);

  bool empty() const { return devices_.empty(); }
  /// `root` and all that was ever found below it are ours. Costs a call or two a device, and a walk
  /// through /proc.
  void look(std::int64_t root, Instant now);
  const std::vector<DeviceUsage>& usage() const { return usage_; }

 private:
  void follow(std::int64_t root);

  std::vector<Device*> devices_;
  std::string procfs_;
  std::vector<DeviceUsage> usage_;
  /// A pid and its start time, which tells it from a later process of the same pid.
  std::set<std::pair<std::int64_t, std::uint64_t>> ours_;
  std::set<std::int64_t> ours_now_;
  Instant last_;
};

}  // namespace perjoule
