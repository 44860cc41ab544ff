// The options of `perjoule leaderboard`, read into what src/serving asks for.
#pragma once

#include <string>
#include <vector>

#include "cli/verb.h"
#include "serving/board/leaderboard.h"
#include "serving/board/result_filter.h"

namespace perjoule::cli {

std::vector<Option> leaderboard_options();

struct LeaderboardWords {
  ResultFilter filter;
  BoardQuery query;
};

Result<LeaderboardWords> leaderboard_words(const Arguments& arguments);

}  // namespace perjoule::cli
