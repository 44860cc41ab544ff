// What a laptop's battery gives while it discharges: the power of the whole machine, without root.
//
// On mains power the battery's figures say how it is charged, not what the machine draws: the
// battery is then listed without a source, and a reading that falls into such a time is refused.
#pragma once

#include "device/device.h"
#include "device/roots.h"

namespace perjoule {

Discovered discover_batteries(const Roots& roots);

}  // namespace perjoule
