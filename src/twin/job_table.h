// Real training jobs as the twin's phases: the shipped table data/twin_jobs.csv, fitted to the
// power-limit sweeps that Zeus publishes, and the sweeps themselves as far as fits and tests need.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "twin/physics.h"

namespace perjoule::twin {

/// One job on one device: the three parameters fitted to its sweep.
struct Job {
  std::string device;    ///< key of a GpuModel
  std::string name;      ///< "resnet50"
  double compute_s = 0;  ///< the sweep's work at the highest clock, nothing else
  double activity = 0;   ///< while it computes
  double pace_s = 0;     ///< the host cannot feed the same work faster than this
};

/// Reads a table of jobs; `name` is for messages.
Result<std::vector<Job>> parse_jobs(std::string_view text, std::string_view name);
/// The shipped ones: data/twin_jobs.csv.
const std::vector<Job>& shipped_jobs();
/// The job of that name on a device, or on the device of the same chip ("v100" for "v100-pcie"):
/// none where it was not fitted for either.
const Job* find_job(std::string_view name, std::string_view device);

/// `steps` equal steps of a job as one phase each.
Phase step_of(const Job& job, const Silicon& silicon, int steps);

/// One row of a power-limit sweep.
struct SweepPoint {
  double limit_w = 0;
  double seconds = 0;
  double joules = 0;
};

/// Reads a single-GPU profile of Zeus's GlobalPowerLimitOptimizer.
Result<std::vector<SweepPoint>> read_zeus_sweep(const std::string& path);

/// What the stepped simulation shows for the job under each limit, at the reference temperature.
std::vector<SweepPoint> simulate_sweep(const Job& job, const Silicon& silicon,
                                       const std::vector<SweepPoint>& measured);

/// Sum over time and energy of (simulated / measured - 1)^2.
double squared_error(const std::vector<SweepPoint>& simulated,
                     const std::vector<SweepPoint>& measured);

}  // namespace perjoule::twin
