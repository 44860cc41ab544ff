// The main job: run a program, or watch one that runs, and say what it took.
//
// One loop waits for the program's end, for signals (passed on), for its output and unit reports,
// and for the time to show progress or check the budget; the sampler runs beside it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/process.h"
#include "meter/attribution.h"
#include "meter/gpu_usage.h"
#include "meter/measurement.h"
#include "meter/meter.h"
#include "meter/sampler.h"
#include "meter/work_units.h"

namespace perjoule {

/// What is known while the program still runs.
struct RunProgress {
  Seconds elapsed;
  Energy energy;
  Watts power;  ///< mean since the last report
  double units = 0;
  bool at_unit = false;  ///< a unit has just been reported, so that the totals hold whole units
  std::optional<Prediction> whole;
  Measurement so_far;  ///< what `energy` is the total of
};

struct CommandOptions {
  SpawnOptions spawn;  ///< empty arguments: watch `pid`, or just the time
  std::optional<std::int64_t> pid;
  /// Stop after this long; ends a program we started, and all below it.
  std::optional<Seconds> duration;
  Seconds every{0.1};  ///< sampling period
  SamplePace pace = SamplePace::kOnceATick;
  std::vector<std::string> sources;  ///< ids; empty for all
  bool tick_aligned = false;         ///< the window's ends; see WindowOptions
  /// End the program, and all below it, when the total reaches this. The total is looked at once a
  /// sampling period, so that at most a period's energy comes on top, what the sources do not show
  /// yet (a tick) and what the program takes to end apart.
  std::optional<Joules> budget;
  /// What is asked to end (SIGTERM) has this long before it is made to (SIGKILL).
  Seconds grace{2};
  bool count_units = false;
  std::string unit;  ///< its name, which the program is told in PERJOULE_UNIT; may be empty
  std::optional<std::string> unit_pattern;
  std::optional<double> total_units;  ///< for a prediction of the whole
  std::string procfs = "/proc";
  /// GPUs whose use by this program and by others is followed while it runs.
  std::vector<Device*> shared_gpus;
  Seconds progress_every{0.5};
  /// Progress is told at reported units too, right when one is done (at most once a sampling
  /// period), so that totals and units belong together.
  bool progress_at_units = false;
  std::function<void(const RunProgress&)> progress;
};

/// The course of one source, for plots and files.
struct Course {
  SourceInfo info;
  std::unique_ptr<Timeline> timeline;
};

struct CommandResult {
  Measurement measurement;
  ExitState end;
  bool budget_reached = false;
  bool stopped = false;  ///< by a signal to us, or because `duration` was over
  int signal = 0;        ///< the last INT, TERM, HUP or QUIT that came to us meanwhile
  std::vector<std::int64_t> left_running;  ///< processes that even SIGKILL did not end
  double units = 0;
  std::size_t bad_unit_lines = 0;
  std::vector<UnitCost> unit_costs;  ///< of each report, as far as marks were kept
  std::vector<Course> courses;
  std::vector<DeviceUsage> gpu_usage;     ///< of the GPUs in `shared_gpus`
  std::optional<Seconds> cpu_of_program;  ///< CPU time of the program and all below it
  std::optional<Seconds> cpu_of_machine;  ///< busy CPU time of the whole machine meanwhile
  std::uint64_t missed_ticks = 0;
};

/// Runs or watches to the end. An error means that the measurement itself failed: the program could
/// not be started, the sampler not run. The program's own failure is in `end`.
Result<CommandResult> run_command(Meter& meter, const CommandOptions& options);

/// Energy of the courses that overlap no other one given, between two instants, linear within a
/// sample.
Joules energy_between(const std::vector<Course>& courses, Instant from, Instant to);

}  // namespace perjoule
