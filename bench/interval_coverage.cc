#include "interval_coverage.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>

#include "device/discovery.h"
#include "device/nvml_device.h"
#include "meter/meter.h"
#include "meter/sampler.h"
#include "twin/gpu_model.h"
#include "twin/world.h"
#include "twin_clock.h"

namespace perjoule::bench {
namespace {

using twin::World;

/// Points the library at a machine for as long as it lives.
class NamedMachine {
 public:
  explicit NamedMachine(std::string path) : path_(std::move(path)) {
    ::setenv(twin::kEnvironmentVariable, path_.c_str(), 1);
  }
  ~NamedMachine() {
    ::unsetenv(twin::kEnvironmentVariable);
    std::remove(path_.c_str());
  }
  NamedMachine(const NamedMachine&) = delete;
  NamedMachine& operator=(const NamedMachine&) = delete;

 private:
  std::string path_;
};

class Experiment {
 public:
  Experiment(World& world, const CoverageOptions& options)
      : world_(world), options_(options), clock_(world), random_(options.seed) {}

  Result<CoverageResult> run() {
    Roots roots;
    roots.nvml = options_.standin;
    const Discovered found = discover_nvml(roots);
    if (found.devices.size() != static_cast<std::size_t>(world_.device_count()))
      return Error::internal("the library shows another machine");
    prepare();
    for (int i = 0; i < options_.windows; ++i) {
      const int device = i % world_.device_count();
      PJ_CHECK(one_window(*found.devices[static_cast<std::size_t>(device)], device));
    }
    return result_;
  }

 private:
  void prepare() {
    result_.all.of = "all";
    for (const twin::GpuModel& model : twin::gpu_models())
      result_.by_device.push_back({.of = std::string(model.key)});
    for (const char* decade :
         {"5 to 10 ms", "10 to 100 ms", "0.1 to 1 s", "1 to 10 s", "10 to 60 s"})
      result_.by_length.push_back({.of = decade});
  }

  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  double log_uniform(Seconds low, Seconds high) {
    return std::exp(uniform(std::log(low.value()), std::log(high.value())));
  }

  /// The next phase of the load: idle a quarter of the time, else any activity and bandwidth.
  Outcome next_phase(int device) {
    PJ_CHECK(world_.end_phase(device));
    phase_left_ = log_uniform(options_.shortest_phase, options_.longest_phase);
    if (uniform(0, 1) < 0.25) return {};
    const twin::Phase endless{
        .flop = 1e22, .activity = uniform(0.2, 1.0), .dram_share = uniform(0, 1)};
    PJ_TRY(const std::uint64_t ticket, world_.begin_phase(device, endless));
    (void)ticket;
    return {};
  }

  /// Lets the load go on for so long.
  Outcome pass(int device, double seconds, SampleSchedule* schedule) {
    while (seconds > 0) {
      if (phase_left_ <= 0) PJ_CHECK(next_phase(device));
      double step = std::min(seconds, phase_left_);
      // A sampled machine is looked at each period.
      if (schedule != nullptr) step = std::min(step, schedule->period().value());
      PJ_CHECK(world_.advance(Seconds(step)));
      if (schedule != nullptr) schedule->run(clock_.now());
      seconds -= step;
      phase_left_ -= step;
    }
    return {};
  }

  Outcome one_window(Device& device, int index) {
    const std::vector<Source*> sources = device.sources();
    const SourceInfo& info = sources.front()->info();
    PJ_CHECK(world_.set_sensor_error(index, 1 + uniform(-info.gain, info.gain),
                                     Watts(uniform(-1, 1) * info.offset.value())));
    Meter meter(sources, clock_);
    SampleSchedule schedule(meter, Seconds(0.1));
    SampleSchedule* const sampling = options_.sampled ? &schedule : nullptr;
    phase_left_ = 0;
    // Long enough for the sensors to show the new gain in all that they average over.
    PJ_CHECK(pass(index, uniform(2.5, 3.5), sampling));
    const double length = log_uniform(options_.shortest, options_.longest);
    PJ_TRY(Window window, meter.begin("window", {.sources = {info.id}}));
    const Joules before = world_.truth(index);
    PJ_CHECK(pass(index, length, sampling));
    const Joules truth = world_.truth(index) - before;
    const Energy energy = window.end().total();
    count(index, length, truth, energy, info);
    return world_.end_phase(index);
  }

  void count(int device, double length, Joules truth, const Energy& energy,
             const SourceInfo& info) {
    const Joules expanded = energy.expanded_uncertainty();
    const bool covered = abs(energy.joules - truth) <= expanded;
    const double width = std::min(1.0, expanded / std::max(energy.joules, Joules(1e-9)));
    const auto decade =
        static_cast<std::size_t>(std::clamp(std::floor(std::log10(length)) + 3, 0.0, 4.0));
    for (CoverageCount* one : {&result_.all, &result_.by_device[static_cast<std::size_t>(device)],
                               &result_.by_length[decade]}) {
      ++one->windows;
      one->covered += covered ? 1 : 0;
      one->width += width;
    }
    // Gain and offset lie outside the hard bounds, at most twice (the bound is of the shown
    // energy).
    const Joules sensor = info.gain * truth * 1.1 + info.offset * Seconds(length) * 1.1;
    if (truth < energy.lower - sensor || truth > energy.upper + sensor)
      ++result_.outside_hard_bounds;
  }

  World& world_;
  CoverageOptions options_;
  TwinClock clock_;
  std::mt19937_64 random_;
  double phase_left_ = 0;
  CoverageResult result_;
};

}  // namespace

Result<CoverageResult> measure_coverage(const CoverageOptions& options) {
  std::vector<std::string> models;
  for (const twin::GpuModel& model : twin::gpu_models()) models.emplace_back(model.key);
  const std::string path = "/tmp/perjoule-coverage-" + std::to_string(::getpid());
  std::remove(path.c_str());
  PJ_TRY(World world, World::create(path, models, twin::ClockMode::kManual));
  const NamedMachine named(path);
  return Experiment(world, options).run();
}

}  // namespace perjoule::bench
