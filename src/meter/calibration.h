// A sensor's gain and offset against an external meter: what is left of its error afterwards, and
// by how much its readings are corrected.
//
// The external meter's power is fitted as scale * reading + shift by least squares, with the lag
// between the two clocks that leaves the smallest residual. Afterwards a window's energy is scale *
// E + shift * T, and its gain error is that of the fit and of the meter itself, not the vendor's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "device/source.h"

namespace perjoule {

struct PowerSample {
  double unix_s = 0;
  double watts = 0;
};

struct Calibration {
  std::string source;
  double scale = 1;
  Watts shift;
  double scale_sigma = 0;  ///< one sigma, the meter's own accuracy included
  Watts mean_sigma;        ///< one sigma of the fit at its mean power
  Watts mean_reading;
  Watts residual;  ///< standard deviation about the fit
  Seconds lag;     ///< the meter's clock is that much behind
  std::size_t samples = 0;
  Watts lowest;  ///< range of readings it was fitted on
  Watts highest;
};

/// Fits a source's course to an external meter's samples. `meter_accuracy` is the meter's own
/// relative half-width. Lags up to `most_lag` either way are tried. invalid_argument with fewer
/// than 8 meter samples inside the course, where either of them shows constant power (the gain
/// cannot be told), and where the meter falls as the reading rises or does not follow it.
/// O(lags * samples * log).
Result<Calibration> fit_calibration(const std::string& source, std::vector<PowerSample> course,
                                    std::vector<PowerSample> meter, double meter_accuracy,
                                    Seconds most_lag = Seconds(3));

/// That the fit narrows what is known of the source: its error at its mean reading lies below the
/// one that the source states of itself. invalid_argument with both where it does not. A source
/// that states none is asked for an error below its whole reading.
Outcome check_narrower(const Calibration& calibration, const SourceInfo& source);

/// That the fit does not contradict what the source states of its gain. invalid_argument where it
/// is out of all reason (more than twice or less than half, which a unit explains), a warning where
/// it is off by several times the stated gain, nothing where it is not or where none is stated.
Result<std::optional<std::string>> check_stated_gain(const Calibration& calibration,
                                                     const SourceInfo& source);

/// The source as it is after calibration: corrected, with the narrower error.
SourceInfo calibrated(SourceInfo info, const Calibration& calibration);

Json to_json(const Calibration& calibration);
Result<Calibration> calibration_from_json(const Json& json);

/// state_folder()/calibration.json.
std::string calibration_path();
/// What was kept; empty when there is no file.
Result<std::vector<Calibration>> load_calibrations(const std::string& path);
/// Keeps one, replacing that source's earlier one.
Outcome save_calibration(const std::string& path, const Calibration& calibration);

}  // namespace perjoule
