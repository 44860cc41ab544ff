#include "device/nvml_knobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "device/nvml_profile.h"

namespace perjoule {
namespace {

/// The two-call protocol of NVML's lists: ask for the count, then fill.
template <typename Call>
std::vector<unsigned> clock_list(const Call& call) {
  unsigned count = 0;
  call(&count, nullptr);
  if (count == 0 || count > 4096) return {};
  std::vector<unsigned> clocks(count);
  if (call(&count, clocks.data()) != nvml::kSuccess) return {};
  clocks.resize(std::min<std::size_t>(count, clocks.size()));
  std::sort(clocks.rbegin(), clocks.rend());
  return clocks;
}

std::vector<unsigned> supported_memory_clocks(const NvmlLibrary& library, nvml::Device handle) {
  if (library.memory_clocks == nullptr) return {};
  return clock_list([&](unsigned* count, unsigned* clocks) {
    return library.memory_clocks(handle, count, clocks);
  });
}

class PowerLimit final : public Knob {
 public:
  PowerLimit(std::shared_ptr<NvmlLibrary> library, nvml::Device handle, KnobInfo info)
      : library_(std::move(library)), handle_(handle), info_(std::move(info)) {}

  const KnobInfo& info() const override { return info_; }
  Result<std::string> get() override { return limit(library_->power_limit); }
  Result<std::string> enforced() override {
    return limit(library_->power_limit_enforced != nullptr ? library_->power_limit_enforced
                                                           : library_->power_limit);
  }
  Outcome set(const std::string& value) override {
    PJ_TRY(const double watts, knob_number(info_, value));
    if (library_->set_power_limit == nullptr)
      return Error::not_supported(info_.id + ": this driver cannot set it");
    const nvml::Return code =
        library_->set_power_limit(handle_, static_cast<unsigned>(std::lround(watts * 1000)));
    if (code != nvml::kSuccess)
      return library_->error(code, "setting the power limit of " + info_.device);
    return {};
  }

 private:
  Result<std::string> limit(NvmlLibrary::Function<nvml::Device, unsigned*> call) const {
    unsigned milliwatts = 0;
    const nvml::Return code = call(handle_, &milliwatts);
    if (code != nvml::kSuccess)
      return library_->error(code, "reading the power limit of " + info_.device);
    return fmt::format("{} W", milliwatts / 1000.0);
  }

  std::shared_ptr<NvmlLibrary> library_;
  nvml::Device handle_;
  KnobInfo info_;
};

/// A clock lock: one clock, or a range as "1005-1410 MHz". NVML cannot say whether a lock is set,
/// so "found" is taken to be unlocked, and what was set here is remembered.
class ClockLock final : public Knob {
 public:
  using Lock = NvmlLibrary::Function<nvml::Device, unsigned, unsigned>;
  using Unlock = NvmlLibrary::Function<nvml::Device>;
  ClockLock(std::shared_ptr<NvmlLibrary> library, nvml::Device handle, KnobInfo info, Lock lock,
            Unlock unlock)
      : library_(std::move(library)),
        handle_(handle),
        info_(std::move(info)),
        lock_(lock),
        unlock_(unlock) {}

  const KnobInfo& info() const override { return info_; }
  Result<std::string> get() override { return value_; }
  Outcome set(const std::string& value) override {
    nvml::Return code = nvml::kSuccess;
    if (value == kUnlocked) {
      code = unlock_(handle_);
      value_ = value;
    } else {
      PJ_TRY(const auto range, range_of(value));
      const auto [lowest, highest] = range;
      code = lock_(handle_, lowest, highest);
      value_ = lowest == highest ? fmt::format("{} MHz", lowest)
                                 : fmt::format("{}-{} MHz", lowest, highest);
    }
    if (code == nvml::kSuccess) return {};
    value_ = kUnlocked;
    return library_->error(code, "locking the " + info_.name + " of " + info_.device);
  }

  static constexpr const char* kUnlocked = "unlocked";

 private:
  Result<std::pair<unsigned, unsigned>> range_of(const std::string& value) const {
    const std::size_t dash = value.find('-', 1);
    PJ_TRY(const double lowest, knob_number(info_, value.substr(0, dash)));
    double highest = lowest;
    if (dash != std::string::npos) {
      PJ_TRY(highest, knob_number(info_, value.substr(dash + 1)));
    }
    if (highest < lowest) {
      return Error::invalid_argument(info_.name + " of " + info_.device +
                                     ": the range ends below its beginning: " + value);
    }
    return std::pair(static_cast<unsigned>(std::lround(lowest)),
                     static_cast<unsigned>(std::lround(highest)));
  }

  std::shared_ptr<NvmlLibrary> library_;
  nvml::Device handle_;
  KnobInfo info_;
  Lock lock_;
  Unlock unlock_;
  std::string value_ = kUnlocked;
};

KnobInfo clock_info(const std::string& device_id, const char* suffix, const char* name,
                    const std::vector<unsigned>& clocks) {
  KnobInfo info;
  info.id = device_id + suffix;
  info.device = device_id;
  info.name = name;
  info.unit = "MHz";
  info.minimum = clocks.back();
  info.maximum = clocks.front();
  info.default_value = ClockLock::kUnlocked;
  return info;
}

}  // namespace

std::vector<unsigned> nvml_graphics_clocks(const NvmlLibrary& library, nvml::Device handle) {
  const std::vector<unsigned> memory = supported_memory_clocks(library, handle);
  if (memory.empty() || library.graphics_clocks == nullptr) return {};
  return clock_list([&](unsigned* count, unsigned* clocks) {
    return library.graphics_clocks(handle, memory.front(), count, clocks);
  });
}

std::vector<std::unique_ptr<Knob>> nvml_knobs(const std::shared_ptr<NvmlLibrary>& library,
                                              nvml::Device handle, const std::string& device_id) {
  std::vector<std::unique_ptr<Knob>> knobs;
  unsigned lowest = 0;
  unsigned highest = 0;
  unsigned usual = 0;
  if (library->power_limit != nullptr && library->power_limit_range != nullptr &&
      library->power_limit_range(handle, &lowest, &highest) == nvml::kSuccess) {
    KnobInfo info;
    info.id = device_id + "/power-limit";
    info.device = device_id;
    info.name = "power limit";
    info.unit = "W";
    info.minimum = lowest / 1000.0;
    info.maximum = highest / 1000.0;
    if (library->power_limit_default != nullptr &&
        library->power_limit_default(handle, &usual) == nvml::kSuccess) {
      info.default_value = fmt::format("{} W", usual / 1000.0);
    }
    knobs.push_back(std::make_unique<PowerLimit>(library, handle, info));
  }
  // Older chips list their clocks and have the calls, which then answer "not supported".
  unsigned architecture = nvml::kArchitectureUnknown;
  if (library->device_architecture != nullptr) library->device_architecture(handle, &architecture);
  const std::vector<unsigned> graphics = nvml_graphics_clocks(*library, handle);
  if (!graphics.empty() && architecture >= nvml::kArchitectureVolta &&
      library->lock_clocks != nullptr && library->unlock_clocks != nullptr) {
    knobs.push_back(std::make_unique<ClockLock>(library, handle,
                                                clock_info(device_id, "/clock", "clock", graphics),
                                                library->lock_clocks, library->unlock_clocks));
  }
  const std::vector<unsigned> memory = supported_memory_clocks(*library, handle);
  if (!memory.empty() && architecture >= nvml::kArchitectureAmpere &&
      library->lock_memory_clocks != nullptr && library->unlock_memory_clocks != nullptr) {
    knobs.push_back(std::make_unique<ClockLock>(
        library, handle, clock_info(device_id, "/memory-clock", "memory clock", memory),
        library->lock_memory_clocks, library->unlock_memory_clocks));
  }
  if (auto profile = nvml_power_profile(library, handle, device_id))
    knobs.push_back(std::move(profile));
  return knobs;
}

}  // namespace perjoule
