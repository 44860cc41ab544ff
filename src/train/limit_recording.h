// What was measured under each power limit before, read from a file: a choice by any rule can be
// made on it without running anything.
//
//   PJ_TRY(const LimitRecording recording, read_limit_recording("profile.csv"));
//   PJ_TRY(const Frontier frontier, Frontier::make(recording.points));
//   PJ_TRY(const Choice choice, frontier.choose(recording.with_max_power(EtaCost{0.5})));
//
// Files that are read:
// - Zeus's measurement windows (CSV): window_name, which ends in "_300" for 300 W, elapsed_time
// (s),
//   and a column gpuN_energy (J) of each GPU. A window is what was done under each limit, the same
//   each time. Of a limit with several windows the mean is taken, and where they differ a note says
//   how many there were and how far apart. What else stands in their rows must be the same: windows
//   of unlike jobs have no mean.
// - perjoule.train-power-limit.v1 and perjoule.train-steps.v1, as `train power-limit --json` and
//   pj_steps_json give them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "frontier/rule.h"

namespace perjoule {

struct LimitRecording {
  std::string unit;           ///< of work that a point's figures are for: "window", "step"
  std::vector<Point> points;  ///< settings: "power limit", as "300 W"
  Watts max_power;            ///< the highest limit, summed over the GPUs
  std::vector<std::string> notes = {};  ///< what a reader must be told

  /// The rule; EtaCost that has no Pmax with the recording's, as when it was measured.
  Rule with_max_power(Rule rule) const;
};

Result<LimitRecording> read_limit_recording(const std::string& path);
/// The same from a text. `name` is for messages and the source of energies that name none.
/// invalid_argument for what is none of the above, naming line or element and what there should be.
Result<LimitRecording> parse_limit_recording(std::string_view text, std::string_view name);

}  // namespace perjoule
