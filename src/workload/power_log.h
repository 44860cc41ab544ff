// A course of power in absolute time, from a file that someone wrote beside a benchmark: what a
// result is joined with (bench_join.h).
//
//   PJ_TRY(const PowerLog log, read_power_log("power.csv", {}));
//
// What a file is, is told by what stands in it:
//
// | file | its stamps | a figure is |
// | `perjoule run --csv`: source,unix_s,time_s,power_w | unix time | the mean around it |
// | a power meter's log of MLPerf (PTDaemon's spl.txt): "Time,MM-DD-YYYY hh:mm:ss.mmm,Watts,..." |
// no zone | the mean since the one before | | nvidia-smi --query-gpu=timestamp,index,power.draw
// --format=csv | no zone | a point: the mean of the last second from Ampere on (but for GA100), of
// an instant before and of power.draw.instant | | any table with unix_s and watts or power_w, and a
// device or source if there are several | unix time | a point |
//
// Of our own table one source a device counts, as the boundary wants it: of a GPU its counter, else
// its gauge; of the node the first source of its own. A row whose power is no number ("[N/A]",
// "nan") is left out and counted. `dcgmi dmon` prints no time of day and cannot be joined.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/energy.h"
#include "base/result.h"
#include "base/units.h"

namespace perjoule {

struct LoggedPower {
  std::int64_t at_unix_ns = 0;
  Watts power;
};

/// How a sample speaks of the time beside it.
enum class PowerKind : std::uint8_t {
  kPoint,       ///< of that moment: a line leads to the next one
  kMeanBefore,  ///< the mean since the sample before
  kMeanAround,  ///< the mean from halfway to its neighbours
};

struct PowerSeries {
  std::string device;
  std::vector<LoggedPower> samples;  ///< in order of time, no two of one moment; not empty
};

struct PowerLog {
  std::string file;
  std::string format;  ///< "nvidia-smi"
  PowerKind kind = PowerKind::kPoint;
  std::optional<Boundary> boundary;  ///< none: the file does not say
  /// Most that a device's figures may be off by, relative, as its maker documents it.
  std::optional<double> gain;
  /// A sample's stamp may be that far from the time that it speaks of.
  Seconds known_within;
  std::vector<PowerSeries> devices;  ///< side by side: their powers add up; not empty
  std::vector<std::string> notes;
};

struct PowerLogOptions {
  /// What the local time of stamps without a zone was ahead of UTC; none: this machine's.
  std::optional<Seconds> utc_offset = {};
  /// What is asked for: chooses among the sources of our own table. None: the GPUs if it has any,
  /// else the node.
  std::optional<Boundary> boundary = {};
};

/// Fails as parse_power_log() does, and where the file cannot be read.
Result<PowerLog> read_power_log(const std::string& path, const PowerLogOptions& options);

/// `name` is for messages. invalid_argument on a text of no known format, a row that cannot be read
/// (naming the line) or time that goes back; not_found when there is no sample, or no source of the
/// boundary asked for. O(n log n) in the rows.
Result<PowerLog> parse_power_log(std::string_view text, std::string_view name,
                                 const PowerLogOptions& options);

}  // namespace perjoule
