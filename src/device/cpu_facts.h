// What /proc and sysfs say about the processors: model, maker, how many, how busy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "device/roots.h"

namespace perjoule {

struct CpuFacts {
  std::string model = "CPU";
  bool amd = false;
  int packages = 1;
  int logical_processors = 1;
  bool hypervisor = false;  ///< running in a virtual machine
};
CpuFacts read_cpu_facts(const Roots& roots);

/// The kernel's lists of CPUs: "0,24" or "0-3,8"; empty for anything else.
std::vector<int> parse_cpu_list(std::string_view text);

/// Accumulated CPU time of the whole machine from /proc/stat.
struct CpuTimes {
  Seconds busy;  ///< user, nice, system, irq, softirq, steal-free
  Seconds idle;  ///< idle and iowait
};
Result<CpuTimes> parse_cpu_times(std::string_view proc_stat);

}  // namespace perjoule
