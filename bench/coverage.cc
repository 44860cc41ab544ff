// The share of random windows whose stated interval (k = 2) covers the twin's truth.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "figure.h"
#include "interval_coverage.h"

namespace pb = perjoule::bench;

namespace {

/// Share covered and, in brackets, the mean half-width; per cent.
std::string words(const std::vector<pb::CoverageCount>& counts) {
  std::string text;
  for (const pb::CoverageCount& one : counts) {
    text += fmt::format("{}{} {:.1f} (+- {:.0f})", text.empty() ? "" : ", ", one.of,
                        100 * one.share(), 100 * one.width / std::max(1, one.windows));
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  pb::CoverageOptions options;
  options.standin = PERJOULE_STANDIN;
  if (argc > 1) options.seed = std::strtoull(argv[1], nullptr, 10);
  const pb::CoverageResult plain = pb::must(pb::measure_coverage(options));
  options.sampled = true;
  options.windows = 700;
  const pb::CoverageResult sampled = pb::must(pb::measure_coverage(options));
  options.sampled = false;
  options.shortest_phase = perjoule::Seconds(0.005);
  options.longest_phase = perjoule::Seconds(0.5);
  const pb::CoverageResult restless = pb::must(pb::measure_coverage(options));
  const double covered = 100 * plain.all.share();
  pb::print({.figure = "coverage",
             .value = covered,
             .unit = "%",
             .bar = "93 to 99",
             .pass = covered >= 93 && covered <= 99,
             .detail = fmt::format(
                 "{} windows; by device: {}; by length: {}; outside the hard bounds: {}; 700 more "
                 "with the sampler running: {:.1f} %; 700 under a load that changes each 5 ms to "
                 "0.5 s: {:.1f} % ({})",
                 plain.all.windows, words(plain.by_device), words(plain.by_length),
                 plain.outside_hard_bounds, 100 * sampled.all.share(), 100 * restless.all.share(),
                 words(restless.by_length))});
}
