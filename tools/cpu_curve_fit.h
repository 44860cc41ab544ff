// Makes data/cpu_load_curve.csv from CodeCarbon's measured load profiles, and checks it on machines
// it was not made from. Shared by the program that prints the table and by the test that holds it.
//
// Truth is the step's energy over its duration (rapl_power lags a row behind). A machine's curve is
// the mean of its two profiles (all cores loaded a little, some cores loaded fully), each linear
// between its steps; the centre is the geometric mean of the machines, raised where it would fall;
// low and high are the lowest and the highest machine, widened by a factor.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "base/csv.h"
#include "base/file.h"
#include "device/cpu_estimator.h"

namespace perjoule {

constexpr double kCurveWidening = 1.7;

struct LoadStep {
  double load = 0;        ///< 0 to 1
  double truth = 0;       ///< W
  double codecarbon = 0;  ///< W, their own estimate in the same file
  std::string profile;    ///< "all_cores" or "some_cores"
};
struct LoadedMachine {
  double tdp = 0;  ///< W, of all its sockets
  std::vector<LoadStep> steps;
};

/// The machines of the folder's *.csv, by processor.
inline Result<std::map<std::string, LoadedMachine>> read_load_profiles(const std::string& folder) {
  std::map<std::string, LoadedMachine> machines;
  for (const std::string& file : list_folder(folder)) {
    if (!file.ends_with(".csv")) continue;
    PJ_TRY(const CsvTable table, read_csv(folder + "/" + file));
    const auto at = [&table](const char* name) { return table.column(name).value_or(0); };
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const std::string name(table.cell(row, at("cpu_name")));
      LoadedMachine& machine = machines[name];
      const auto tdp = find_cpu_tdp(name);
      if (!tdp) return Error::not_found("no TDP of " + name);
      // The E5-2620 v3 of these profiles has two sockets, which the file does not say.
      machine.tdp = tdp->value() * (name.find("E5-2620 v3") == std::string::npos ? 1 : 2);
      PJ_TRY(const double load, table.number(row, at("cpu_load")));
      PJ_TRY(const double energy_kwh, table.number(row, at("rapl_energy")));
      PJ_TRY(const double seconds, table.number(row, at("duration")));
      PJ_TRY(const double theirs, table.number(row, at("estimated_power")));
      machine.steps.push_back({load / 100, energy_kwh * 3.6e6 / seconds, theirs,
                               std::string(table.cell(row, at("load_type")))});
    }
  }
  if (machines.empty()) return Error::not_found(folder + ": no load profile");
  return machines;
}

/// Share of TDP at a load by one machine's two profiles.
inline double share_at(const LoadedMachine& machine, double load) {
  double sum = 0;
  for (const char* profile : {"all_cores", "some_cores"}) {
    std::vector<std::pair<double, double>> points;
    for (const LoadStep& step : machine.steps) {
      if (step.profile == profile) points.emplace_back(step.load, step.truth / machine.tdp);
    }
    std::sort(points.begin(), points.end());
    const auto above = std::lower_bound(points.begin(), points.end(), std::pair(load, -1.0));
    if (above == points.begin()) {
      sum += points.front().second;
    } else if (above == points.end()) {
      sum += points.back().second;
    } else {
      const auto& [x0, y0] = *(above - 1);
      const auto& [x1, y1] = *above;
      sum += y0 + (y1 - y0) * (load - x0) / (x1 - x0);
    }
  }
  return sum / 2;
}

/// The curve of all machines but the one of that name.
inline std::vector<CpuLoadCurve::Knot> fit_curve(
    const std::map<std::string, LoadedMachine>& machines, const std::string& left_out = {}) {
  std::vector<CpuLoadCurve::Knot> knots;
  for (int i = 0; i <= 10; ++i) {
    CpuLoadCurve::Knot knot{i / 10.0, 0, 1e9, 0};
    int count = 0;
    for (const auto& [name, machine] : machines) {
      if (name == left_out) continue;
      const double share = share_at(machine, knot.load);
      knot.centre += std::log(share);
      knot.low = std::min(knot.low, share / kCurveWidening);
      knot.high = std::max(knot.high, share * kCurveWidening);
      ++count;
    }
    knot.centre = std::exp(knot.centre / count);
    if (!knots.empty()) knot.centre = std::max(knot.centre, knots.back().centre + 0.001);
    knots.push_back(knot);
  }
  return knots;
}

/// What a curve made from the other machines says of each step of each machine.
struct LeaveOneOut {
  int steps = 0;
  int covered = 0;
  double mean_width = 0;               ///< of the interval, in TDP
  double median_error = 0;             ///< relative, ours
  double median_error_codecarbon = 0;  ///< relative, theirs
};
inline LeaveOneOut leave_one_out(const std::map<std::string, LoadedMachine>& machines) {
  LeaveOneOut out;
  std::vector<double> ours;
  std::vector<double> theirs;
  for (const auto& [name, machine] : machines) {
    const CpuLoadCurve curve(fit_curve(machines, name));
    for (const LoadStep& step : machine.steps) {
      const CpuLoadCurve::Knot knot = curve.at(step.load);
      const double share = step.truth / machine.tdp;
      ++out.steps;
      if (share >= knot.low && share <= knot.high) ++out.covered;
      out.mean_width += knot.high - knot.low;
      ours.push_back(std::abs(knot.centre / share - 1));
      theirs.push_back(std::abs(step.codecarbon / step.truth - 1));
    }
  }
  const auto median = [](std::vector<double>& values) {
    std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                     values.end());
    return values[values.size() / 2];
  };
  out.mean_width /= out.steps;
  out.median_error = median(ours);
  out.median_error_codecarbon = median(theirs);
  return out;
}

}  // namespace perjoule
