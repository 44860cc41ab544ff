// One run of a benchmark: a load for a server, and beside it the courses of our meters and of the
// server's own counters. All stamps are of one clock.
//
//   PJ_TRY(const BenchRun run, run_bench(meter, set, settings, stop));
//   PJ_TRY(const BenchFigures figures, bench_figures(run, {}));        // bench_figures.h
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "meter/command_run.h"
#include "meter/meter.h"
#include "serving/engine/engine_watch.h"
#include "serving/load/load_generator.h"
#include "serving/window/steady_window.h"

namespace perjoule {

struct BenchSettings {
  LoadOptions load = {};
  std::optional<HttpUrl> metrics = {};  ///< the server's own counters; none: not read
  Seconds metrics_every = Seconds(1);
  Seconds every = Seconds(0.1);  ///< between two readings of a meter; counters more often, so that
                                 ///< their ticks are seen
};

struct BenchRun {
  LoadRun load;
  std::vector<Course> courses;  ///< of the meter's sources, from before the load until after it
  Measurement around;           ///< a window over all of that time: faults, models' intervals
  EngineCourse engine;          ///< no scrape where none was asked for
  std::int64_t begun_unix_ns = 0;
  std::uint64_t missed_ticks = 0;  ///< that the sampler slept through

  /// What all sources that overlap no other drew together, in steps of the slowest one's.
  std::vector<PowerReading> power() const;
};

/// Blocks until the load has ended and the meters have ticked behind it. The meter must keep
/// timelines. Errors are generate_load's, those of the first look at the server's counters, and of
/// the sampler's thread.
Result<BenchRun> run_bench(Meter& meter, const RequestSet& set, const BenchSettings& settings,
                           const std::stop_token& stop = {});

}  // namespace perjoule
