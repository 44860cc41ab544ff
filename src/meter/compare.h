// Two measurements side by side: do they differ, by how much, and what kind of saving is it?
//
// The gain and offset errors of a sensor are the same in both and cancel, so that two runs can be
// told apart far below the uncertainty of either. Those of another machine's sensors are others.
// With an idle baseline the difference splits into static energy (less time spent waiting at idle
// power) and dynamic energy (less work done).
//
// Only like is held against like: of two runs that did not measure the same sources, those that
// both measured; other devices only where each has its counterpart of the same kind, boundary and
// status. Where nothing is common there is no answer, and the reason is given.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/energy.h"
#include "base/json.h"

namespace perjoule {

/// What a run says of itself, as far as a comparison needs it.
struct ComparedRun {
  std::string name;
  std::string host;  ///< whose sensors' errors are its own; empty where that is not told
  Seconds time;
  Energy total;
  std::vector<Energy> parts;            ///< what the total adds up, by source; may be unknown
  std::optional<Energy> static_energy;  ///< idle power over the run's time
  double units = 0;
  std::string unit;
};

/// That a run document is of the version this perjoule reads; not_supported where it is of another.
/// One that names no schema is let through.
Outcome check_run_schema(const Json& document, const std::string& name);

/// From a document perjoule.run.v1, or a perjoule.runs.v1 of one run. invalid_argument naming the
/// member that is missing.
Result<ComparedRun> compared_run(const Json& document, std::string name);

enum class Difference {
  kNone,  ///< within the uncertainty of the difference
  kLess,  ///< the second takes less
  kMore,
  kUnknown,  ///< unlike energies, a missing one, or a bound that leaves it open
};

struct Comparison {
  Energy first;  ///< what was compared: of the sources that both have, and per unit where counted
  Energy second;
  Energy change;                   ///< second minus first, shared errors cancelled
  double relative = 0;             ///< change over the first
  double relative_half_width = 0;  ///< k=2
  Difference verdict = Difference::kUnknown;
  std::optional<Energy> static_change;
  std::optional<Energy> dynamic_change;
  std::string kind;       ///< "less waiting", "less work", "both", or empty when it cannot be told
  double time_ratio = 1;  ///< second over first
  bool per_unit = false;  ///< both counted the same unit: figures are per unit
  std::string reason;     ///< why the verdict is unknown
  std::vector<std::string> notes;  ///< what was left out, and what differs between the two
};

Comparison compare(const ComparedRun& first, const ComparedRun& second);

}  // namespace perjoule
