// Whose work a GPU did while a command ran: the command's and its descendants', or other
// processes'.
//
// A GPU's energy counter knows no processes. The driver tells who holds the device and what share
// of its time each one had lately; look() is called now and again, and gives the time since the
// last look to those. What the last look found is taken to hold until the end, when the holders are
// gone. Where the driver tells no shares, the holders count alike, as in `top`.
//
// Pids are the driver's. One that this process cannot see (another container's, or numbers of the
// host's namespace) is nobody of ours and counts as another's.
#pragma once

#include <cstdint>
#include <set>
#include <stop_token>
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
  int asked = 0;                     ///< how often the driver was asked, whatever it answered
  double squares = 0;                ///< s^2: of the times that each look stands for
  std::set<std::int64_t> strangers;  ///< pids of the others

  /// As many looks a like time apart would tell as much of the shares.
  double equal_looks() const {
    const double time = (mine + others).value();
    return squares > 0 ? time * time / squares : 0;
  }
};

class GpuUsage {
 public:
  GpuUsage(std::vector<Device*> devices, std::string procfs);

  bool empty() const { return devices_.empty(); }
  /// The time from here on is shared out.
  void begin(Instant now);
  /// `root` and all that was ever found below it are ours. Costs a call or two a device, and a walk
  /// through /proc. Asks no further device once a stop is requested.
  void look(std::int64_t root, Instant now, const std::stop_token& stop = {});
  /// The time since the last look goes as that one found.
  void finish(Instant end);
  const std::vector<DeviceUsage>& usage() const { return usage_; }

 private:
  /// What a device's last look found.
  struct LastLook {
    Instant at;
    Seconds stands_for;
    double mine = 0;  ///< share of ours; negative where nobody was found
  };
  void follow(std::int64_t root);
  void ask(std::size_t i, Instant now);
  /// Gives the time up to `now` to those of the last look.
  void give(std::size_t i, Seconds time);

  std::vector<Device*> devices_;
  std::string procfs_;
  std::vector<DeviceUsage> usage_;
  /// A pid and its start time, which tells it from a later process of the same pid.
  std::set<std::pair<std::int64_t, std::uint64_t>> ours_;
  std::set<std::int64_t> ours_now_;
  std::vector<LastLook> last_;  ///< by device
};

}  // namespace perjoule
