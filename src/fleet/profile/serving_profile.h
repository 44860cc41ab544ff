// What an instance of a model draws, and how late its tokens are, by the load it carries: curves by
// layout, clock and class of requests, each of measured (or simulated) points.
//
//   PJ_TRY(const ServingProfile profile, read_serving_profile("llama70b.csv"));
//   for (const ProfileCurve& curve : profile.curves) {
//     const Operating there = at_load(curve, 1800);        // prompt tokens a second
//     if (there.reach != Reach::kBeyond && meets(there.point, target)) ...
//   }
//
// Between two points all figures lie on the straight line between them. Below the first they are
// held at the first's, as an idle engine still draws and answers; beyond the last there is no
// answer. Which of these it was is said with every answer: nothing is extrapolated silently.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/energy.h"
#include "base/result.h"
#include "base/units.h"

namespace perjoule {

/// Of two that a figure is made of, the one that is known less well: measured, reconstructed,
/// estimated, simulated, from the best on.
Status less_certain(Status a, Status b);

/// What an instance is made of; it has as many GPUs as its two degrees multiply to.
struct InstanceLayout {
  std::string model = {};
  std::string gpu = {};
  int tensor_parallel = 1;
  int pipeline_parallel = 1;

  int gpus() const { return tensor_parallel * pipeline_parallel; }
  bool operator==(const InstanceLayout&) const = default;
};
/// "tp4", "tp2 pp4".
std::string text_of(const InstanceLayout& layout);

enum class LatencyStatistic : std::uint8_t { kMean, kP90, kP99 };
inline constexpr std::size_t kLatencyStatistics = 3;
/// "mean", "p90", "p99".
std::string_view name_of(LatencyStatistic statistic);

/// A latency by its statistics; NaN where one is not known.
class LatencyFigures {
 public:
  LatencyFigures();  ///< none known
  Seconds& operator[](LatencyStatistic statistic) {
    return values_[static_cast<std::size_t>(statistic)];
  }
  Seconds operator[](LatencyStatistic statistic) const {
    return values_[static_cast<std::size_t>(statistic)];
  }

 private:
  std::array<Seconds, kLatencyStatistics> values_;
};

/// An instance under one load.
struct ServingPoint {
  double load = 0;           ///< prompt tokens a second that are offered to it
  Watts power = {};          ///< mean, of all its GPUs
  LatencyFigures ttft = {};  ///< time to first token
  LatencyFigures tbt = {};   ///< time between tokens
  /// Share of requests that met what was promised to their class, where it was counted; else NaN.
  double attainment = std::numeric_limits<double>::quiet_NaN();
};

/// An instance at one clock under requests of one class.
struct ProfileCurve {
  InstanceLayout layout = {};
  double clock_mhz = 0;
  std::string load_class = {};            ///< "MM"; empty: of any
  std::vector<ServingPoint> points = {};  ///< by rising load, at least one
  Status status = Status::kReconstructed;
  std::string origin = {};  ///< "BEAM artifact 0febb08, measured", printed with every result
};

/// "Llama-3.3-70B on A100 tp4 pp2 at 1400 MHz, MM": for messages.
std::string text_of(const ProfileCurve& curve);

struct ServingProfile {
  std::vector<ProfileCurve> curves = {};
  /// What a reader should know: holes that were bridged, rows that were left out and why.
  std::vector<std::string> notes = {};
};
/// Whether planning may trust it: invalid_argument, naming the curve, for one without points, loads
/// that do not rise or are no numbers, a power that is none or not above 0, a latency below 0.
/// Readers give no other; a profile put together by hand may be one. O(points).
Outcome check_profile(const ServingProfile& profile);

/// How a figure came about.
enum class Reach : std::uint8_t { kMeasured, kBetween, kHeld, kBeyond };
std::string_view name_of(Reach reach);

struct Operating {
  ServingPoint point = {};  ///< at the load asked for; of no meaning when beyond
  Reach reach = Reach::kBeyond;
};
/// O(log points). `load` is finite and not below 0.
Operating at_load(const ProfileCurve& curve, double load);

/// What a latency may be at most, by one statistic of it.
struct LatencyBound {
  LatencyStatistic statistic = LatencyStatistic::kMean;
  Seconds most = {};
};

/// The service level objective of a class: two bounds, or, where requests of several classes
/// share an instance, the share of them that must meet their own.
struct LatencyTarget {
  LatencyBound ttft = {};
  LatencyBound tbt = {};
  double least_attainment = 0;  ///< above 0: this instead of the bounds
};
/// False, too, where the statistic is not known.
bool meets(const ServingPoint& point, const LatencyTarget& target);

}  // namespace perjoule
