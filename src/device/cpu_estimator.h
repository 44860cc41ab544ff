// Where a machine has no meter (virtual machines, locked-down hosts): CPU power estimated from CPU
// time.
//
// Power over TDP is a measured function of load (data/cpu_load_curve.csv) with an interval that
// covered 97 % of the steps of machines it was not fitted on; docs/sources.md prints that check.
// The answer is an estimate (grade D), never mixed silently with a measurement. Without a known TDP
// a typical one per logical processor is taken and the interval widened.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "device/device.h"
#include "device/roots.h"

namespace perjoule {

/// The processor's TDP by its /proc/cpuinfo name, e.g. "Intel(R) Xeon(R) CPU E5-2620 v3 @ 2.40GHz".
std::optional<Watts> find_cpu_tdp(std::string_view cpuinfo_model);

/// Package power over TDP against load.
class CpuLoadCurve {
 public:
  struct Knot {
    double load;
    double centre;
    double low;
    double high;
  };
  /// The shipped curve.
  static const CpuLoadCurve& shipped();
  explicit CpuLoadCurve(std::vector<Knot> knots) : knots_(std::move(knots)) {}

  /// Linear between knots; load is held within 0 to 1.
  Knot at(double load) const;
  /// The knot whose centre is that share of TDP (the curve rises throughout).
  Knot at_centre(double share) const;

 private:
  std::vector<Knot> knots_;
};

/// One device "cpu:0" for all packages. Nothing where /proc/stat cannot be read.
Discovered discover_cpu_estimator(const Roots& roots, const Clock& clock);

}  // namespace perjoule
