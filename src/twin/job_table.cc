#include "twin/job_table.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>

#include "base/csv.h"
#include "twin/simulation.h"

namespace perjoule {
extern const std::string_view kTwinJobsCsv;
}

namespace perjoule::twin {
namespace {

// Steps of about a second: long against the cap's window, as the iterations of the sweeps are
// together with their bursts of data loading.
constexpr double kStepSeconds = 1.0;

SweepPoint simulate_limit(const Job& job, const Silicon& silicon, double limit_w) {
  const int steps = std::max(1, static_cast<int>(std::lround(job.compute_s / kStepSeconds)));
  const Phase step = step_of(job, silicon, steps);
  const Controls controls{.cap_w = limit_w, .ceiling_mhz = silicon.clock_max_mhz, .context = true};
  Silicon isothermal = silicon;  // the sweeps ran on warm cards, one limit after the other
  isothermal.leakage_per_c = 0;
  const auto simulation = std::make_unique<Simulation>();
  begin(*simulation, isothermal, silicon.reference_c);
  const auto run_one = [&] {
    const std::uint64_t ticket = post(*simulation, step, 1);
    advance(*simulation, isothermal, controls, std::numeric_limits<std::int64_t>::max(), nullptr,
            ticket);
  };
  run_one();  // warm-up, as the profiler does
  const double energy = simulation->energy_j;
  const std::int64_t from = simulation->now_ns;
  for (int i = 0; i < steps; ++i) run_one();
  return {limit_w, static_cast<double>(simulation->now_ns - from) * 1e-9,
          simulation->energy_j - energy};
}

}  // namespace

Result<std::vector<Job>> parse_jobs(std::string_view text, std::string_view table_name) {
  PJ_TRY(const CsvTable table, parse_csv(text, table_name));
  PJ_TRY(const std::size_t device, table.require_column("device"));
  PJ_TRY(const std::size_t name, table.require_column("job"));
  PJ_TRY(const std::size_t compute, table.require_column("compute_s"));
  PJ_TRY(const std::size_t activity, table.require_column("activity"));
  PJ_TRY(const std::size_t pace, table.require_column("pace_s"));
  std::vector<Job> jobs;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    Job job;
    job.device = table.cell(row, device);
    job.name = table.cell(row, name);
    PJ_TRY(job.compute_s, table.number(row, compute));
    PJ_TRY(job.activity, table.number(row, activity));
    PJ_TRY(job.pace_s, table.number(row, pace));
    jobs.push_back(std::move(job));
  }
  return jobs;
}

const std::vector<Job>& shipped_jobs() {
  static const std::vector<Job> jobs =
      parse_jobs(kTwinJobsCsv, "twin_jobs.csv").value_or(std::vector<Job>());
  return jobs;
}

const Job* find_job(std::string_view name, std::string_view device) {
  const auto chip = [](std::string_view key) { return key.substr(0, key.find('-')); };
  const Job* found = nullptr;
  for (const Job& job : shipped_jobs()) {
    if (job.name != name || chip(job.device) != chip(device)) continue;
    if (found == nullptr || job.device == device) found = &job;
  }
  return found;
}

Phase step_of(const Job& job, const Silicon& silicon, int steps) {
  return {.flop = job.compute_s * silicon.flop_per_s / steps,
          .activity = job.activity,
          .pace_s = job.pace_s / steps};
}

Result<std::vector<SweepPoint>> read_zeus_sweep(const std::string& path) {
  PJ_TRY(const CsvTable table, read_csv(path));
  PJ_TRY(const std::size_t window, table.require_column("window_name"));
  PJ_TRY(const std::size_t seconds, table.require_column("elapsed_time"));
  PJ_TRY(const std::size_t joules, table.require_column("gpu0_energy"));
  std::vector<SweepPoint> points;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    SweepPoint point;
    // The window's name ends in "_<limit in watts>".
    const std::string text(table.cell(row, window));
    point.limit_w = std::atof(text.c_str() + text.rfind('_') + 1);
    PJ_TRY(point.seconds, table.number(row, seconds));
    PJ_TRY(point.joules, table.number(row, joules));
    points.push_back(point);
  }
  return points;
}

std::vector<SweepPoint> simulate_sweep(const Job& job, const Silicon& silicon,
                                       const std::vector<SweepPoint>& measured) {
  std::vector<SweepPoint> simulated;
  simulated.reserve(measured.size());
  for (const SweepPoint& point : measured) {
    simulated.push_back(simulate_limit(job, silicon, point.limit_w));
  }
  return simulated;
}

double squared_error(const std::vector<SweepPoint>& simulated,
                     const std::vector<SweepPoint>& measured) {
  double sum = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const double time = simulated[i].seconds / measured[i].seconds - 1;
    const double energy = simulated[i].joules / measured[i].joules - 1;
    sum += time * time + energy * energy;
  }
  return sum;
}

}  // namespace perjoule::twin
