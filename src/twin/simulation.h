// One simulated device through time: work in a queue, the power cap's controller, heat, and the
// exact energy integral.
//
// Everything happens on a grid of one millisecond. Within a millisecond the clock is fixed, phases
// begin and end where they do (to the nanosecond), and energy is power times time. At its end the
// controller looks at the mean power over its window (20 ms unless set) and moves the clock by at
// most one step:
//
//   down  when the mean is above the cap and the last millisecond was too, or at once when the last
//         millisecond was above 1.3 times the cap;
//   up    when the mean is below 99.5 % of the cap and so was the last millisecond, or when nothing
//         ran.
//
// Asking the last millisecond as well is what keeps a 20 ms mean, which lags by 10 ms, from hunting
// over a dozen steps. Every 100 ms the temperature follows the mean power.
//
// advance() is pure and deterministic: the same posts at the same times give the same joules,
// however often somebody looked in between. 60 s of one device take a few milliseconds; stretches
// in which nothing can change are only added up.
#pragma once

#include <cstdint>

#include "twin/physics.h"

namespace perjoule::twin {

constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr int kHistoryMs = 2048;  ///< cumulative energy kept, for windows up to 2 s
constexpr int kQueueLength = 16;  ///< phases waiting on one device
constexpr int kThermalStepMs = 100;
constexpr std::uint64_t kNoTicket = ~std::uint64_t{0};

/// What holds the device back; plain data that setters change between two calls of advance().
struct Controls {
  double cap_w = 0;
  double ceiling_mhz = 0;  ///< highest clock allowed by locks
  int window_ms = 20;      ///< of the cap's moving average
  bool context = false;    ///< a process holds the device open
  bool operator==(const Controls&) const = default;
};

struct QueuedPhase {
  Phase phase;
  std::uint64_t ticket = 0;
  int pid = 0;
  double host_left_s = 0;
  double work_left = 0;  ///< 1 at the start, 0 at the end of the kernel
  double pace_left_s = 0;
};

struct Simulation {
  std::int64_t now_ns = 0;
  double energy_j = 0;  ///< the truth
  double temperature_c = 0;
  double clock_mhz = 0;
  std::int64_t busy_ns = 0;    ///< a kernel ran
  double memory_busy_s = 0;    ///< bandwidth share integrated over time
  std::int64_t capped_ns = 0;  ///< a kernel ran slower than allowed, for the cap
  double last_ms_power_w = 0;
  double last_ms_start_j = 0;      ///< energy at the start of the running millisecond
  bool capped = false;             ///< the clock is below its ceiling for the cap
  int steady_ms = 0;               ///< milliseconds for which power and clock have been the same
  std::uint64_t last_ticket = 0;   ///< given out
  std::uint64_t ended_ticket = 0;  ///< phases end in the order they were posted
  int running_pid = 0;             ///< of the newest phase that ran
  Controls seen;                   ///< of the last call: a change ends every steady stretch
  int queued = 0;
  QueuedPhase queue[kQueueLength];  ///< [0] runs
  double cumulative_j[kHistoryMs] =
      {};  ///< energy_j at the end of millisecond k, at k % kHistoryMs
};

/// A device at rest at time 0, at a temperature.
void begin(Simulation& simulation, const Silicon& chip, double temperature_c);

/// What is told the end of each millisecond, where sensors publish.
class MillisecondEnd {
 public:
  virtual ~MillisecondEnd() = default;
  /// Called with simulation.now_ns at a whole millisecond. Answers how many more milliseconds
  /// nothing is due in (0: call again at the next).
  virtual int at(const Simulation& simulation) = 0;
};

/// Integrates to `to_ns`, or to the end of the phase `stop_ticket` if that comes first; nothing
/// happens when that is in the past. `observer` may be null.
void advance(Simulation& simulation, const Silicon& chip, const Controls& controls,
             std::int64_t to_ns, MillisecondEnd* observer, std::uint64_t stop_ticket = kNoTicket);

/// Adds a phase to the queue as of now_ns and answers its ticket; 0 when the queue is full.
std::uint64_t post(Simulation& simulation, const Phase& phase, int pid);
/// Drops all phases.
void drop_phases(Simulation& simulation);
/// Seconds until the phase of that ticket ends, if the clock stays as it is; 0 when it has ended.
double time_left(const Simulation& simulation, const Silicon& chip, std::uint64_t ticket);

/// Watts now.
double power_now(const Simulation& simulation, const Silicon& chip, const Controls& controls);
/// Mean watts over the last `window_ms` whole milliseconds (at most kHistoryMs - 1); shorter where
/// time began later.
double mean_power(const Simulation& simulation, int window_ms);

}  // namespace perjoule::twin
