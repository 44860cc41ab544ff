// What the kernel's cpufreq lets a user set: governor, highest clock and, on recent processors, the
// energy preference. One knob each for all processors of a package: half a package at another
// governor is a state nobody means.
//
// Where the policies of a package differ, the knob's value names each ("0=powersave
// 8=performance"), so that the journal puts back exactly what was found. Setting is all or nothing:
// when one policy refuses, those already set go back.
#pragma once

#include "device/device.h"
#include "device/roots.h"

namespace perjoule {

/// Devices "cpu:N" with knobs and no source; nothing where there is no cpufreq (virtual machines).
Discovered discover_cpufreq(const Roots& roots);

}  // namespace perjoule
