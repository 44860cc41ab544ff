// Prints data/cpu_load_curve.csv and, to standard error, how well such a curve predicts a machine
// it was not made from, beside CodeCarbon's own estimate.
//
//   cpu_curve_fit .../cpu_power/load_profiles > data/cpu_load_curve.csv
#include "tools/cpu_curve_fit.h"

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: cpu_curve_fit FOLDER\n");
    return 2;
  }
  const auto machines = perjoule::read_load_profiles(argv[1]);
  if (!machines) {
    std::fprintf(stderr, "%s\n", machines.error().text().c_str());
    return 3;
  }
  const perjoule::LeaveOneOut check = perjoule::leave_one_out(*machines);
  std::printf(
      "# Package power over TDP against CPU load, from %d measured load steps of %zu "
      "machines; see data/README.md.\nload,centre,low,high\n",
      check.steps, machines->size());
  for (const auto& knot : perjoule::fit_curve(*machines)) {
    std::printf("%.1f,%.3f,%.3f,%.3f\n", knot.load, knot.centre, knot.low, knot.high);
  }
  std::fprintf(stderr,
               "each machine left out: %d of %d steps covered (%.1f %%), mean width %.2f TDP, "
               "median error %.1f %% (CodeCarbon %.1f %%)\n",
               check.covered, check.steps, 100.0 * check.covered / check.steps, check.mean_width,
               100 * check.median_error, 100 * check.median_error_codecarbon);
  return 0;
}
