#include "fleet/profile/profile_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace perjoule {
namespace {

bool same_family(const ProfileCurve& a, const ProfileCurve& b) {
  return a.layout == b.layout && a.load_class == b.load_class;
}

bool same_curve(const ProfileCurve& a, const ProfileCurve& b) {
  return same_family(a, b) && a.clock_mhz == b.clock_mhz;
}

/// The loads that other clocks have and this curve lacks between its ends.
std::vector<double> holes_of(const ProfileCurve& curve, const std::vector<ProfileCurve>& curves) {
  std::set<double> others;
  for (const ProfileCurve& other : curves) {
    if (!same_family(curve, other)) continue;
    for (const ServingPoint& point : other.points) others.insert(point.load);
  }
  std::vector<double> holes;
  for (const double load : others) {
    if (at_load(curve, load).reach == Reach::kBetween) holes.push_back(load);
  }
  return holes;
}

}  // namespace

Outcome ProfileBuilder::add(ProfileRow row) {
  ProfileCurve alone = row.curve;
  alone.points = {row.point};
  ServingProfile single;
  single.curves.push_back(std::move(alone));
  if (const Outcome fine = check_profile(single); !fine) return fail(fine, row.where);
  auto at = std::find_if(curves_.begin(), curves_.end(),
                         [&](const ProfileCurve& curve) { return same_curve(curve, row.curve); });
  if (at == curves_.end()) {
    row.curve.points.clear();
    curves_.push_back(std::move(row.curve));
    places_.emplace_back();
    at = curves_.end() - 1;
  } else {
    at->status = less_certain(at->status, row.curve.status);
    if (at->origin.find(row.curve.origin) == std::string::npos)
      at->origin += " + " + row.curve.origin;
  }
  std::map<double, std::string>& places = places_[static_cast<std::size_t>(at - curves_.begin())];
  if (const auto first = places.find(row.point.load); first != places.end()) {
    return Error::invalid_argument(
        fmt::format("{}: {} at {:g} tokens/s stands there a second time; first: {}", row.where,
                    text_of(*at), row.point.load, first->second),
        "leave one of the two out");
  }
  places.emplace(row.point.load, std::move(row.where));
  at->points.push_back(row.point);
  return {};
}

Outcome ProfileBuilder::add(const ServingProfile& profile, std::string_view name) {
  for (const ProfileCurve& curve : profile.curves) {
    ProfileCurve without = curve;
    without.points.clear();
    for (const ServingPoint& point : curve.points)
      PJ_CHECK(add({without, point, std::string(name)}));
  }
  return {};
}

ServingProfile ProfileBuilder::finish() && {
  ServingProfile profile;
  profile.notes = std::move(notes_);
  profile.curves = std::move(curves_);
  for (ProfileCurve& curve : profile.curves) {
    std::sort(curve.points.begin(), curve.points.end(),
              [](const ServingPoint& a, const ServingPoint& b) { return a.load < b.load; });
  }
  for (const ProfileCurve& curve : profile.curves) {
    std::string loads;
    for (const double load : holes_of(curve, profile.curves))
      loads += fmt::format("{}{:g}", loads.empty() ? "" : ", ", load);
    if (loads.empty()) continue;
    profile.notes.push_back(
        fmt::format("{}: no point at {} tokens/s, which other clocks have: the line between its "
                    "neighbours stands in",
                    text_of(curve), loads));
  }
  return profile;
}

Result<ServingProfile> join_profiles(const std::vector<ServingProfile>& profiles) {
  ProfileBuilder builder;
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    PJ_CHECK(builder.add(profiles[i], fmt::format("profile {}", i + 1)));
    notes.insert(notes.end(), profiles[i].notes.begin(), profiles[i].notes.end());
  }
  ServingProfile joined = std::move(builder).finish();
  // A hole is told by the file's own reader already.
  for (std::string& note : joined.notes) {
    if (std::find(notes.begin(), notes.end(), note) == notes.end())
      notes.push_back(std::move(note));
  }
  joined.notes = std::move(notes);
  return joined;
}

}  // namespace perjoule
