#include "load_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/shared_library.h"
#include "base/text.h"
#include "device/discovery.h"
#include "device/journal.h"

namespace perjoule {
namespace {

constexpr Seconds kSteady(2);
constexpr Seconds kHalfWave(0.053);
constexpr int kWaves = 100;  // about 11 s
constexpr Seconds kCapWatch(1);
constexpr double kSettledMhz = 45;  // three clock steps

struct TickSpan {
  double joules = 0;
  double seconds = 0;
};

/// The counter at its next step, so that whole ticks are compared with whole ticks.
Result<std::pair<double, Instant>> at_next_tick(const NvmlLibrary& library, nvml::Device gpu) {
  const RealClock clock;
  unsigned long long first = 0;
  unsigned long long now_mj = 0;
  if (library.device_energy == nullptr || library.device_energy(gpu, &first) != nvml::kSuccess)
    return Error::not_supported("this GPU has no energy counter");
  const Instant give_up = clock.now() + Seconds(2);
  while (clock.now() < give_up) {
    if (library.device_energy(gpu, &now_mj) != nvml::kSuccess)
      return Error::unavailable("the energy counter stopped answering");
    if (now_mj != first) return std::pair(static_cast<double>(now_mj) * 1e-3, clock.now());
  }
  return Error::timeout("the energy counter did not move for 2 s");
}

/// Energy and time from tick to tick around `work`.
template <typename Work>
Result<TickSpan> measure(const NvmlLibrary& library, nvml::Device gpu, const Work& work) {
  PJ_TRY(const auto begin, at_next_tick(library, gpu));
  PJ_CHECK(work());
  PJ_TRY(const auto end, at_next_tick(library, gpu));
  return TickSpan{end.first - begin.first, (end.second - begin.second).value()};
}

Outcome rest() {
  RealClock clock;
  clock.sleep_until(clock.now() + kSteady);
  return {};
}

/// The clock under a new limit, polled every millisecond from the moment it was set.
std::vector<unsigned> watch_clock(const NvmlLibrary& library, nvml::Device gpu) {
  RealClock clock;
  std::vector<unsigned> clocks;
  const Instant begin = clock.now();
  for (Instant next = begin; next < begin + kCapWatch; next = next + Seconds(1e-3)) {
    clock.sleep_until(next);
    unsigned mhz = 0;
    if (library.clock_now(gpu, nvml::kClockSm, &mhz) != nvml::kSuccess) return {};
    clocks.push_back(mhz);
  }
  return clocks;
}

}  // namespace

Outcome probe_power(const NvmlLibrary& library, nvml::Device gpu, std::unique_ptr<GpuLoad>& load,
                    Json& report) {
  const auto say = [&report](const char* name, const TickSpan& reading) {
    const double watts = reading.joules / reading.seconds;
    fmt::print("{}: {:.1f} W\n", name, watts);
    report[name] = watts;
  };
  PJ_TRY(const TickSpan idle, measure(library, gpu, rest));
  say("idle_w", idle);
  auto made =
      report.find("simulated")->as_bool().value_or(false) ? make_twin_load() : make_cuda_load();
  if (!made) return fail(made, "no load to put on the GPU");
  load = std::move(*made);
  PJ_TRY(const TickSpan context, measure(library, gpu, rest));
  say("context_w", context);
  // The reading begins and ends inside the load, whose edges would count as rest.
  Outcome burnt;
  std::thread work([&] { burnt = load->burn(kSteady + Seconds(3)); });
  RealClock clock;
  clock.sleep_until(clock.now() + Seconds(1.5));
  const auto steady = measure(library, gpu, [] {
    RealClock inner;
    inner.sleep_until(inner.now() + Seconds(2));
    return Outcome();
  });
  work.join();
  PJ_CHECK(burnt);
  if (!steady) return fail(steady);
  say("load_w", *steady);
  return {};
}

Outcome probe_square_wave(const NvmlLibrary& library, nvml::Device gpu, GpuLoad& load,
                          Json& report) {
  double busy = 0;
  const auto wave = [&]() -> Outcome {
    RealClock clock;
    for (int i = 0; i < kWaves; ++i) {
      const Instant begin = clock.now();
      PJ_CHECK(load.burn(kHalfWave));
      const Instant end = clock.now();
      busy += (end - begin).value();
      clock.sleep_until(end + kHalfWave);
    }
    return {};
  };
  PJ_TRY(const TickSpan reading, measure(library, gpu, wave));
  const double expected = busy * report.number("load_w").value_or(0) +
                          (reading.seconds - busy) * report.number("context_w").value_or(0);
  const double ratio = reading.joules / expected;
  fmt::print("square wave: the counter says {:.3f} of what powers and times say\n", ratio);
  report["square_wave_ratio"] = ratio;
  return {};
}

Outcome probe_cap_step(const NvmlLibrary& library, nvml::Device gpu, GpuLoad& load, Json& report) {
  if (library.clock_now == nullptr) return Error::not_supported("no clock can be read");
  const RealClock clock;
  const Inventory machine = discover(Roots::from_environment(), clock);
  const std::vector<Knob*> knobs = machine.knobs();
  const auto limit = std::find_if(knobs.begin(), knobs.end(), [](const Knob* knob) {
    return knob->info().name == "power limit" && knob->info().device.rfind("gpu:", 0) == 0;
  });
  if (limit == knobs.end()) return Error::not_supported("the power limit cannot be set");
  const KnobInfo& info = (*limit)->info();
  PJ_TRY(KnobJournal journal, KnobJournal::open(journal_folder(), machine));
  Outcome burnt;
  std::thread work([&] { burnt = load.burn(Seconds(2.5)); });
  RealClock waiting;
  waiting.sleep_until(waiting.now() + Seconds(1));
  const auto turned = journal.turn(
      **limit, fmt::format("{:.0f} W", info.minimum + 0.5 * (info.maximum - info.minimum)));
  const std::vector<unsigned> clocks = turned ? watch_clock(library, gpu) : std::vector<unsigned>();
  work.join();
  PJ_CHECK(journal.restore());
  if (!turned) return fail(turned);
  PJ_CHECK(burnt);
  if (clocks.empty()) return Error::unavailable("the clock stopped answering");
  const double settled = clocks.back();
  const auto first =
      std::find_if(clocks.begin(), clocks.end(), [&](unsigned mhz) { return mhz != clocks[0]; });
  const auto near = std::find_if(clocks.begin(), clocks.end(), [&](unsigned mhz) {
    return std::abs(static_cast<double>(mhz) - settled) <= kSettledMhz;
  });
  report["cap_first_step_ms"] = static_cast<std::int64_t>(first - clocks.begin());
  report["cap_settled_ms"] = static_cast<std::int64_t>(near - clocks.begin());
  fmt::print(
      "limit lowered under load: clock {} -> {:.0f} MHz, first step after {} ms, settled "
      "after {} ms\n",
      clocks[0], settled, first - clocks.begin(), near - clocks.begin());
  return {};
}

Outcome probe_samples(const std::string& nvml, nvml::Device gpu, Json& report) {
  constexpr unsigned kPowerSamples = 0;
  PJ_TRY(const SharedLibrary library, SharedLibrary::open(nvml));
  nvml::Return (*samples_of)(nvml::Device, unsigned, unsigned long long, unsigned*, unsigned*,
                             nvml::Sample*) = nullptr;
  library.load(samples_of, "nvmlDeviceGetSamples");
  unsigned type = 0;
  unsigned count = 0;
  if (samples_of == nullptr ||
      samples_of(gpu, kPowerSamples, 0, &type, &count, nullptr) != nvml::kSuccess || count == 0)
    return Error::not_supported("no buffer of power samples");
  std::vector<nvml::Sample> samples(count);
  if (samples_of(gpu, kPowerSamples, 0, &type, &count, samples.data()) != nvml::kSuccess)
    return Error::unavailable("the buffer of power samples stopped answering");
  samples.resize(std::min<std::size_t>(count, samples.size()));
  if (samples.size() < 2) return Error::not_supported("the buffer holds one sample");
  const double span_ms =
      static_cast<double>(samples.back().timestamp_us - samples.front().timestamp_us) * 1e-3;
  const double spacing = span_ms / static_cast<double>(samples.size() - 1);
  fmt::print("samples: {} in the buffer, {:.1f} ms apart\n", samples.size(), spacing);
  report["samples"] = static_cast<std::int64_t>(samples.size());
  report["sample_spacing_ms"] = spacing;
  return {};
}

}  // namespace perjoule
