// The settings a workload ran with, and the operating point they gave: plain data that every pillar
// shares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/energy.h"
#include "base/units.h"

namespace perjoule {

/// One named setting: {"power limit", "300 W"}, {"batch", "128"}. A view: valid as long as the
/// Config it came from, or the texts it was made of.
struct Setting {
  std::string_view name;
  std::string_view value;
  bool operator==(const Setting&) const = default;
};

/// Settings in the order they were given; names are unique.
///
/// Packed, because a table of a million rows is a million of these: the names are shared by all
/// that have the same ones, and the values stand in one text, each behind its length.
class Config {
 public:
  /// Names of settings, each once, that many configs share.
  using Names = std::shared_ptr<const std::vector<std::string>>;

  /// Goes through the settings of a config, each made on the way.
  class Iterator {
   public:
    using value_type = Setting;
    using difference_type = std::ptrdiff_t;
    Setting operator*() const;
    Iterator& operator++();
    bool operator==(const Iterator& other) const { return index_ == other.index_; }

   private:
    friend class Config;
    Iterator(const Config& config, std::size_t index) : config_(&config), index_(index) {}
    const Config* config_;
    std::size_t index_;
    std::size_t at_ = 0;  ///< where the value's length stands
  };
  struct Settings {
    const Config* config;
    Iterator begin() const { return Iterator(*config, 0); }
    Iterator end() const { return Iterator(*config, config->size()); }
  };

  Config() = default;
  /// Of a name given twice the last value counts, in the first one's place.
  explicit Config(const std::vector<Setting>& settings);
  /// The values of the names, in their order and as many.
  Config(Names names, const std::vector<std::string_view>& values);

  /// Adds a setting, or changes the one of that name.
  void set(std::string_view name, std::string_view value);
  /// The value; none when there is no such setting.
  std::optional<std::string_view> find(std::string_view name) const;
  /// The leading number of the value ("300 W" gives 300), when it has one.
  std::optional<double> number(std::string_view name) const;
  Settings settings() const { return {this}; }
  std::size_t size() const { return names_ ? names_->size() : 0; }
  bool empty() const { return size() == 0; }
  /// "power limit 300 W, batch 128".
  std::string text() const;
  /// Of the values alone: the names are the same in every row of a table.
  std::size_t hash() const { return std::hash<std::string>{}(values_); }
  bool operator==(const Config& other) const;

 private:
  Names names_;
  std::string values_;
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
  std::uint32_t file = 0;  ///< which of the files read together that is, from 0
  /// One standard error of `time`, where the spread of what was measured tells it; 0: not known.
  Seconds time_random = {};
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
  double energy_saved = 0;  ///< 1 - E_chosen / E_baseline
  double slowdown = 1;      ///< t_chosen / t_baseline
  /// Why another rule was taken than was asked for, or a bound is met within what is measured only;
  /// else empty.
  std::string note = {};
  std::optional<Miss> miss = {};  ///< set exactly when feasible is 0
};

}  // namespace perjoule
