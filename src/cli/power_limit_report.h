// What a search for a power limit came to, as text for people and as
// perjoule.train-power-limit.v1.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "frontier/frontier.h"
#include "train/activity_tuner.h"

namespace perjoule::cli {

struct PowerLimitAnswer {
  Rule rule;
  Watts max_power = Watts(0);                ///< the highest limit tried, summed over the GPUs
  std::optional<std::string> recorded = {};  ///< the file that was read in place of a run
  std::vector<Point> points = {};
  std::optional<Choice> choice = {};
  /// Why a limit could not be set, and what became of the others.
  std::optional<Error> failure = {};
  int repeats = 0;
  int stalls = 0;  ///< left out
  std::vector<std::string> notes = {};
  bool per_gpu = false;
  std::vector<std::pair<std::string, Watts>> chosen = {};  ///< of each GPU
  std::string unit = "step";
  double steps = 0;
  /// Of steps reckoned from activity: the rhythm of each point, and why there is none (any more).
  std::vector<ActivityPeriod> periods = {};
  std::string no_rhythm = {};
  int exit_status = 0;  ///< the command's

  bool settled() const { return choice && !failure; }
};

Json power_limit_json(const PowerLimitAnswer& answer);
void show_power_limit(const PowerLimitAnswer& answer);

}  // namespace perjoule::cli
