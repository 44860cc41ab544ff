// What Zeus's daemon tells: its devices, their energy and power, their limits.
#pragma once

#include <vector>

#include "server/http/route.h"
#include "server/zeusd/power_streams.h"
#include "server/zeusd/zeusd_devices.h"

namespace perjoule {

/// /discover, /time and /auth/whoami. `may_control`: there are knobs to turn.
std::vector<Route> zeusd_info_routes(const ZeusdDevices& devices, const Clock& clock,
                                     bool may_control);
/// /gpu/get_* and /gpu/stream_power.
std::vector<Route> zeusd_gpu_routes(const ZeusdDevices& devices, Meter& meter,
                                    PowerStreams& streams);
/// /cpu/get_* and /cpu/stream_power.
std::vector<Route> zeusd_cpu_routes(const ZeusdDevices& devices, Meter& meter,
                                    PowerStreams& streams);

}  // namespace perjoule
