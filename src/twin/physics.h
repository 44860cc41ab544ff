// The twin's silicon: power as a function of clock, temperature and work, and the time that work
// takes. Pure formulas; simulation.h steps them through time.
//
//   P(f, T) = P_stat(T) + (C_clk + C_act a) f V(f)^2 + P_dram b + P_link n
//
// with a the switching activity of the work (dense random operands 1.0, zeros 0.35), b the share of
// the memory bandwidth in use, n that of the link, and V(f) = V0 below the knee, then a straight
// line to Vmax at f_max. P_stat grows by 1 % per degree around the temperature the table's values
// hold at. Origin of the form and of the values: docs/twin.md.
//
// Frequencies are megahertz and everything else SI, in plain doubles: this is the numeric kernel
// that the module's face (world.h) wraps in units. The structs are plain data, because they live in
// memory that processes share.
#pragma once

namespace perjoule::twin {

/// The parameters of one kind of chip.
struct Silicon {
  double clock_min_mhz = 0;
  double clock_max_mhz = 0;
  double clock_step_mhz = 0;
  double clock_floor_mhz = 0;  ///< the power cap lowers the clock to here and no further
  double static_w = 0;         ///< P_stat at the reference temperature
  double knee_mhz = 0;         ///< f_k: above it the voltage rises
  double volt_low = 0;         ///< V0
  double volt_high = 0;        ///< Vmax, at clock_max
  double activity_c = 0;       ///< C_act, W per (MHz V^2)
  double clock_c = 0;      ///< C_clk, W per (MHz V^2): the clock tree of a chip with open context
  double dram_w = 0;       ///< P_dram at full bandwidth
  double link_w = 0;       ///< P_link at full link load
  double flop_per_s = 0;   ///< dense, at clock_max
  double bytes_per_s = 0;  ///< memory bandwidth; the cap does not touch the memory clock
  double ambient_c = 30;
  double reference_c = 65;      ///< reached at the default limit after several time constants
  double kelvin_per_w = 0;      ///< thermal resistance to ambient
  double thermal_tau_s = 30;    ///< first-order time constant
  double leakage_per_c = 0.01;  ///< relative growth of P_stat per degree
  double deep_idle_factor = 1;  ///< P_stat without any context, relative to that with one
};

/// How the compute and the memory part of a phase share its time.
enum class Overlap : int {
  kFull = 0,  ///< time = max(compute, memory): one well-pipelined kernel
  kNone = 1,  ///< time = compute + memory: the mean of many kernels, as in fits of whole jobs
};

/// A piece of work posted to a device.
struct Phase {
  double flop = 0;
  double bytes = 0;
  double activity = 1;     ///< a, mean over the phase
  double dram_share = -1;  ///< b; negative: follows from bytes and time
  double link_share = 0;   ///< n
  double host_s = 0;       ///< time before the kernel starts in which the device only waits
  double pace_s = 0;       ///< the phase lasts at least this long: a host that prepares the next
                           ///< step meanwhile, with the device waiting for it at the end
  Overlap overlap = Overlap::kFull;
};

double voltage(const Silicon& chip, double clock_mhz);
/// P_stat at a temperature; never below a quarter of its reference value.
double static_power(const Silicon& chip, double temperature_c);
/// Seconds the device part of a phase takes at a clock (without host_s).
double device_time(const Silicon& chip, const Phase& phase, double clock_mhz);
/// Watts while the phase runs.
double active_power(const Silicon& chip, const Phase& phase, double clock_mhz,
                    double temperature_c);
/// Watts with nothing running; `context` tells whether a process holds the device open, which keeps
/// the clock up.
double idle_power(const Silicon& chip, bool context, double clock_mhz, double temperature_c);

/// Where a phase that is long against the cap's window settles, at a fixed temperature and with a
/// continuous clock: what the stepped simulation oscillates around, and what fits use. The cap
/// binds the kernel, not the waiting around it.
struct SteadyState {
  double clock_mhz = 0;
  double busy_s = 0;    ///< the kernel
  double period_s = 0;  ///< one phase, waiting included
  double energy_j = 0;  ///< one phase
  bool capped = false;
  bool at_floor = false;  ///< the cap is violated because the clock can go no lower
};
SteadyState settle(const Silicon& chip, const Phase& phase, double cap_w, double temperature_c);

}  // namespace perjoule::twin
