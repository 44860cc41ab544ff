// Work for one GPU that a probe turns on and off: real kernels through the CUDA driver, opened at
// run time, or phases on a simulated machine. Probes do not know which.
#pragma once

#include <memory>

#include "base/result.h"
#include "base/units.h"

namespace perjoule {

class GpuLoad {
 public:
  virtual ~GpuLoad() = default;
  /// Keeps the device busy for that long; returns when it is idle again, within about a
  /// millisecond.
  virtual Outcome burn(Seconds duration) = 0;
};

/// The first GPU, with a context open as long as the load lives. not_found without a CUDA driver.
Result<std::unique_ptr<GpuLoad>> make_cuda_load();
/// Device 0 of the machine that PERJOULE_TWIN names.
Result<std::unique_ptr<GpuLoad>> make_twin_load();

}  // namespace perjoule
