// The settings a workload ran with, and the operating point they gave: plain data that every pillar
// shares.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/energy.h"
#include "base/units.h"

namespace perjoule {

/// One named setting: {"power limit", "300 W"}, {"batch", "128"}.
struct Setting {
  std::string name;
  std::string value;
  bool operator==(const Setting&) const = default;
};

/// Settings in the order they were given; names are unique.
class Config {
 public:
  Config() = default;
  explicit Config(std::vector<Setting> settings);

  /// Adds a setting, or changes the one of that name.
  void set(std::string_view name, std::string_view value);
  /// The value, or null when there is no such setting.
  const std::string* find(std::string_view name) const;
  /// The leading number of the value ("300 W" gives 300), when it has one.
  std::optional<double> number(std::string_view name) const;
  const std::vector<Setting>& settings() const { return settings_; }
  bool empty() const { return settings_.empty(); }
  /// "power limit 300 W, batch 128".
  std::string text() const;
  bool operator==(const Config&) const = default;

 private:
  std::vector<Setting> settings_;
};

/// One operating point: what a unit of work took under one config.
struct Point {
  Config config;
  Seconds time;     ///< per unit of work (a step, a token, the whole job)
  Energy energy;    ///< per unit of work
  double rate = 0;  ///< units of work a second over all devices; 0 when not known. Not 1/time where
                    ///< work is batched
  std::size_t origin =
      0;  ///< line or row of the file it came from, 1-based; 0 when it was measured here
};

/// What came nearest to a constraint that no point meets.
struct Miss {
  std::size_t nearest = 0;  ///< index of the point that misses by least
  std::string quantity;     ///< "time" (s), "energy" (J) or "power" (W)
  double limit = 0;         ///< what was asked for, SI units
  double reached = 0;       ///< what the nearest point has, SI units
  double over = 0;          ///< reached / limit - 1
};

/// An answer of a choice rule: the point chosen and what it saves against which baseline.
struct Choice {
  /// Index into the points the frontier was made of. When nothing is feasible this is the nearest
  /// miss, told apart by `miss`.
  std::size_t chosen = 0;
  std::size_t baseline = 0;  ///< the point it is compared with: the fastest one
  std::string rule;          ///< the rule in words, e.g. "least energy, time at most 0.05 s"
  std::size_t candidates = 0;
  std::size_t feasible = 0;
  double energy_saved = 0;        ///< 1 - E_chosen / E_baseline
  double slowdown = 1;            ///< t_chosen / t_baseline
  std::optional<Miss> miss = {};  ///< set exactly when feasible is 0
};

}  // namespace perjoule
