#include "twin/simulation.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace perjoule::twin {
namespace {

constexpr double kRaiseBelow = 0.995;  // of the cap
constexpr double kFastPath = 1.3;      // times the cap: act on one millisecond alone
constexpr double kMs = 1e-3;
constexpr double kNs = 1e-9;

double energy_at(const Simulation& s, std::int64_t ms) {
  return ms <= 0 ? 0.0 : s.cumulative_j[ms % kHistoryMs];
}

// What the first phase of the queue is doing.
enum class Part { kHost, kKernel, kPace };

Part part_of(const QueuedPhase& phase) {
  if (phase.host_left_s > 0) return Part::kHost;
  return phase.work_left > 0 ? Part::kKernel : Part::kPace;
}

bool kernel_runs(const Simulation& s) {
  return s.queued > 0 && part_of(s.queue[0]) == Part::kKernel;
}

// Seconds until the first phase enters its next part.
double part_left(const Simulation& s, const Silicon& chip) {
  const QueuedPhase& first = s.queue[0];
  switch (part_of(first)) {
    case Part::kHost:
      return first.host_left_s;
    case Part::kKernel:
      return first.work_left * device_time(chip, first.phase, s.clock_mhz);
    case Part::kPace:
      return first.pace_left_s;
  }
  return 0;
}

void pop(Simulation& s) {
  s.ended_ticket = s.queue[0].ticket;
  for (int i = 1; i < s.queued; ++i) s.queue[i - 1] = s.queue[i];
  --s.queued;
}

// How far the running segment may reach: to `end`, or to where its phase changes, rounded up to a
// whole nanosecond.
std::int64_t segment_end(const Simulation& s, const Silicon& chip, std::int64_t end) {
  if (s.queued == 0) return end;
  const double ns = std::ceil(part_left(s, chip) * 1e9);
  return ns >= static_cast<double>(end - s.now_ns) ? end : s.now_ns + static_cast<std::int64_t>(ns);
}

void work(Simulation& s, const Silicon& chip, double dt) {
  QueuedPhase& first = s.queue[0];
  const double time = device_time(chip, first.phase, s.clock_mhz);
  if (time <= 0) {
    first.work_left = 0;
    return;
  }
  s.busy_ns += std::llround(dt * 1e9);
  if (s.capped) s.capped_ns += std::llround(dt * 1e9);
  s.memory_busy_s +=
      dt * (first.phase.dram_share >= 0 ? first.phase.dram_share
                                        : first.phase.bytes / chip.bytes_per_s / time);
  first.work_left -= dt / time;
  if (first.work_left * time < kNs) first.work_left = 0;
}

// Lets the first phase make `dt` seconds of progress; removes it at its end.
void progress(Simulation& s, const Silicon& chip, double dt) {
  QueuedPhase& first = s.queue[0];
  s.running_pid = first.pid;
  const Part part = part_of(first);
  first.pace_left_s -= dt;
  if (part == Part::kKernel) work(s, chip, dt);
  if (part == Part::kHost) {
    first.host_left_s -= dt;
    if (first.host_left_s < kNs) first.host_left_s = 0;
  }
  if (part_of(first) == Part::kPace && first.pace_left_s < kNs) pop(s);
}

void move_clock(Simulation& s, const Silicon& chip, const Controls& c) {
  const double mean = mean_power(s, c.window_ms);
  const bool ran = s.queued > 0;
  const double before = s.clock_mhz;
  const bool over = mean > c.cap_w && s.last_ms_power_w > c.cap_w;
  const bool under =
      mean < kRaiseBelow * c.cap_w && (s.last_ms_power_w < kRaiseBelow * c.cap_w || !ran);
  if (over || s.last_ms_power_w > kFastPath * c.cap_w) {
    s.clock_mhz = std::max(chip.clock_floor_mhz, s.clock_mhz - chip.clock_step_mhz);
    s.capped = true;
  } else if (under) {
    s.clock_mhz += chip.clock_step_mhz;
  }
  if (s.clock_mhz >= c.ceiling_mhz) {
    s.clock_mhz = c.ceiling_mhz;
    s.capped = false;
  }
  if (s.clock_mhz != before) s.steady_ms = 0;
}

void follow_temperature(Simulation& s, const Silicon& chip) {
  const double target = chip.ambient_c + chip.kelvin_per_w * mean_power(s, kThermalStepMs);
  const double before = s.temperature_c;
  s.temperature_c += (target - before) * -std::expm1(-kThermalStepMs * kMs / chip.thermal_tau_s);
  if (s.temperature_c != before) s.steady_ms = 0;
}

void end_millisecond(Simulation& s, const Silicon& chip, const Controls& c) {
  const std::int64_t ms = s.now_ns / kNsPerMs;
  const double power = (s.energy_j - s.last_ms_start_j) / kMs;
  // Equal up to the rounding of a sum: nothing changed in this millisecond.
  const bool same = std::abs(power - s.last_ms_power_w) <= 1e-9 * std::abs(power);
  s.steady_ms = same ? std::min(s.steady_ms + 1, kHistoryMs) : 0;
  s.last_ms_power_w = power;
  s.last_ms_start_j = s.energy_j;
  s.cumulative_j[ms % kHistoryMs] = s.energy_j;
  move_clock(s, chip, c);
  if (ms % kThermalStepMs == 0) follow_temperature(s, chip);
}

// Whole milliseconds from here in which neither controller, heat, phase nor caller changes
// anything.
std::int64_t quiet_ms(const Simulation& s, const Silicon& chip, const Controls& c,
                      std::int64_t to_ns) {
  if (s.now_ns % kNsPerMs != 0 || s.steady_ms <= c.window_ms) return 0;
  const std::int64_t ms = s.now_ns / kNsPerMs;
  std::int64_t n = std::min(to_ns / kNsPerMs - ms, kThermalStepMs - 1 - ms % kThermalStepMs);
  if (s.queued > 0) {
    n = std::min(n, static_cast<std::int64_t>(std::min(part_left(s, chip) / kMs, 1e9)) - 1);
  }
  return std::max<std::int64_t>(n, 0);
}

void skip(Simulation& s, const Silicon& chip, const Controls& c, std::int64_t ms_count) {
  const double power = power_now(s, chip, c);
  const std::int64_t first = s.now_ns / kNsPerMs;
  for (std::int64_t i = 1; i <= ms_count; ++i) {
    s.energy_j += power * kMs;
    s.cumulative_j[(first + i) % kHistoryMs] = s.energy_j;
  }
  s.last_ms_start_j = s.energy_j;
  if (s.queued > 0) progress(s, chip, static_cast<double>(ms_count) * kMs);
  s.now_ns += ms_count * kNsPerMs;
}

}  // namespace

void begin(Simulation& s, const Silicon& chip, double temperature_c) {
  s = Simulation{};
  s.temperature_c = temperature_c;
  s.clock_mhz = chip.clock_max_mhz;
}

void advance(Simulation& s, const Silicon& chip, const Controls& c, std::int64_t to_ns,
             MillisecondEnd* observer, std::uint64_t stop_ticket) {
  // A ceiling lowered by a lock binds at once.
  if (s.clock_mhz > c.ceiling_mhz) {
    s.clock_mhz = c.ceiling_mhz;
    s.steady_ms = 0;
  }
  if (!(s.seen == c)) {
    s.seen = c;
    s.steady_ms = 0;
  }
  int quiet_observer = 0;
  while (s.now_ns < to_ns && s.ended_ticket < stop_ticket) {
    const std::int64_t limit =
        observer == nullptr ? std::numeric_limits<std::int64_t>::max() : quiet_observer;
    if (const std::int64_t n = std::min(limit, quiet_ms(s, chip, c, to_ns)); n > 0) {
      skip(s, chip, c, n);
      quiet_observer -= static_cast<int>(std::min<std::int64_t>(n, quiet_observer));
      continue;
    }
    const std::int64_t boundary = (s.now_ns / kNsPerMs + 1) * kNsPerMs;
    const std::int64_t end = segment_end(s, chip, std::min(to_ns, boundary));
    const double dt = static_cast<double>(end - s.now_ns) * 1e-9;
    s.energy_j += power_now(s, chip, c) * dt;
    s.now_ns = end;
    if (s.queued > 0) progress(s, chip, dt);
    if (end == boundary) {
      end_millisecond(s, chip, c);
      quiet_observer =
          observer == nullptr || quiet_observer > 0 ? quiet_observer - 1 : observer->at(s);
    }
  }
}

std::uint64_t post(Simulation& s, const Phase& phase, int pid) {
  if (s.queued == kQueueLength) return 0;
  QueuedPhase& last = s.queue[s.queued++];
  last = QueuedPhase{phase, ++s.last_ticket, pid, phase.host_s, 1.0, phase.pace_s};
  s.steady_ms = 0;
  return last.ticket;
}

void drop_phases(Simulation& s) {
  s.queued = 0;
  s.ended_ticket = s.last_ticket;
  s.steady_ms = 0;
}

double time_left(const Simulation& s, const Silicon& chip, std::uint64_t ticket) {
  if (ticket <= s.ended_ticket) return 0;
  double left = 0;
  for (int i = 0; i < s.queued && s.queue[i].ticket <= ticket; ++i) {
    const QueuedPhase& queued = s.queue[i];
    const double kernel = queued.work_left * device_time(chip, queued.phase, s.clock_mhz);
    left += std::max(queued.host_left_s + kernel, queued.pace_left_s);
  }
  return left;
}

double power_now(const Simulation& s, const Silicon& chip, const Controls& c) {
  return kernel_runs(s) ? active_power(chip, s.queue[0].phase, s.clock_mhz, s.temperature_c)
                        : idle_power(chip, c.context || s.queued > 0, s.clock_mhz, s.temperature_c);
}

double mean_power(const Simulation& s, int window_ms) {
  const std::int64_t ms = s.now_ns / kNsPerMs;
  const std::int64_t window = std::min<std::int64_t>({ms, window_ms, kHistoryMs - 1});
  if (window <= 0) return 0;
  return (energy_at(s, ms) - energy_at(s, ms - window)) / (static_cast<double>(window) * kMs);
}

}  // namespace perjoule::twin
