// One counter or one gauge of a device: what it is, how well it can be believed, and its present
// value.
//
// Every quirk that the meter must reckon with is a field of SourceInfo, so that the arithmetic of a
// window is the same for a RAPL zone, a GPU's energy counter and a BMC's power gauge. Values are
// whole micro-units (microjoules, microwatts): exact differences on counters that run for years.
//
//   Reading now = source.read();
//   if (now.code == ErrorCode::kOk) total = unwrap(now.micro);
//   else complain(source.problem(now.code));
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/energy.h"
#include "base/result.h"
#include "base/units.h"

namespace perjoule {

enum class SourceKind {
  kEnergyCounter,  ///< accumulated energy; windows take a difference
  kPowerGauge,     ///< present or averaged power; windows integrate samples
};

struct SourceInfo {
  std::string id;       ///< "cpu:0/package", "gpu:GPU-8f2c...", "node/dcmi"
  std::string device;   ///< id of the device it belongs to: "cpu:0"
  std::string backend;  ///< who answers: "powercap", "perf", "nvml", "hwmon", "estimator"
  std::string scope;    ///< what the vendor says it covers: "package", "dram", "board", "module"
  SourceKind kind = SourceKind::kEnergyCounter;
  Boundary boundary = Boundary::kDevice;
  Status status = Status::kMeasured;

  Seconds tick;           ///< the value changes no more often than this
  Seconds averaging;      ///< window a gauge averages over; 0 for an instantaneous one
  double coverage = 1;    ///< share of time the sensor looks at (A100: a quarter)
  double quantum = 1e-6;  ///< smallest step of the value, in J or W
  double gain = 0;        ///< half-width of the relative gain error
  Watts offset;           ///< half-width of the constant error
  double scale = 1;       ///< of a calibration: true power is scale * value + shift
  Watts shift;
  Watts max_power{1e5};  ///< no real value of this device lies above; tells a wrap from a reset
  std::uint64_t modulus_micro =
      0;  ///< the counter starts again from 0 at this value; 0 for a 64-bit counter

  /// A counter must be read this often for its total to stay right, beyond what the modulus asks
  /// for; 0 when nothing is lost by waiting.
  Seconds upkeep;

  /// Id of a source that covers some of the same joules (core lies within package, psys contains
  /// it, a gauge repeats its counter); empty for the one to add up. Sources that overlap another
  /// are shown, never summed.
  std::string overlaps;
};

/// A value, or why there is none. Carried by value: the sampling path neither throws nor allocates.
struct Reading {
  ErrorCode code = ErrorCode::kUnavailable;
  std::uint64_t micro = 0;  ///< microjoules or microwatts
};

/// The powers between which a model's answer lies.
struct PowerInterval {
  Watts low;
  Watts high;
};

class Source {
 public:
  virtual ~Source() = default;
  virtual const SourceInfo& info() const noexcept = 0;
  /// The present value. Never allocates; may take as long as the driver takes.
  virtual Reading read() noexcept = 0;
  /// Whether the device did work in its last utilisation period, 0 to 1; negative when it cannot
  /// tell.
  virtual double busy() noexcept { return -1; }
  /// For a source that is a model: the interval that covers the true mean power when it says
  /// `mean`.
  virtual std::optional<PowerInterval> interval(Watts mean) const {
    (void)mean;
    return std::nullopt;
  }
};

}  // namespace perjoule
