// A fake powercap tree, nested as the kernel's: control type, package zone, core and dram subzones,
// found through the flat links in class/powercap. Processor power is a small model of its own:
// idle watts and watts a busy core, from the CPU time the machine really spends.
//
// A file "perjoule-simulated" in the root says that this is no hardware.
//
// Attributes are files of fixed width rewritten in place, so that a reader with an open descriptor
// sees new values as it does in sysfs.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/units.h"

namespace perjoule::twin {

/// Energy of the processors' zones so far, in microjoules, each below its zone's range.
struct ZoneEnergies {
  std::uint64_t package_uj = 0;
  std::uint64_t core_uj = 0;
  std::uint64_t dram_uj = 0;
};

class PowercapTree {
 public:
  static constexpr std::uint64_t kPackageRange = 262'143'328'850;  ///< 2^32 - 1 units of 61.035 uJ
  static constexpr std::uint64_t kDramRange = 65'712'999'613;

  /// Lays the tree below `root`, which then stands for /sys.
  static Result<PowercapTree> create(const std::string& root);

  /// Adds what `busy` core-seconds within `elapsed` cost, and shows it.
  Outcome add(Seconds elapsed, Seconds busy);
  /// Sets the counters, to test what readers make of a wrap.
  Outcome set(const ZoneEnergies& energies);

 private:
  explicit PowercapTree(std::string zone) : zone_(std::move(zone)) {}
  Outcome show() const;

  std::string zone_;  // folder of the package zone
  ZoneEnergies energies_;
};

/// Core-seconds that the machine spent on anything but idling since it started, from /proc/stat.
Result<Seconds> busy_core_seconds();

}  // namespace perjoule::twin
