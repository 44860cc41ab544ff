// How a frontier and a choice on it are shown: as text for people and as perjoule.frontier.v1.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "frontier/frontier.h"

namespace perjoule::cli {

struct FrontierView {
  const Frontier& frontier;
  const Choice& choice;
  Config key = {};                 ///< of the group; empty when there is one
  std::string unit = {};           ///< of work: "token"; may be empty
  std::string time_name = "time";  ///< what the file calls it
  std::string energy_name = "energy";
  std::vector<std::string> files = {};  ///< that the points came from, by Point::file
  bool all = false;                     ///< dominated points too
  bool plot = false;
  std::optional<Point> between = {};  ///< an interpolated point that just meets the deadline
};

/// Table, plot where asked for, and the recommendation with what it saves.
std::string frontier_text(const FrontierView& view);
/// One group of the document: key, frontier, choice or nearest miss.
Json frontier_json(const FrontierView& view);

}  // namespace perjoule::cli
