#include "device/nvml_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace perjoule {
namespace {

constexpr const char* kNone = "none";
constexpr unsigned kProfileCount = 255;

/// The header's NVML_POWER_PROFILE_..., as words; later ones go by number.
constexpr std::array<const char*, 15> kNames = {
    "max-p",       "max-q",         "compute",       "memory-bound", "network",
    "balanced",    "llm-inference", "llm-training",  "rbm",          "dcpcie",
    "hmma-sparse", "hmma-dense",    "sync-balanced", "hpc",          "mig"};

std::string name_of_profile(unsigned id) {
  return id < kNames.size() ? kNames[id] : fmt::format("profile-{}", id);
}

bool holds(const nvml::ProfileMask& mask, unsigned id) {
  return (mask.words[id / 32] >> (id % 32) & 1U) != 0;
}

std::vector<std::string> names_in(const nvml::ProfileMask& mask) {
  std::vector<std::string> names;
  for (unsigned id = 0; id < kProfileCount; ++id) {
    if (holds(mask, id)) names.push_back(name_of_profile(id));
  }
  return names;
}

std::string in_words(const nvml::ProfileMask& mask) {
  std::string words;
  for (const std::string& name : names_in(mask)) words += (words.empty() ? "" : "+") + name;
  return words.empty() ? kNone : words;
}

nvml::ProfileMask without(const nvml::ProfileMask& mask, const nvml::ProfileMask& other) {
  nvml::ProfileMask rest = mask;
  for (std::size_t i = 0; i < std::size(rest.words); ++i) rest.words[i] &= ~other.words[i];
  return rest;
}

bool empty(const nvml::ProfileMask& mask) {
  return std::all_of(std::begin(mask.words), std::end(mask.words), [](auto w) { return w == 0; });
}

class PowerProfile final : public Knob {
 public:
  PowerProfile(std::shared_ptr<NvmlLibrary> library, nvml::Device handle, KnobInfo info)
      : library_(std::move(library)), handle_(handle), info_(std::move(info)) {}

  const KnobInfo& info() const override { return info_; }
  Result<std::string> get() override {
    PJ_TRY(const nvml::CurrentProfiles now, current());
    return in_words(now.requested);
  }
  Result<std::string> enforced() override {
    PJ_TRY(const nvml::CurrentProfiles now, current());
    return in_words(now.enforced);
  }
  /// Drivers add what is requested to what was, so the others are taken back first.
  Outcome set(const std::string& value) override {
    PJ_CHECK(check_knob_value(info_, value));
    nvml::ProfileMask wanted{};
    for (unsigned id = 0; id < kProfileCount; ++id) {
      for (const std::string_view word : split(value, '+')) {
        if (trim(word) == name_of_profile(id)) wanted.words[id / 32] |= 1U << (id % 32);
      }
    }
    PJ_TRY(const nvml::CurrentProfiles before, current());
    PJ_CHECK(change(library_->clear_profiles, without(before.requested, wanted), "taking back"));
    return change(library_->request_profiles, without(wanted, before.requested), "requesting");
  }

 private:
  Result<nvml::CurrentProfiles> current() const {
    nvml::CurrentProfiles now{};
    now.version = nvml::kCurrentProfilesVersion;
    if (const nvml::Return code = library_->current_profiles(handle_, &now);
        code != nvml::kSuccess) {
      return library_->error(code, "reading the power profiles of " + info_.device);
    }
    return now;
  }

  Outcome change(NvmlLibrary::Function<nvml::Device, nvml::RequestedProfiles*> call,
                 const nvml::ProfileMask& mask, const char* what) const {
    if (empty(mask)) return {};
    if (call == nullptr) return Error::not_supported(info_.id + ": this driver cannot set it");
    nvml::RequestedProfiles request{nvml::kRequestedProfilesVersion, mask};
    if (const nvml::Return code = call(handle_, &request); code != nvml::kSuccess) {
      return library_->error(
          code, fmt::format("{} the power profile {} of {}", what, in_words(mask), info_.device));
    }
    return {};
  }

  std::shared_ptr<NvmlLibrary> library_;
  nvml::Device handle_;
  KnobInfo info_;
};

}  // namespace

std::unique_ptr<Knob> nvml_power_profile(const std::shared_ptr<NvmlLibrary>& library,
                                         nvml::Device handle, const std::string& device_id) {
  if (library->profiles_info == nullptr || library->current_profiles == nullptr) return nullptr;
  const auto found = std::make_unique<nvml::ProfilesInfo>();  // 11 kB
  found->version = nvml::kProfilesInfoVersion;
  if (library->profiles_info(handle, found.get()) != nvml::kSuccess || empty(found->supported))
    return nullptr;
  KnobInfo info;
  info.id = device_id + "/power-profile";
  info.device = device_id;
  info.name = "power profile";
  info.choices = names_in(found->supported);
  info.choices.insert(info.choices.begin(), kNone);
  info.combinable = true;
  info.default_value = kNone;
  return std::make_unique<PowerProfile>(library, handle, std::move(info));
}

}  // namespace perjoule
