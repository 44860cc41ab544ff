// One command under many settings: the points of a time-energy frontier, measured.
//
// An axis is a knob of the hardware (turned through the journal, put back afterwards), the number
// of processors the command may use, or any word of its command line and environment: "{batch}" in
// the arguments is replaced and the variable "batch" is set. Every combination is measured
// `repeats` times.
//
// With work units counted, what lies before the first report after `warm_up` is left out, so that a
// point is steady state; without, a point is the whole run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/config.h"
#include "device/discovery.h"
#include "device/journal.h"
#include "meter/command_run.h"

namespace perjoule {

struct SweepAxis {
  enum class Kind { kKnob, kProcessors, kParameter };
  Kind kind = Kind::kParameter;
  std::string name;  ///< "power limit", "clock", "processors", or the parameter's own name
  std::vector<std::string> values;
};

struct SweepOptions {
  std::vector<SweepAxis> axes;
  CommandOptions command;  ///< its spawn.arguments hold the {placeholders}
  int repeats = 1;
  bool random_order = false;  ///< against drift of temperature and of other users
  std::uint64_t seed = 1;
  Seconds warm_up;                   ///< of each run, not counted
  Seconds cool_down;                 ///< pause before each run
  std::vector<std::string> devices;  ///< ids of the devices whose knobs are turned; empty for all
  std::vector<Calibration> calibrations;
};

/// One run of the command.
struct SweepTrial {
  Config config;
  Seconds time;   ///< per unit where units were counted, else of the run
  Energy energy;  ///< likewise
  double units = 0;
  int exit_status = 0;
  std::vector<std::string>
      notes;  ///< the enforced limit where it is not the one asked for, and the measurement's own
};

struct SweepProgress {
  std::size_t done = 0;
  std::size_t total = 0;
  const SweepTrial& last;
};

struct SweepResult {
  std::vector<SweepTrial> trials;  ///< in the order they ran
  int signal = 0;    ///< the one that ended the sweep before its time; 0 when none did
  Outcome failed;    ///< what ended it before its time: a knob that refused, a meter that is gone
  Outcome restored;  ///< whether every knob is back where it was
};

/// All combinations of the axes, the first axis varying slowest.
std::vector<Config> combinations(const std::vector<SweepAxis>& axes);

/// "{name}" in each word replaced by the config's value. Unknown names are left alone.
std::vector<std::string> substitute(const std::vector<std::string>& words, const Config& config);

/// That no "{word}" of the command is a misspelt name of an axis; other braces are the command's
/// own. invalid_argument with the name that was probably meant.
Outcome check_placeholders(const std::vector<std::string>& words,
                           const std::vector<SweepAxis>& axes);

/// Runs the sweep; `watch` is told of each trial. A command that fails makes its trial's
/// exit_status, not an error; a signal ends the sweep after the present run, and a setting that
/// cannot be made ends it at once, both with what was measured so far. An error is one before
/// anything was measured.
Result<SweepResult> sweep(const Inventory& machine, const Clock& clock, KnobJournal& journal,
                          const SweepOptions& options,
                          const std::function<void(const SweepProgress&)>& watch);

/// One point a config: the mean of its successful trials, with their scatter as random uncertainty.
/// Trials that give only a lower bound count where there is no other, and the point is one then.
std::vector<Point> points_of(const SweepResult& result);

}  // namespace perjoule
