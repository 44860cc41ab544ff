// One way in for every kind of serving profile: what a file is, is told by what stands in it.
//
//   PJ_TRY(const ServingProfile profile, read_serving_profile("llama70b.csv", {}));
#pragma once

#include <string>

#include "fleet/profile/beam_profile.h"
#include "fleet/profile/bench_profile.h"
#include "fleet/profile/serving_profile.h"

namespace perjoule {

struct ProfileReadOptions {
  BeamNames names = {};            ///< for BEAM's tables
  BenchProfileOptions bench = {};  ///< for benchmark results
};

/// A table of our own (profile_table.h), one of BEAM's (beam_profile.h), or benchmark results and
/// folders of them (bench_profile.h). invalid_argument for what is none of these, or malformed.
Result<ServingProfile> read_serving_profile(const std::string& path,
                                            const ProfileReadOptions& options);

}  // namespace perjoule
