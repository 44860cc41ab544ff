// The sampler at 1 kHz over four zones of a powercap tree and eight GPUs, against the least such a
// thread can do: a timerfd and four preads. Both run in turns in one process; what counts is the
// CPU time of the process meanwhile, per tick.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "device/rapl_powercap.h"
#include "figure.h"
#include "machine.h"
#include "meter/sampler.h"

namespace {
std::atomic<std::uint64_t> allocations{0};
}

// Counts every allocation of the process. NOLINTBEGIN: this is how the language lets one.
void* operator new(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) std::abort();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
// NOLINTEND

namespace pb = perjoule::bench;

namespace {

constexpr int kRounds = 9;
constexpr double kRoundSeconds = 1;
/// As `perjoule run` takes.
constexpr std::size_t kTimelineBytes = 8U << 20U;

struct Cost {
  double cpu = 0;
  std::uint64_t ticks = 0;
  double per_tick() const { return cpu / static_cast<double>(std::max<std::uint64_t>(1, ticks)); }
};

void sleep_for(double seconds) {
  perjoule::RealClock clock;
  clock.sleep_until(clock.now() + perjoule::Seconds(seconds));
}

/// What nobody can do without: wake by timerfd, pread four files.
Cost bare_loop(const std::vector<std::string>& files) {
  std::vector<perjoule::FileDescriptor> open;
  for (const std::string& file : files) open.push_back(pb::must(perjoule::open_for_reading(file)));
  const perjoule::FileDescriptor timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  const itimerspec period{{0, 1'000'000}, {0, 1'000'000}};
  ::timerfd_settime(timer.get(), 0, &period, nullptr);
  perjoule::RealClock clock;
  const perjoule::Instant end = clock.now() + perjoule::Seconds(kRoundSeconds);
  Cost cost;
  const double before = pb::cpu_seconds();
  while (clock.now() < end) {
    std::uint64_t expirations = 0;
    if (::read(timer.get(), &expirations, sizeof(expirations)) != sizeof(expirations)) continue;
    ++cost.ticks;
    char text[32];
    for (const auto& fd : open) (void)!::pread(fd.get(), text, sizeof(text), 0);
  }
  cost.cpu = pb::cpu_seconds() - before;
  return cost;
}

struct SamplerRound {
  Cost cost;
  std::uint64_t missed = 0;
  std::uint64_t allocated = 0;
};

SamplerRound sampler_round(perjoule::Meter& meter) {
  auto sampler = pb::must(perjoule::Sampler::start(meter, perjoule::Seconds(1e-3)));
  sleep_for(0.05);  // the thread has started
  SamplerRound round;
  const std::uint64_t allocated = allocations.load();
  const std::uint64_t ticks = sampler->ticks();
  const std::uint64_t missed = sampler->missed_ticks();
  const double before = pb::cpu_seconds();
  sleep_for(kRoundSeconds);
  round.cost.cpu = pb::cpu_seconds() - before;
  round.cost.ticks = sampler->ticks() - ticks;
  round.missed = sampler->missed_ticks() - missed;
  round.allocated = allocations.load() - allocated;
  return round;
}

double peak_memory_mb() {
  const std::string status = pb::must(perjoule::read_file("/proc/self/status"));
  const std::size_t at = status.find("VmHWM:");
  return at == std::string::npos ? 0 : std::strtod(status.c_str() + at + 6, nullptr) * 1024e-6;
}

}  // namespace

int main() {
  const pb::PowercapFolder folder;
  const perjoule::Discovered found = perjoule::discover_rapl_powercap(folder.roots());
  const auto gpus = pb::instant_gpus(8, false, perjoule::Seconds(0.1));
  std::vector<perjoule::Source*> sources = pb::borrowed(gpus);
  for (const auto& device : found.devices) {
    for (perjoule::Source* source : device->sources()) sources.push_back(source);
  }
  const perjoule::RealClock clock;
  perjoule::Meter meter(sources, clock, kTimelineBytes);

  Cost bare;
  Cost ours;
  std::vector<double> differences;  // a tick, of each round: what disturbs one of a pair is no cost
  std::uint64_t missed = 0;
  std::uint64_t allocated = 0;
  const std::uint64_t gpu_reads_before = gpus[0]->reads();
  for (int round = 0; round < kRounds; ++round) {
    const Cost plain = bare_loop(folder.energy_files());
    const SamplerRound sampled = sampler_round(meter);
    differences.push_back(sampled.cost.per_tick() - plain.per_tick());
    bare.cpu += plain.cpu;
    bare.ticks += plain.ticks;
    ours.cpu += sampled.cost.cpu;
    ours.ticks += sampled.cost.ticks;
    missed += sampled.missed;
    allocated += sampled.allocated;
  }
  // 50 ms of each round lie before the count.
  const double gpu_rate =
      static_cast<double>(gpus[0]->reads() - gpu_reads_before) / (kRounds * (kRoundSeconds + 0.05));
  std::uint64_t shown_missed = 0;
  for (const auto& channel : meter.channels()) {
    if (channel->info().tick.value() < 0.01) {
      shown_missed = std::max(shown_missed, channel->timeline()->missed_ticks());
    }
  }
  std::sort(differences.begin(), differences.end());
  const double extra = differences[differences.size() / 2] * 1e6;
  pb::print(
      {.figure = "sampler_cpu",
       .value = extra,
       .unit = "us a tick above the bare loop",
       .bar = "<= 12",
       .pass = extra <= 12,
       .detail = fmt::format("median of 9 pairs ({:.1f} to {:.1f}); over all, ours {:.1f} us a "
                             "tick ({:.2f} % of a core), bare loop {:.1f} us ({:.2f} %)",
                             differences.front() * 1e6, differences.back() * 1e6,
                             ours.per_tick() * 1e6, 100 * ours.cpu / (kRounds * kRoundSeconds),
                             bare.per_tick() * 1e6, 100 * bare.cpu / (kRounds * kRoundSeconds))});
  const double rate = static_cast<double>(ours.ticks + missed) / (kRounds * kRoundSeconds);
  pb::print({.figure = "sampler_rate",
             .value = rate,
             .unit = "ticks/s",
             .bar = "each source at min(1 kHz, its tick); missed ones counted",
             .pass = std::abs(rate - 1000) < 20 && gpu_rate < 11 && shown_missed >= missed,
             .detail = fmt::format("{} ticks, {} slept through and shown as gaps in the zones' "
                                   "timelines; a GPU of 100 ms is read {:.1f} times a second",
                                   ours.ticks, shown_missed, gpu_rate)});
  pb::print({.figure = "sampler_allocations",
             .value = static_cast<double>(allocated),
             .unit = "allocations after the start",
             .bar = "0",
             .pass = allocated == 0,
             .detail = "operator new counted over all rounds"});
  // Memory counts with all timelines full, as after a long run.
  for (const auto& channel : meter.channels()) {
    for (std::size_t i = 0; i < kTimelineBytes / 16 / sources.size(); ++i) channel->sample();
  }
  const double memory = peak_memory_mb();
  pb::print({.figure = "sampler_memory",
             .value = memory,
             .unit = "MB",
             .bar = "<= 16",
             .pass = memory <= 16,
             .detail = fmt::format(
                 "peak resident memory of the process with its {} MiB of timelines full",
                 kTimelineBytes >> 20U)});
}
