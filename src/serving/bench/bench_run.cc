#include "serving/bench/bench_run.h"

#include <algorithm>

#include "meter/power_course.h"
#include "meter/sampler.h"

namespace perjoule {
namespace {

// For sources that name no tick.
constexpr Seconds kUsualTick{0.1};

std::vector<Course> courses_of(Meter& meter) {
  std::vector<Course> courses;
  for (const auto& channel : meter.channels()) {
    if (auto timeline = channel->timeline())
      courses.push_back({channel->info(), std::move(timeline)});
  }
  return courses;
}

/// The slowest tick of all that is measured.
Seconds slowest_tick(Meter& meter) {
  Seconds tick = kUsualTick;
  for (const auto& channel : meter.channels())
    tick = std::max({tick, channel->info().tick, channel->info().averaging});
  return tick;
}

}  // namespace

std::vector<PowerReading> BenchRun::power() const {
  std::vector<const SourceInfo*> all;
  for (const Course& course : courses) all.push_back(&course.info);
  std::vector<const Timeline*> timelines;
  Seconds step = kUsualTick;
  for (const Course& course : courses) {
    if (!adds_up(course.info, all)) continue;
    timelines.push_back(course.timeline.get());
    step = std::max({step, course.info.tick, course.info.averaging});
  }
  const EvenPower even = even_power(timelines, step);
  std::vector<PowerReading> readings;
  readings.reserve(even.watts.size());
  for (std::size_t i = 0; i < even.watts.size(); ++i) {
    readings.push_back({even.begin + even.step * (static_cast<double>(i) + 0.5),
                        Watts(static_cast<double>(even.watts[i]))});
  }
  return readings;
}

Result<BenchRun> run_bench(Meter& meter, const RequestSet& set, const BenchSettings& settings,
                           const std::stop_token& stop) {
  const Clock& clock = meter.clock();
  std::unique_ptr<EngineWatch> watch;
  if (settings.metrics) {
    PJ_TRY(auto reader, EngineReader::create(clock, *settings.metrics, settings.load.token_variable,
                                             settings.load.http));
    PJ_TRY(watch, EngineWatch::start(std::move(reader), settings.metrics_every));
  }
  BenchRun run;
  PJ_TRY(const auto sampler, Sampler::start(meter, settings.every, SamplePace::kSeesTicks));
  PJ_TRY(Window window, meter.begin("bench"));
  for (const auto& channel : meter.channels()) channel->sample();
  // An edge lies between two ticks: one before the load, and one behind it.
  const Seconds margin = 2.0 * slowest_tick(meter);
  if (!meter.channels().empty()) clock.sleep_until(clock.now() + margin);
  run.begun_unix_ns = clock.unix_ns();
  const Instant stamped = clock.now();
  PJ_TRY(run.load, generate_load(set, settings.load, clock, stop));
  run.begun_unix_ns += (run.load.begun.ns - stamped.ns);
  if (watch) run.engine = watch->stop();
  if (!meter.channels().empty()) clock.sleep_until(clock.now() + margin);
  run.around = window.end();
  sampler->stop();
  run.missed_ticks = sampler->missed_ticks();
  run.courses = courses_of(meter);
  return run;
}

}  // namespace perjoule
