// CPU time of one sample of four RAPL zones: the road of the sampler, from pread on an open
// descriptor to the timeline.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/clock.h"
#include "device/rapl_powercap.h"
#include "figure.h"
#include "machine.h"
#include "meter/meter.h"

namespace pb = perjoule::bench;

int main() {
  constexpr int kRuns = 9;
  constexpr int kSamples = 20'000;
  const pb::PowercapFolder folder;
  const perjoule::Discovered found = perjoule::discover_rapl_powercap(folder.roots());
  std::vector<perjoule::Source*> sources;
  for (const auto& device : found.devices) {
    for (perjoule::Source* source : device->sources()) sources.push_back(source);
  }
  if (sources.size() != 4) pb::must(perjoule::Error::internal("the tree has not four zones"));
  const perjoule::RealClock clock;
  perjoule::Meter meter(sources, clock, 1U << 20U);
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < kRuns; ++run) {
    const double before = pb::cpu_seconds();
    for (int i = 0; i < kSamples; ++i) {
      for (const auto& channel : meter.channels()) channel->sample();
    }
    best = std::min(best, (pb::cpu_seconds() - before) / kSamples);
  }
  pb::print(
      {.figure = "rapl_sample",
       .value = best * 1e6,
       .unit = "us",
       .bar = "<= 8",
       .pass = best <= 8e-6,
       .detail = fmt::format("best of {} runs of {} samples, into the timeline", kRuns, kSamples)});
}
