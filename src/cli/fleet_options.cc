#include "cli/fleet_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/table.h"
#include "fleet/plan/clock_choice.h"
#include "fleet/profile/profile_builder.h"
#include "fleet/profile/read_profile.h"

namespace perjoule::cli {
namespace {

/// An error that lists what there is where a name picks nothing, or nothing picks among several.
template <typename Name>
Outcome check_one(const ServingProfile& profile, std::string_view option, std::string_view what,
                  const Name& name) {
  std::vector<std::string> names;
  for (const ProfileCurve& curve : profile.curves) {
    const std::string one = name(curve);
    if (std::find(names.begin(), names.end(), one) == names.end()) names.push_back(one);
  }
  if (names.size() < 2) return {};
  std::string all;
  for (const std::string& one : names)
    all += (all.empty() ? "" : ", ") + (one.empty() ? std::string("(any)") : one);
  return Error::invalid_argument(fmt::format("the profile has several {}: {}", what, all),
                                 fmt::format("choose one: --{}", option));
}

}  // namespace

std::vector<Option> fleet_profile_options() {
  return {
      {"profile", "FILE",
       "what an instance draws and how late it is, by load: our table, one of BEAM's, or benchmark "
       "results",
       "", true},
      {"model", "NAME", "curves of this model"},
      {"gpu", "NAME", "curves of this GPU"},
      {"class", "NAME", "curves of this class of requests"},
  };
}

Result<ServingProfile> fleet_profile(const Arguments& arguments) {
  const std::vector<std::string> files = arguments.values("profile");
  if (files.empty()) {
    return Error::invalid_argument("--profile is missing",
                                   "name a profile; perjoule fleet profile makes one");
  }
  std::vector<ServingProfile> profiles;
  for (const std::string& file : files) {
    PJ_TRY(ServingProfile profile, read_serving_profile(file, {}));
    profiles.push_back(std::move(profile));
  }
  PJ_TRY(const ServingProfile all, join_profiles(profiles));
  ServingProfile chosen = select_curves(all, arguments.value("model"), arguments.value("gpu"),
                                        arguments.value("class"));
  if (chosen.curves.empty()) {
    std::string known;
    for (const ProfileCurve& curve : all.curves) {
      const std::string one = curve.layout.model + " on " + curve.layout.gpu;
      if (known.find(one) == std::string::npos) known += (known.empty() ? "" : ", ") + one;
    }
    return Error::not_found("no curve of the profile has these names", "it has " + known);
  }
  PJ_CHECK(check_one(chosen, "model", "models",
                     [](const ProfileCurve& curve) { return curve.layout.model; }));
  return chosen;
}

Outcome check_one_class(const ServingProfile& profile) {
  return check_one(profile, "class", "classes of requests",
                   [](const ProfileCurve& curve) { return curve.load_class; });
}

std::vector<Option> latency_options() {
  return {
      {"ttft", "TIME", "time to first token at most", "2s"},
      {"tbt", "TIME", "time between tokens at most", "100ms"},
      {"statistic", "mean|tail", "of which: means, or P99 of TTFT and P90 of TBT", "mean"},
  };
}

Result<LatencyTarget> latency_target(const Arguments& arguments) {
  LatencyTarget target;
  for (const auto& [option, bound] : {std::pair{"ttft", &target.ttft}, {"tbt", &target.tbt}}) {
    PJ_TRY(const auto most, arguments.read<Seconds>(option, parse_seconds));
    if (!most || !(most->value() > 0)) {
      return Error::invalid_argument(
          fmt::format("--{} {}: not above 0", option, arguments.value(option)));
    }
    bound->most = *most;
  }
  const std::string statistic = arguments.value("statistic");
  if (statistic == "tail") {
    target.ttft.statistic = LatencyStatistic::kP99;
    target.tbt.statistic = LatencyStatistic::kP90;
  } else if (statistic != "mean") {
    return Error::invalid_argument("--statistic " + statistic + ": mean or tail is wanted");
  }
  return target;
}

std::string text_of(const LatencyTarget& target) {
  return fmt::format("{} TTFT at most {}, {} TBT at most {}", name_of(target.ttft.statistic),
                     to_text(target.ttft.most), name_of(target.tbt.statistic),
                     to_text(target.tbt.most));
}

Json json_of(const LatencyTarget& target) {
  Json json = Json::object();
  json["ttft_s"] = target.ttft.most.value();
  json["ttft_statistic"] = name_of(target.ttft.statistic);
  json["tbt_s"] = target.tbt.most.value();
  json["tbt_statistic"] = name_of(target.tbt.statistic);
  return json;
}

std::vector<std::string> origins_of(const ServingProfile& profile) {
  std::vector<std::string> origins;
  for (const ProfileCurve& curve : profile.curves) {
    const std::string origin = fmt::format("{} ({})", curve.origin, name_of(curve.status));
    if (std::find(origins.begin(), origins.end(), origin) == origins.end())
      origins.push_back(origin);
  }
  return origins;
}

std::string profile_footer(const ServingProfile& profile) {
  std::string text;
  for (const std::string& origin : origins_of(profile))
    text += "origin: " + printable(origin) + "\n";
  for (const std::string& note : profile.notes) text += "note: " + printable(note) + "\n";
  return text;
}

Json json_of_texts(const std::vector<std::string>& texts) {
  Json json = Json::array();
  for (const std::string& text : texts) json.push_back(text);
  return json;
}

}  // namespace perjoule::cli
