// The kernel's words as others may write them (containers, fake trees): zone names, /proc/stat,
// /proc/PID/stat, lists of CPUs, perf events, hwmon labels. Whatever is accepted lies within its
// range.
#include <cstdlib>
#include <string>
#include <string_view>

#include "device/cpu_facts.h"
#include "device/hwmon.h"
#include "device/process_times.h"
#include "device/rapl_perf.h"
#include "device/rapl_powercap.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace perjoule;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const RaplZoneName zone = parse_rapl_zone_name(std::string(text));
  if (zone.package < 0 || zone.die < 0) std::abort();
  if (parse_hwmon_label(text).socket < 0) std::abort();
  for (const int cpu : parse_cpu_list(text)) {
    if (cpu < 0) std::abort();
  }
  (void)parse_perf_event(text);
  (void)parse_cpu_times(text);
  (void)parse_process_stat(text);
  return 0;
}
