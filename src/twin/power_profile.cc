#include "twin/power_profile.h"

#include <algorithm>
#include <array>

#include "device/nvml_abi.h"

namespace perjoule::twin {
namespace {

constexpr std::uint32_t bit(unsigned id) { return 1U << id; }

using namespace nvml;  // NOLINT: the profiles' ids

// Assumed: Max-Q gives up a seventh of the limit; profiles of work that waits for memory give up
// clock, which such work does not need. Ordered by priority.
constexpr std::array<PowerProfile, 7> kProfiles = {{
    {kProfileMaxP, 0, bit(kProfileMaxQ), 1.0, 1.0},
    {kProfileMaxQ, 1, bit(kProfileMaxP), 0.86, 1.0},
    {kProfileCompute, 2, bit(kProfileMemoryBound) | bit(kProfileBalanced), 1.0, 1.0},
    {kProfileMemoryBound, 3, bit(kProfileCompute) | bit(kProfileBalanced), 1.0, 0.80},
    {kProfileBalanced, 4, bit(kProfileCompute) | bit(kProfileMemoryBound), 0.95, 0.95},
    {kProfileLlmInference, 5, bit(kProfileLlmTraining), 1.0, 0.85},
    {kProfileLlmTraining, 6, bit(kProfileLlmInference), 0.93, 1.0},
}};

}  // namespace

std::span<const PowerProfile> power_profiles() { return kProfiles; }

std::uint32_t supported_profiles() {
  std::uint32_t mask = 0;
  for (const PowerProfile& profile : kProfiles) mask |= bit(profile.id);
  return mask;
}

std::uint32_t enforced_profiles(std::uint32_t requested) {
  std::uint32_t enforced = 0;
  for (const PowerProfile& profile : kProfiles) {
    if ((requested & bit(profile.id)) != 0 && (enforced & profile.conflicts) == 0)
      enforced |= bit(profile.id);
  }
  return enforced;
}

ProfileEffect profile_effect(std::uint32_t requested) {
  ProfileEffect effect;
  const std::uint32_t enforced = enforced_profiles(requested);
  for (const PowerProfile& profile : kProfiles) {
    if ((enforced & bit(profile.id)) == 0) continue;
    effect.cap_share = std::min(effect.cap_share, profile.cap_share);
    effect.ceiling_share = std::min(effect.ceiling_share, profile.ceiling_share);
  }
  return effect;
}

}  // namespace perjoule::twin
