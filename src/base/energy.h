// The no-naked-number type: an energy never travels without its uncertainty, source, boundary and
// grade.
//
// Uncertainty is kept in two kinds, because they add differently. The random part (tick edges,
// sampling noise) of two figures is independent and adds in quadrature. A systematic part (the gain
// and offset error of one sensor) is the same error in every figure of that sensor and adds
// linearly; in a comparison of two runs on the same sensor it largely cancels.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace perjoule {

/// What lies inside the measured border (codes as in the accounting reports).
enum class Boundary : std::uint8_t {
  kDevice,     ///< B0: one accelerator board, CPU package or memory
  kNode,       ///< B1: B0 + CPU + DRAM + NIC + fans + power-supply loss
  kCluster,    ///< B2: all nodes + switches + storage
  kFacility,   ///< B3: B2 + cooling, UPS, lighting
  kLifecycle,  ///< B4: B3 + embodied share
};

/// Where a number comes from; measured, modelled, missing and zero are different states.
enum class Status : std::uint8_t {
  kMeasured,       ///< read from hardware
  kSimulated,      ///< read from the twin
  kEstimated,      ///< a model's answer, such as energy from CPU time
  kReconstructed,  ///< put together from recorded or published figures
  kMissing,        ///< should be there and is not; the value means nothing
  kZero,           ///< known to be nothing, e.g. a source that does not exist in this configuration
};

/// Any number of statuses.
class StatusSet {
 public:
  constexpr void add(Status status) {
    bits_ = static_cast<std::uint8_t>(bits_ | 1U << static_cast<unsigned>(status));
  }
  constexpr void add(StatusSet other) { bits_ = static_cast<std::uint8_t>(bits_ | other.bits_); }
  constexpr void remove(Status status) {
    bits_ = static_cast<std::uint8_t>(bits_ & ~(1U << static_cast<unsigned>(status)));
  }
  constexpr bool contains(Status status) const {
    return (bits_ >> static_cast<unsigned>(status) & 1U) != 0;
  }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool operator==(const StatusSet&) const = default;

 private:
  std::uint8_t bits_ = 0;  ///< bit n for the n-th Status
};

/// A < 2 %, B < 5 %, C < 15 % expanded relative uncertainty; D worse, a bound, or not measured.
enum class Grade { kA, kB, kC, kD };

std::string_view name_of(Boundary boundary);  ///< "B0" ... "B4"
std::string_view name_of(Status status);      ///< "measured", "simulated", ...
std::string_view name_of(Grade grade);        ///< "A" ... "D"

/// One fully correlated error, named by the sensor that makes it ("gpu:GPU-1/gain"); one sigma,
/// signed.
struct SystematicPart {
  std::string sensor;
  Joules sigma;
};

struct Energy {
  Joules joules;
  Joules random;                           ///< one sigma, independent of every other figure
  std::vector<SystematicPart> systematic;  ///< one entry a sensor error, sorted by sensor
  Joules lower{
      -std::numeric_limits<double>::infinity()};  ///< hard bounds, where physics gives them
  Joules upper{std::numeric_limits<double>::infinity()};
  std::string source;  ///< ids joined by " + "
  Boundary boundary = Boundary::kDevice;
  Status status = Status::kMissing;  ///< of a sum: the least certain of its parts'
  StatusSet mixed_with;              ///< of a sum: the other statuses that are in it
  /// The figure is known on one side only: part of what was drawn went unseen, so that the truth is
  /// this much or any amount more. No plus-minus says that; nothing may be chosen by such a figure.
  bool lower_bound = false;
  bool upper_bound = false;  ///< this much or less: what a lower bound was taken off from

  /// What a reader is told: "measured", or of a sum of unlike parts all of theirs, "simulated +
  /// estimated". A missing part makes the whole "missing".
  std::string status_text() const;
  /// Takes status and mixed_with from what status_text() wrote; false, and nothing taken, when the
  /// text is none.
  bool set_status(std::string_view text);

  /// One sigma of everything together.
  Joules standard_uncertainty() const;
  /// The figure printed behind the plus-minus sign: two sigma (k=2).
  Joules expanded_uncertainty() const;
  Grade grade() const;
  /// Whether it is a bound and not a figure: lower, upper or, as a difference of two, neither.
  bool one_sided() const { return lower_bound || upper_bound; }

  /// Tells sensors of one host from those of the same name on another ("n1/cpu:0/package/gain"),
  /// whose errors are none of theirs. A device's UUID does so by itself.
  void name_sensors_of(std::string_view host);

  static Energy missing(std::string source, Boundary boundary = Boundary::kDevice);
};

/// Sum of two energies: same-sensor parts linearly, independent parts in quadrature. The status is
/// the less certain of the two with the other one kept beside it, so that nothing unlike is added
/// up unseen; a missing part makes the sum missing, a lower bound in it makes it a lower bound.
Energy operator+(const Energy& a, const Energy& b);

/// a - b with its uncertainty: what both share (one sensor's gain) cancels. Not for energies of
/// nested domains of one counter; for two windows of the same sensors. Less a lower bound it is an
/// upper bound.
Energy operator-(const Energy& a, const Energy& b);

/// An exact multiple, such as a per-step share.
Energy operator*(const Energy& a, double factor);
inline Energy operator/(const Energy& a, double divisor) { return a * (1.0 / divisor); }

}  // namespace perjoule
