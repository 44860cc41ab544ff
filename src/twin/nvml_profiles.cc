// Workload power profiles (drivers from 560, Blackwell). Arguments are looked at before the device
// is: null, then the version, then whether this chip has profiles at all, as the vendor's does.
#include "twin/nvml_session.h"
#include "twin/power_profile.h"

namespace nvml = perjoule::nvml;
using namespace perjoule::twin;           // NOLINT: the exported C names live outside
using namespace perjoule::twin::standin;  // NOLINT

namespace {

nvml::ProfileMask mask_of(std::uint32_t bits) { return {{bits}}; }

/// A call on a chip that has profiles.
template <typename Struct, typename Body>
Return profile_call(const char* name, Device device, Struct* argument, std::uint32_t version,
                    Body body) {
  if (argument == nullptr) return nvml::kInvalidArgument;
  if (argument->version != version) return nvml::kArgumentVersionMismatch;
  return device_call(name, device, [&](const Call& call) {
    return call.device.support.power_profiles ? body(call) : nvml::kNotSupported;
  });
}

/// Changes the requested profiles by a mask the caller gives.
template <typename Change>
Return change_requested(const char* name, Device device, nvml::RequestedProfiles* given,
                        Change change) {
  return profile_call(name, device, given, nvml::kRequestedProfilesVersion, [&](const Call& call) {
    if (const Return may = call.may_set(); may != nvml::kSuccess) return may;
    const std::uint32_t bits = given->requested.words[0];
    bool known = (bits & ~supported_profiles()) == 0;
    for (int i = 1; i < 8; ++i) known &= given->requested.words[i] == 0;
    if (!known) return nvml::kInvalidArgument;
    catch_up(call.block, call.device, Until::kNow);
    call.device.requested_profiles = change(call.device.requested_profiles, bits);
    return nvml::kSuccess;
  });
}

}  // namespace

PJ_NVML nvmlDeviceWorkloadPowerProfileGetProfilesInfo(Device device, nvml::ProfilesInfo* info) {
  return profile_call(__func__, device, info, nvml::kProfilesInfoVersion, [&](const Call&) {
    info->supported = mask_of(supported_profiles());
    for (const PowerProfile& profile : power_profiles()) {
      info->profiles[profile.id] = {nvml::kProfileInfoVersion, profile.id, profile.priority,
                                    mask_of(profile.conflicts)};
    }
    return nvml::kSuccess;
  });
}

PJ_NVML nvmlDeviceWorkloadPowerProfileGetCurrentProfiles(Device device,
                                                         nvml::CurrentProfiles* current) {
  return profile_call(__func__, device, current, nvml::kCurrentProfilesVersion,
                      [&](const Call& call) {
                        const std::uint32_t requested = call.device.requested_profiles;
                        current->supported = mask_of(supported_profiles());
                        current->requested = mask_of(requested);
                        current->enforced = mask_of(enforced_profiles(requested));
                        return nvml::kSuccess;
                      });
}

// What is requested is added to what was, as the later "set and overwrite" beside "set" tells.
PJ_NVML nvmlDeviceWorkloadPowerProfileSetRequestedProfiles(Device device,
                                                           nvml::RequestedProfiles* added) {
  return change_requested(__func__, device, added,
                          [](std::uint32_t before, std::uint32_t bits) { return before | bits; });
}
PJ_NVML nvmlDeviceWorkloadPowerProfileClearRequestedProfiles(Device device,
                                                             nvml::RequestedProfiles* cleared) {
  return change_requested(__func__, device, cleared,
                          [](std::uint32_t before, std::uint32_t bits) { return before & ~bits; });
}
