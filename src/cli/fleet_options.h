// Words that the fleet verbs share: the profile they plan with, and the latencies to keep.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "cli/verb.h"
#include "fleet/profile/serving_profile.h"

namespace perjoule::cli {

/// --profile, --model, --gpu and --class.
std::vector<Option> fleet_profile_options();
/// The curves they name, of one model; notes of the readers in it.
Result<ServingProfile> fleet_profile(const Arguments& arguments);
/// invalid_argument, naming them, where its curves are of several classes of requests.
Outcome check_one_class(const ServingProfile& profile);

/// --ttft, --tbt and --statistic.
std::vector<Option> latency_options();
Result<LatencyTarget> latency_target(const Arguments& arguments);

/// "TTFT 2 s, TBT 100 ms (mean)".
std::string text_of(const LatencyTarget& target);
Json json_of(const LatencyTarget& target);

/// All origins of the profile's curves, each once.
std::vector<std::string> origins_of(const ServingProfile& profile);
/// What stands below every table: origins and notes of the profile, a line each.
std::string profile_footer(const ServingProfile& profile);
Json json_of_texts(const std::vector<std::string>& texts);

}  // namespace perjoule::cli
