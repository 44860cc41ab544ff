// Everything this machine can tell and obey, found once at start.
//
//   Inventory machine = discover(Roots::from_environment(), clock);
//   for (Source* source : machine.summed_sources()) ...
//   for (const Problem& problem : machine.problems) ...   // what `perjoule doctor` prints
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "device/device.h"
#include "device/roots.h"

namespace perjoule {

struct DiscoveryOptions {
  bool estimate_cpu = true;  ///< add the CPU-time estimator where no CPU counter can be read
  bool node_meters = false;  ///< ask IPMI; off by default: it can take a second
};

struct Inventory {
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<Problem> problems;

  /// All sources, in the order of the devices.
  std::vector<Source*> sources() const;
  /// The sources that add up without counting anything twice: those that are part of no other.
  std::vector<Source*> summed_sources() const;
  std::vector<Knob*> knobs() const;
  Device* find_device(std::string_view id) const;
};

Inventory discover(const Roots& roots, const Clock& clock, const DiscoveryOptions& options = {});

}  // namespace perjoule
