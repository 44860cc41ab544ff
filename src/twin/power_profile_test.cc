// Workload power profiles: their arbitration, and the vendor's calls by the ABI alone.
#include "twin/power_profile.h"

#include "twin/standin_client.h"

namespace perjoule::twin {
namespace {
using namespace literals;

TEST(PowerProfiles, AMoreImportantOneExcludesThoseItConflictsWith) {
  const std::uint32_t max_p = 1U << nvml::kProfileMaxP;
  const std::uint32_t max_q = 1U << nvml::kProfileMaxQ;
  const std::uint32_t training = 1U << nvml::kProfileLlmTraining;
  EXPECT_EQ(enforced_profiles(0), 0U);
  EXPECT_EQ(enforced_profiles(max_q | training), max_q | training);
  EXPECT_EQ(enforced_profiles(max_p | max_q), max_p);
  EXPECT_DOUBLE_EQ(profile_effect(0).cap_share, 1);
  EXPECT_DOUBLE_EQ(profile_effect(max_p | max_q).cap_share, 1);
  EXPECT_LT(profile_effect(max_q).cap_share, 1);
}

TEST(PowerProfiles, ConflictsAreMutual) {
  for (const PowerProfile& one : power_profiles()) {
    for (const PowerProfile& other : power_profiles()) {
      EXPECT_EQ(one.conflicts >> other.id & 1U, other.conflicts >> one.id & 1U)
          << one.id << " " << other.id;
    }
  }
}

class ProfileCalls : public StandinTest {
 protected:
  int request(nvml::Device gpu, unsigned bits, const char* verb = "Set") {
    nvml::RequestedProfiles asked{nvml::kRequestedProfilesVersion, {{bits}}};
    const std::string name =
        std::string("nvmlDeviceWorkloadPowerProfile") + verb + "RequestedProfiles";
    return call(name.c_str(), gpu, &asked);
  }
  nvml::CurrentProfiles current(nvml::Device gpu) {
    nvml::CurrentProfiles now{};
    now.version = nvml::kCurrentProfilesVersion;
    EXPECT_EQ(call("nvmlDeviceWorkloadPowerProfileGetCurrentProfiles", gpu, &now), nvml::kSuccess);
    return now;
  }
};

TEST_F(ProfileCalls, BlackwellListsRequestsAndClears) {
  start({"gb300"});
  const nvml::Device gpu = device();
  auto info = std::make_unique<nvml::ProfilesInfo>();
  info->version = nvml::kProfilesInfoVersion;
  ASSERT_EQ(call("nvmlDeviceWorkloadPowerProfileGetProfilesInfo", gpu, info.get()), nvml::kSuccess);
  EXPECT_EQ(info->supported.words[0], supported_profiles());
  EXPECT_EQ(info->profiles[1].version, 0x0100002cU);
  EXPECT_EQ(info->profiles[1].id, 1U);
  EXPECT_EQ(info->profiles[1].conflicts.words[0], 1U);
  EXPECT_EQ(current(gpu).requested.words[0], 0U);
  EXPECT_EQ(request(gpu, 0b10), nvml::kSuccess);
  EXPECT_EQ(request(gpu, 0b01), nvml::kSuccess);  // added to the other
  EXPECT_EQ(current(gpu).requested.words[0], 0b11U);
  EXPECT_EQ(current(gpu).enforced.words[0], 0b01U);
  EXPECT_EQ(request(gpu, 0b01, "Clear"), nvml::kSuccess);
  EXPECT_EQ(current(gpu).enforced.words[0], 0b10U);
}

TEST_F(ProfileCalls, RefusalsAnswerAsTheVendorsDo) {
  start({"gb300", "h100"});
  EXPECT_EQ(request(device(), 1U << 31U), nvml::kInvalidArgument);
  EXPECT_EQ(request(device(1), 0b10), nvml::kNotSupported);
  nvml::CurrentProfiles old{};
  EXPECT_EQ(call("nvmlDeviceWorkloadPowerProfileGetCurrentProfiles", device(1), &old),
            nvml::kArgumentVersionMismatch);
  const auto none = static_cast<nvml::CurrentProfiles*>(nullptr);
  EXPECT_EQ(call("nvmlDeviceWorkloadPowerProfileGetCurrentProfiles", device(), none),
            nvml::kInvalidArgument);
  fault("no-permission:gpu=0");
  EXPECT_EQ(request(device(), 0b10), nvml::kNoPermission);
  EXPECT_EQ(current(device()).requested.words[0], 0U);
}

TEST_F(ProfileCalls, MaxQTakesASeventhOfTheLimit) {
  start({"gb300"});
  ASSERT_TRUE(world_->begin_phase(0, {.flop = 1e22, .activity = 1}));
  ASSERT_TRUE(world_->advance(2.0_s));
  const auto mean_power = [this] {
    const Joules before = world_->truth(0);
    EXPECT_TRUE(world_->advance(2.0_s));
    return ((world_->truth(0) - before) / 2.0_s).value();
  };
  EXPECT_NEAR(mean_power(), 1400, 15);
  ASSERT_EQ(request(device(), 1U << nvml::kProfileMaxQ), nvml::kSuccess);
  ASSERT_TRUE(world_->advance(1.0_s));
  EXPECT_NEAR(mean_power(), 0.86 * 1400, 15);
  ASSERT_EQ(request(device(), 1U << nvml::kProfileMaxQ, "Clear"), nvml::kSuccess);
  ASSERT_TRUE(world_->advance(1.0_s));
  EXPECT_NEAR(mean_power(), 1400, 15);
}

}  // namespace
}  // namespace perjoule::twin
