// CPU energy from RAPL through the kernel's powercap tree; Intel and AMD share the driver.
//
// Zones: package-N and package-N-die-M are whole sockets or dies; core and uncore lie within a
// package; dram is beside it; psys is a top-level zone that contains the packages and is never
// added to them. A second control type (intel-rapl-mmio) repeats the packages and is left out. Each
// zone's counter wraps at its own max_energy_range_uj.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/roots.h"

namespace perjoule {

/// What a zone's name says, e.g. "package-12-die-3". Numbers may have any count of digits.
struct RaplZoneName {
  enum class Kind { kPackage, kDie, kCore, kUncore, kDram, kPsys, kOther };
  Kind kind = Kind::kOther;
  int package = 0;
  int die = 0;
};
RaplZoneName parse_rapl_zone_name(const std::string& name);

/// One device a CPU package, with its zones as sources and its power limits as knobs. Zones that
/// may not be read are problems with the remedy, never zeros.
Discovered discover_rapl_powercap(const Roots& roots);

}  // namespace perjoule
