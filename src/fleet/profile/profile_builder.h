// Curves out of rows that come in any order, from one file or several: what all readers of profiles
// share.
//
//   ProfileBuilder builder;
//   PJ_CHECK(builder.add({curve, point, "a.csv: line 2"}));
//   const ServingProfile profile = std::move(builder).finish();
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fleet/profile/serving_profile.h"

namespace perjoule {

/// A point and the curve that it lies on.
struct ProfileRow {
  ProfileCurve curve = {};  ///< without points
  ServingPoint point = {};
  std::string where = {};  ///< "a.csv: line 2", for messages
};

class ProfileBuilder {
 public:
  /// invalid_argument where the curve has a point at that load already, naming both places, and for
  /// a row that check_profile() would refuse.
  Outcome add(ProfileRow row);
  void note(std::string text) { notes_.push_back(std::move(text)); }
  /// All of another profile.
  Outcome add(const ServingProfile& profile, std::string_view name);

  /// The curves in the order they were begun, their points by load. A load that a curve lacks
  /// between its ends, and that another clock of the same layout and class has, is a hole: there it
  /// is the line between its neighbours (Reach::kBetween), and a note says so. Rows of unlike
  /// status make the curve's the one that is known least well; their origins are joined.
  /// O(points log points).
  ServingProfile finish() &&;

 private:
  std::vector<ProfileCurve> curves_;
  /// Of each curve: by load, where its point stands.
  std::vector<std::map<double, std::string>> places_;
  std::vector<std::string> notes_;
};

/// Several profiles as one. invalid_argument where two have the same point.
Result<ServingProfile> join_profiles(const std::vector<ServingProfile>& profiles);

}  // namespace perjoule
