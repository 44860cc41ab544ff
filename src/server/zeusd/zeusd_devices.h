// A node's GPUs and processors as Zeus's clients number them: by the vendor's own index.
//
//   const ZeusdDevices devices = ZeusdDevices::of(node.machine(), node.meter());
//   PJ_TRY(const std::uint64_t micro, energy_so_far(*devices.gpus.at(0).energy));
//
// Everything is read through the meter's channels, which follow wraps and resets and serve any
// thread. A processor that only a model tells of is left out: Zeus's answers have no word for an
// estimate.
#pragma once

#include <cstdint>
#include <map>

#include "device/discovery.h"
#include "meter/meter.h"

namespace perjoule {

struct ZeusdGpu {
  int id = 0;
  Device* device = nullptr;
  Channel* energy = nullptr;  ///< null: it tells none
  Channel* power = nullptr;   ///< null: likewise
  Knob* power_limit = nullptr;
  Knob* clock = nullptr;
  Knob* memory_clock = nullptr;
};

struct ZeusdCpu {
  int id = 0;
  Channel* package = nullptr;
  Channel* dram = nullptr;  ///< null: it has no such counter
};

struct ZeusdDevices {
  std::map<int, ZeusdGpu> gpus;
  std::map<int, ZeusdCpu> cpus;

  /// Of several GPUs with one index (of two vendors) the first found. Both must outlive it.
  static ZeusdDevices of(const Inventory& machine, Meter& meter);
};

/// Microjoules since the daemon began. The channel's own error where it cannot be read now.
Result<std::uint64_t> energy_so_far(Channel& channel);
/// Milliwatts now, by its gauge.
Result<std::int64_t> power_now(const ZeusdGpu& gpu);

/// Two readings of a counter as the power between its moves; nothing where it has not moved.
std::optional<std::int64_t> milliwatts_between(const Snapshot& before, const Snapshot& after);

}  // namespace perjoule
