// Waiting for a GPU's asynchronous work, through whatever runtime this process has already loaded.
// Nothing is linked or opened: the symbols are looked up among those the process has.
#pragma once

#include <optional>

#include "meter/meter.h"

namespace perjoule {

/// A callback that waits for the current device's work: CUDA's or HIP's runtime, or CUDA's driver.
/// Empty when the process has none of them, and the window is then recorded as not synchronised.
SyncCallback find_device_sync();

/// Whether work is still queued on the default stream, without waiting; none when nobody can tell.
std::optional<bool> device_work_queued() noexcept;

}  // namespace perjoule
