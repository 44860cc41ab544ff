// begin() + end() of a window over 8 GPUs and 2 packages with dram whose sources answer from
// memory: what the window itself costs. With edge powers, which are the default: the gauge beside
// each GPU's counter is read at both ends as well.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/clock.h"
#include "figure.h"
#include "machine.h"
#include "meter/meter.h"

namespace pb = perjoule::bench;

namespace {

/// Best CPU seconds of a pair.
double time_pair(perjoule::Meter& meter, const perjoule::WindowOptions& options) {
  constexpr int kRuns = 9;
  constexpr int kPairs = 4000;
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < kRuns; ++run) {
    const double before = pb::cpu_seconds();
    for (int i = 0; i < kPairs; ++i) {
      perjoule::Window window = pb::must(meter.begin("step", options));
      const perjoule::Measurement used = window.end();
      if (used.sources.empty()) pb::must(perjoule::Error::internal("nothing was measured"));
    }
    best = std::min(best, (pb::cpu_seconds() - before) / kPairs);
  }
  return best;
}

}  // namespace

int main() {
  const auto gpus = pb::instant_gpus(8, true, perjoule::Seconds(0.1));
  const auto packages = pb::instant_packages();
  std::vector<perjoule::Source*> all = pb::borrowed(gpus);
  for (perjoule::Source* source : pb::borrowed(packages)) all.push_back(source);
  // The sum of the machine: counters only; the gauges beside them serve the edges.
  perjoule::WindowOptions counters;
  for (const perjoule::Source* source : all) {
    if (source->info().overlaps.empty()) counters.sources.push_back(source->info().id);
  }
  const perjoule::RealClock clock;
  perjoule::Meter meter(all, clock);
  const double pair = time_pair(meter, counters);
  counters.edge_powers = false;
  const double without_edges = time_pair(meter, counters);
  const double everything = time_pair(meter, {});
  pb::print({.figure = "window_pair",
             .value = pair * 1e6,
             .unit = "us",
             .bar = "<= 20",
             .pass = pair <= 20e-6,
             .detail = fmt::format("12 counters, edge powers on; {:.1f} us without, {:.1f} us with "
                                   "the 8 gauges as sources of their own",
                                   without_edges * 1e6, everything * 1e6)});
}
