// The workload power profiles of a simulated Blackwell GPU: which there are, which exclude each
// other, and what each does to the chip. The ids are the vendor's; what a profile does inside a
// real GPU is not published, so the effects are assumptions of the twin's, kept small
// (docs/twin.md).
#pragma once

#include <cstdint>
#include <span>

namespace perjoule::twin {

struct PowerProfile {
  unsigned id = 0;
  unsigned priority = 0;        ///< 0 wins over 1 where two exclude each other
  std::uint32_t conflicts = 0;  ///< a bit an id
  double cap_share = 1;         ///< of the power limit
  double ceiling_share = 1;     ///< of the highest clock
};

std::span<const PowerProfile> power_profiles();
/// All ids there are, a bit each.
std::uint32_t supported_profiles();
/// Those of the requested ones that are in force: none that a more important one excludes.
std::uint32_t enforced_profiles(std::uint32_t requested);
/// The smallest shares among the profiles in force.
struct ProfileEffect {
  double cap_share = 1;
  double ceiling_share = 1;
};
ProfileEffect profile_effect(std::uint32_t requested);

}  // namespace perjoule::twin
