// MIG instances of a simulated device: which there are and what they are called.
#pragma once

#include <string>

#include "twin/control_block.h"

namespace perjoule::twin::standin {

constexpr int kMigIndices = 8;

/// Whether that index is in use. Indices are sparse, as on real devices: 0, 2, 3, ...
bool has_slice(const DeviceBlock& device, int index);
std::string slice_uuid(const DeviceBlock& device, int index);
std::string slice_name(const DeviceBlock& device);
/// Sevenths of the device that one instance has: 7, 3, 2 or 1.
unsigned slice_sevenths(const DeviceBlock& device);

}  // namespace perjoule::twin::standin
