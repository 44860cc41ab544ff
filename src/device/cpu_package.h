// How a CPU package is named and described, the same by whichever interface it is found: powercap,
// perf and cpufreq tell of one device, and it is joined by its id.
#pragma once

#include <fmt/core.h>

#include <string>
#include <utility>

#include "device/cpu_facts.h"
#include "device/device.h"

namespace perjoule {

inline DeviceInfo describe_cpu_package(const CpuFacts& facts, int number, std::string driver) {
  DeviceInfo info;
  info.id = fmt::format("cpu:{}", number);
  info.kind = DeviceKind::kCpu;
  info.name = facts.model;
  info.vendor = facts.amd ? "AMD" : "Intel";
  info.driver = std::move(driver);
  info.index = number;
  return info;
}

}  // namespace perjoule
