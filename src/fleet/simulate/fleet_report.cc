#include "fleet/simulate/fleet_report.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "math/statistic.h"

namespace perjoule {

void ClassTally::add(const ClassTally& other) {
  arrived += other.arrived;
  done += other.done;
  squashed += other.squashed;
  failed += other.failed;
  first_in_time += other.first_in_time;
  gaps_in_time += other.gaps_in_time;
  in_time += other.in_time;
  output_tokens += other.output_tokens;
  good_tokens += other.good_tokens;
  ttft.add(other.ttft);
  tbt.add(other.tbt);
  latency.add(other.latency);
}

double ClassTally::attainment() const {
  return arrived == 0 ? 1 : static_cast<double>(in_time) / static_cast<double>(arrived);
}

ClassTally FleetReport::all() const {
  ClassTally sum;
  for (const ClassTally& one : classes) sum.add(one);
  return sum;
}

Watts FleetReport::power_percentile(double percent) const {
  if (bins.empty()) return Watts(std::numeric_limits<double>::quiet_NaN());
  std::vector<double> watts;
  for (const FleetBin& bin : bins) watts.push_back((bin.energy / bin.duration).value());
  std::sort(watts.begin(), watts.end());
  return Watts(percentile(watts, percent / 100));
}

}  // namespace perjoule
