// Who draws what, right now: power by device, and each device's power shared out among processes.
//
// Between two refreshes the energy of each device is measured by a window; a CPU's is shared by CPU
// time, a GPU's by utilisation (or, where the driver gives none, evenly among its processes). The
// shares of a device add up to its power.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/discovery.h"
#include "device/process_times.h"
#include "meter/meter.h"

namespace perjoule {

struct DevicePower {
  DeviceInfo info;
  DeviceState state;
  Watts power;    ///< mean since the last refresh
  Energy energy;  ///< since the last refresh; its status may be missing
  Joules so_far;  ///< since the view was opened
};

struct ProcessPower {
  std::int64_t pid = 0;
  std::string name;
  std::string cgroup;
  double cpu_share = 0;  ///< processors' worth of CPU time, 1 for one kept busy
  Watts cpu_power;
  Watts gpu_power;
  std::uint64_t gpu_memory_bytes = 0;
  Watts power() const { return cpu_power + gpu_power; }
};

struct PowerPicture {
  Seconds span;
  std::vector<DevicePower> devices;
  std::vector<ProcessPower> processes;  ///< most power first; those without any are left out
  Watts unattributed;                   ///< of devices that nobody kept busy
  Watts total;                          ///< of the sources that overlap no other
  Energy energy = Energy::missing("");  ///< of those: how the total is known
};

class PowerView {
 public:
  PowerView(const Inventory& machine, Meter& meter, std::string procfs);

  /// The picture since the last refresh (since construction for the first). O(processes).
  Result<PowerPicture> refresh();

 private:
  Outcome open_window();
  void share_cpu(PowerPicture& picture, const std::vector<ProcessTimes>& now, Watts power);
  void share_gpu(PowerPicture& picture, Device& device, Watts power);
  ProcessPower& process(PowerPicture& picture, std::int64_t pid);

  const Inventory& machine_;
  Meter& meter_;
  std::string procfs_;
  std::optional<Window> window_;
  std::map<std::int64_t, ProcessTimes> before_;
  std::map<std::string, Joules> so_far_;
};

}  // namespace perjoule
