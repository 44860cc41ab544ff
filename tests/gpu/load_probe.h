// What is asked of a GPU while it works.
#pragma once

#include "base/json.h"
#include "device/nvml_library.h"
#include "gpu_load.h"

namespace perjoule {

/// Power without and with a context, and of a steady load: 2 s each, by the energy counter.
/// report["idle_w"], ["context_w"], ["load_w"].
Outcome probe_power(const NvmlLibrary& library, nvml::Device gpu, std::unique_ptr<GpuLoad>& load,
                    Json& report);

/// Whether the counter covers what happens between its ticks: 53 ms of load and 53 ms of rest drift
/// through every phase of a 100 ms tick for 11 s. What the counter says over what the two powers
/// and the times say: near 1 where it covers the gaps. report["square_wave_ratio"]. After
/// probe_power.
Outcome probe_square_wave(const NvmlLibrary& library, nvml::Device gpu, GpuLoad& load,
                          Json& report);

/// How a lowered limit takes hold: under load the limit is set to the middle of its range (through
/// the journal, and put back), and the clock is polled every millisecond.
/// report["cap_first_step_ms"], ["cap_settled_ms"].
Outcome probe_cap_step(const NvmlLibrary& library, nvml::Device gpu, GpuLoad& load, Json& report);

/// Depth and spacing of the buffer of power samples. report["samples"], ["sample_spacing_ms"].
Outcome probe_samples(const std::string& nvml, nvml::Device gpu, Json& report);

}  // namespace perjoule
