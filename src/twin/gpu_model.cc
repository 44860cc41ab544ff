#include "twin/gpu_model.h"

#include <array>
#include <string>

#include "base/text.h"

namespace perjoule::twin {
namespace {

constexpr std::uint64_t mebibytes(std::uint64_t n) { return n << 20U; }

// Origin of the values, by letter: [v] vendor's published specification, [r] reported by users of
// the real card in public issue trackers, [t] derived from published raw sensor traces of 70 GPUs,
// [f] fitted here to the Zeus sweeps (tools/twin_fit.cc), [i] inferred: chosen so that the known
// powers come out. Sources one by one: docs/twin.md.
//
// clang-format off
//                          clock min   max  step   floor | P_stat  knee    V0     Vmax | C_act  C_clk   P_dram P_link | FLOP/s   bytes/s
//                                 [v]   [v]  [v]    [f][i] [f][i] [f][i] [f][i] [i]    [f][i] [f][i]  [i]    [i]      [v]      [v]
constexpr double kV100Sxm2[] =   { 135, 1530,  7.5,  350,    45,   1255, 0.720, 0.830,  0.240, 0.045,  30,    15,     125e12,   0.90e12};
constexpr double kV100Pcie[] =   { 135, 1380,  7.5,  316,    23.8, 1014, 0.664, 0.830,  0.240, 0.0449, 10,     0,     112e12,   0.90e12};
constexpr double kA40[] =        { 210, 1740, 15.0,  391,    78.1,  949, 0.673, 0.878,  0.160, 0.0788,  7,    10,     149.7e12, 0.696e12};
constexpr double kA100[] =       { 210, 1410, 15.0,  210,    65,   1050, 0.720, 0.850,  0.363, 0.020,  40,    20,     312e12,   2.04e12};
constexpr double kH100[] =       { 345, 1980, 15.0,  345,   110,   1200, 0.720, 0.880,  0.595, 0.030,  60,    30,     989e12,   3.35e12};
constexpr double kH200[] =       { 345, 1980, 15.0,  345,   115,   1200, 0.720, 0.880,  0.595, 0.030,  90,    30,     989e12,   4.80e12};
constexpr double kGb300[] =      { 345, 2070, 15.0,  345,   230,   1300, 0.720, 0.850,  1.000, 0.050, 120,    60,    2500e12,   8.00e12};
// V100 SXM2: the values known for this part; its C_act makes a dense GEMM draw 300 W near 1450 MHz and
// its C_clk the 81 W of an open context at 1530 MHz [r]. A100: C_act makes a GEMM draw 400 W near
// 1300 MHz [i]. H100, H200, GB300: set on the published power effects that physics_test.cc asserts.
// clang-format on

constexpr Silicon silicon(const double (&row)[14], double default_limit_w,
                          double deep_idle_factor = 1) {
  return {.clock_min_mhz = row[0],
          .clock_max_mhz = row[1],
          .clock_step_mhz = row[2],
          .clock_floor_mhz = row[3],
          .static_w = row[4],
          .knee_mhz = row[5],
          .volt_low = row[6],
          .volt_high = row[7],
          .activity_c = row[8],
          .clock_c = row[9],
          .dram_w = row[10],
          .link_w = row[11],
          .flop_per_s = row[12],
          .bytes_per_s = row[13],
          // From 30 C ambient to the reference 65 C at the default limit.
          .kelvin_per_w = 35.0 / default_limit_w,
          .deep_idle_factor = deep_idle_factor};
}

// Ticks and windows: [t]. V100 refreshes its utilisation every 167 ms, Ampere each 200 to 1000 ms.
constexpr SensorSpec kVoltaSensor = {
    .tick_ms = 20, .instant_window_ms = 10, .average_window_ms = 10, .utilization_tick_ms = 167};
constexpr SensorSpec kA40Sensor = {.tick_ms = 100,
                                   .instant_window_ms = 100,
                                   .average_window_ms = 1000,
                                   .usage_is_average = true,
                                   .utilization_tick_ms = 200};
constexpr SensorSpec kA100Sensor = {
    .tick_ms = 101, .instant_window_ms = 25, .average_window_ms = 25, .utilization_tick_ms = 1000};
constexpr SensorSpec kHopperSensor = {.tick_ms = 100,
                                      .instant_window_ms = 25,
                                      .average_window_ms = 1000,
                                      .usage_is_average = true,
                                      .utilization_tick_ms = 200};

constexpr Support kVoltaSupport = {};
constexpr Support kA40Support = {.power_fields = true, .memory_locked_clocks = true};
constexpr Support kA100Support = {.power_fields = true, .memory_locked_clocks = true, .mig = true};
constexpr Support kHopperSupport = {
    .power_fields = true, .memory_power = true, .memory_locked_clocks = true, .mig = true};
constexpr Support kBlackwellSupport = {.power_fields = true,
                                       .memory_power = true,
                                       .module_power = true,
                                       .memory_locked_clocks = true,
                                       .application_clocks = false,
                                       .mig = true,
                                       .power_profiles = true};

constexpr std::array<GpuModel, 7> kModels = {{
    {.key = "v100",
     .name = "Tesla V100-SXM2-16GB",
     .architecture = 5,
     .cuda_major = 7,
     .cuda_minor = 0,
     .pci_device_id = 0x1DB110DE,
     .limit_min_w = 150,
     .limit_default_w = 300,
     .limit_max_w = 300,  // [r] nvidia-docker#1076
     .memory_clock_mhz = 877,
     .application_clock_mhz = 1290,
     .memory_bytes = mebibytes(16160),
     .multiprocessors = 80,
     .sensor = kVoltaSensor,
     .support = kVoltaSupport,
     .silicon = silicon(kV100Sxm2, 300)},
    {.key = "v100-pcie",
     .name = "Tesla V100-PCIE-16GB",
     .architecture = 5,
     .cuda_major = 7,
     .cuda_minor = 0,
     .pci_device_id = 0x1DB410DE,
     .limit_min_w = 100,
     .limit_default_w = 250,
     .limit_max_w = 250,  // the limits Zeus swept
     .memory_clock_mhz = 877,
     .application_clock_mhz = 1245,
     .memory_bytes = mebibytes(16160),
     .multiprocessors = 80,
     .sensor = kVoltaSensor,
     .support = kVoltaSupport,
     .silicon = silicon(kV100Pcie, 250)},
    {.key = "a40",
     .name = "NVIDIA A40",
     .architecture = 7,
     .cuda_major = 8,
     .cuda_minor = 6,
     .pci_device_id = 0x223510DE,
     .limit_min_w = 100,
     .limit_default_w = 300,
     .limit_max_w = 300,  // the limits Zeus swept
     .memory_clock_mhz = 7251,
     .application_clock_mhz = 1740,
     .memory_bytes = mebibytes(46068),
     .multiprocessors = 84,
     .sensor = kA40Sensor,
     .support = kA40Support,
     .silicon = silicon(kA40, 300, 0.6)},
    {.key = "a100",
     .name = "NVIDIA A100-SXM4-80GB",
     .architecture = 7,
     .cuda_major = 8,
     .cuda_minor = 0,
     .pci_device_id = 0x20B210DE,
     .limit_min_w = 100,
     .limit_default_w = 400,
     .limit_max_w = 400,  // [r] nvidia-docker#1648
     .memory_clock_mhz = 1593,
     .application_clock_mhz = 1095,
     .memory_bytes = mebibytes(81920),
     .multiprocessors = 108,
     .mig_slices = 7,
     .sensor = kA100Sensor,
     .support = kA100Support,
     .silicon = silicon(kA100, 400)},
    {.key = "h100",
     .name = "NVIDIA H100 80GB HBM3",
     .architecture = 9,
     .cuda_major = 9,
     .cuda_minor = 0,
     .pci_device_id = 0x233010DE,
     .limit_min_w = 200,
     .limit_default_w = 700,
     .limit_max_w = 700,  // [r] slurm-appliance#975
     .memory_clock_mhz = 2619,
     .application_clock_mhz = 1980,
     .memory_bytes = mebibytes(81559),
     .multiprocessors = 132,
     .mig_slices = 7,
     .sensor = kHopperSensor,
     .support = kHopperSupport,
     .silicon = silicon(kH100, 700)},
    {.key = "h200",
     .name = "NVIDIA H200",
     .architecture = 9,
     .cuda_major = 9,
     .cuda_minor = 0,
     .pci_device_id = 0x233510DE,
     .limit_min_w = 200,
     .limit_default_w = 700,
     .limit_max_w = 700,  // range [i] as H100
     .memory_clock_mhz = 3201,
     .application_clock_mhz = 1980,
     .memory_bytes = mebibytes(143771),
     .multiprocessors = 132,
     .mig_slices = 7,
     .sensor = kHopperSensor,
     .support = kHopperSupport,
     .silicon = silicon(kH200, 700)},
    {.key = "gb300",
     .name = "NVIDIA GB300",
     .architecture = 10,
     .cuda_major = 10,
     .cuda_minor = 3,
     .pci_device_id = 0x31C210DE,  // id [i]
     .limit_min_w = 500,
     .limit_default_w = 1400,
     .limit_max_w = 1400,  // [r] triton PR#2023
     .memory_clock_mhz = 2625,
     .application_clock_mhz = 2070,
     .memory_bytes = mebibytes(284208),
     .multiprocessors = 160,
     .mig_slices = 7,
     .sensor = kHopperSensor,  // sensor, memory [i]
     .support = kBlackwellSupport,
     .silicon = silicon(kGb300, 1400)},
}};

}  // namespace

std::span<const GpuModel> gpu_models() { return kModels; }

Result<const GpuModel*> find_gpu_model(std::string_view key) {
  std::string known;
  for (const GpuModel& model : kModels) {
    if (equals_ignoring_case(model.key, key)) return &model;
    known += (known.empty() ? "" : ", ") + std::string(model.key);
  }
  return Error::not_found("no such simulated device: " + std::string(key), "there are " + known);
}

}  // namespace perjoule::twin
