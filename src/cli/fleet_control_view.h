// What perjoule fleet control prints: what it begins with, a line an event, and how it ended; for
// readers of JSON a document a line (perjoule.fleet-control.v1).
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "cli/fleet_control_file.h"
#include "fleet/hands/controlled_profile.h"
#include "fleet/hands/fleet_loop.h"

namespace perjoule::cli {

struct FleetControlView {
  const FleetControlFile& file;
  const ControlledProfile& ready;
  const std::vector<double>& clocks_mhz;
  Watts idle_gpu;
  bool is_dry = false;
  const LoadHistory* history = nullptr;  ///< where there is one
  std::vector<std::string> notes = {};
};

/// In a dry run with the commands that each server's deeds stand for.
std::string control_heading(const FleetControlView& view);
Json control_heading_json(const FleetControlView& view);

/// "    5 s  clock n1-0: 1980 MHz -> 1200 MHz: done (load 120/s, ...)".
std::string event_line(const FleetEvent& event);
Json event_json(const FleetEvent& event);
/// Loads of the pools that have servers, at every period; JSON only, as it would hide the
/// decisions.
Json period_json(const FleetControlView& view, Seconds now, const FleetLoop& loop);

/// How many decisions of each kind were carried out, and what failed.
class FleetTally {
 public:
  void add(const FleetEvent& event);
  std::string text(Seconds duration) const;
  Json json(Seconds duration, bool clocks_are_back, int signal) const;

 private:
  int clocks_ = 0;
  int starts_ = 0;
  int stops_ = 0;
  int reshards_ = 0;
  int failed_ = 0;
};

}  // namespace perjoule::cli
