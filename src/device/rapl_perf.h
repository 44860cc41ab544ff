// CPU energy from RAPL through the kernel's perf events, for domains that powercap does not give
// (its files are closed to users since CVE-2020-8694; CAP_PERFMON opens these instead).
//
// PMU `power`: energy-pkg, -ram, -cores, -gpu, -psys; AMD adds PMU `power_core` with energy-core
// for each core. Counts are system-wide, one CPU of each package or die (each core) stands for all:
// the PMU's cpumask. Counts times `scale` (2^-32) are joules; the kernel extends them to 64 bits.
//
// The kernel takes the difference of two hardware values as a signed 32-bit number and refreshes it
// by a timer sized for 200 W. A package above that, unread, can lose count: read it every minute.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "device/device.h"
#include "device/roots.h"

namespace perjoule {

/// The PMU event's number in "event=0x02"; none for anything else.
std::optional<std::uint64_t> parse_perf_event(std::string_view text);

/// Opens one system-wide counter on one CPU: perf_event_open, or a test's stand-in.
using PerfOpener =
    std::function<Result<FileDescriptor>(unsigned type, std::uint64_t config, int cpu)>;
Result<FileDescriptor> open_perf_counter(unsigned type, std::uint64_t config, int cpu);

/// Sources for the domains that are not among `known` (source ids), by package.
Discovered discover_rapl_perf(const Roots& roots, const std::vector<std::string>& known,
                              const PerfOpener& open = open_perf_counter);

}  // namespace perjoule
