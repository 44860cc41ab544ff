// What one server does under a load, by layout and clock: a serving profile seen from a fluid
// fleet. A server has as many GPUs as the largest instance of the profile takes; a smaller layout
// stands on it several times, and the server's load is shared equally among its instances.
//
//   PJ_TRY(const ServerCurves servers, ServerCurves::make(profile, target));
//   const auto use = servers.cheapest(load / n, {.clock = ClockScaling::kFree});
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "fleet/profile/serving_profile.h"

namespace perjoule {

enum class ClockScaling : std::uint8_t { kHighest, kFree };

/// Which curves may be taken.
struct CurveRule {
  ClockScaling clock = ClockScaling::kFree;
  std::optional<std::size_t> layout = {};  ///< of ServerCurves::layouts(); none: all
  bool late = false;  ///< curves that miss the latencies too, where nothing else helps
};

/// A server on one curve.
struct ServerUse {
  std::size_t curve = 0;  ///< of ServerCurves::curve()
  Watts power = {};       ///< of the whole server
  Reach reach = Reach::kMeasured;
};

class ServerCurves {
 public:
  /// Takes a profile of one model and one GPU. invalid_argument for another, naming what to choose,
  /// and for one that check_profile() refuses. Layouts that do not divide a server are left out,
  /// with a note.
  static Result<ServerCurves> make(const ServingProfile& profile, const LatencyTarget& target);

  /// The least power at a load of the whole server (prompt tokens/s), among curves that carry it
  /// and keep the latencies. Of equal powers the curve that stands first. O(curves x log points).
  std::optional<ServerUse> cheapest(double load, const CurveRule& rule) const;
  /// The highest load, at most `most`, that a server carries within the latencies (or, where the
  /// rule says late, at all), exactly, between points too. None where it never does; below its
  /// first point a curve is as late as there. O(curves x points).
  std::optional<double> highest_load(const CurveRule& rule,
                                     double most = std::numeric_limits<double>::infinity()) const;
  /// At and below this load nothing changes any more: all curves are held.
  double lowest_load() const { return lowest_load_; }

  std::size_t size() const { return curves_.size(); }
  const ProfileCurve& curve(std::size_t i) const { return curves_[i]; }
  /// How many instances of the curve's layout a server holds.
  int instances(std::size_t i) const { return gpus_ / curves_[i].layout.gpus(); }
  int gpus() const { return gpus_; }
  const std::vector<InstanceLayout>& layouts() const { return layouts_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  ServerCurves() = default;
  bool allowed(std::size_t i, const CurveRule& rule) const;

  std::vector<ProfileCurve> curves_;
  std::vector<bool> at_highest_;
  std::vector<std::size_t> layout_of_;
  std::vector<InstanceLayout> layouts_;
  std::vector<std::string> notes_;
  LatencyTarget target_;
  int gpus_ = 1;
  double lowest_load_ = 0;
};

/// n servers that share a load equally, all on one curve.
struct EqualSplit {
  int servers = 0;
  ServerUse use = {};
  Watts power = {};  ///< of all of them
};
/// The one of least power among 1 to `most` servers; none where none meets the latencies. Of equal
/// powers the fewest servers. O(most x curves x log points).
std::optional<EqualSplit> best_equal_split(const ServerCurves& servers, double load, int most,
                                           const CurveRule& rule);
/// The fewest servers, at most `most`, that carry it within the latencies; 0 where none do.
int fewest_servers(const ServerCurves& servers, double load, int most, const CurveRule& rule);

}  // namespace perjoule
