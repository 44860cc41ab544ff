#include "device/nvml_device.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "device/nvml_knobs.h"
#include "device/nvml_library.h"
#include "device/nvml_processes.h"
#include "device/nvml_sources.h"

namespace perjoule {
namespace {

template <typename T>
std::vector<T*> borrow(const std::vector<std::unique_ptr<T>>& owned) {
  std::vector<T*> out;
  out.reserve(owned.size());
  for (const auto& one : owned) out.push_back(one.get());
  return out;
}

std::vector<std::string> reasons_in_words(std::uint64_t bits) {
  constexpr std::pair<std::uint64_t, const char*> kReasons[] = {
      {nvml::kReasonApplicationClocks, "application clocks"},
      {nvml::kReasonSoftwarePowerCap, "power cap"},
      {nvml::kReasonHardwareSlowdown, "hardware slowdown"},
      {nvml::kReasonSyncBoost, "sync boost"},
      {nvml::kReasonSoftwareThermal, "software thermal"},
      {nvml::kReasonHardwareThermal, "hardware thermal"},
      {nvml::kReasonPowerBrake, "power brake"},
      {nvml::kReasonDisplayClocks, "display clocks"},
  };
  std::vector<std::string> words;
  for (const auto& [bit, name] : kReasons) {
    if ((bits & bit) != 0) words.emplace_back(name);
  }
  return words;
}

class NvmlDevice final : public Device {
 public:
  NvmlDevice(std::shared_ptr<NvmlLibrary> library, nvml::Device handle, DeviceInfo info)
      : library_(std::move(library)),
        handle_(handle),
        info_(std::move(info)),
        sources_(nvml_sources(library_, handle_, info_.id, info_.name)),
        knobs_(nvml_knobs(library_, handle_, info_.id)) {}

  const DeviceInfo& info() const override { return info_; }
  std::vector<Source*> sources() override { return borrow(sources_); }
  std::vector<Knob*> knobs() override { return borrow(knobs_); }
  Result<std::vector<DeviceProcess>> processes() override {
    return nvml_processes(*library_, handle_, info_.id);
  }

  DeviceState state() override {
    DeviceState state;
    read_power(state);
    read_load(state);
    return state;
  }

 private:
  void read_power(DeviceState& state) {
    unsigned value = 0;
    if (const auto instant =
            nvml_power_field(*library_, handle_, nvml::kFieldPowerInstant, nvml::kScopeGpu)) {
      state.power = *instant;
    } else if (library_->device_power != nullptr &&
               library_->device_power(handle_, &value) == nvml::kSuccess) {
      state.power = Watts(value * 1e-3);
    }
    const auto memory =
        nvml_power_field(*library_, handle_, nvml::kFieldPowerAverage, nvml::kScopeMemory);
    if (memory && memory->value() > 0 && state.power && *memory < *state.power)
      state.memory_power = *memory;
    const auto limit = library_->power_limit_enforced != nullptr ? library_->power_limit_enforced
                                                                 : library_->power_limit;
    if (limit != nullptr && limit(handle_, &value) == nvml::kSuccess)
      state.power_limit = Watts(value * 1e-3);
  }

  void read_load(DeviceState& state) {
    nvml::Utilization rates{};
    if (library_->utilization != nullptr &&
        library_->utilization(handle_, &rates) == nvml::kSuccess) {
      state.utilisation = rates.gpu / 100.0;
      state.memory_utilisation = rates.memory / 100.0;
    }
    unsigned value = 0;
    if (library_->clock_now != nullptr) {
      if (library_->clock_now(handle_, nvml::kClockSm, &value) == nvml::kSuccess)
        state.clock = megahertz(value);
      if (library_->clock_now(handle_, nvml::kClockMemory, &value) == nvml::kSuccess) {
        state.memory_clock = megahertz(value);
      }
    }
    nvml::TemperatureV1 reading{nvml::kTemperatureV1Version, 0, 0};
    if (library_->temperature_v != nullptr &&
        library_->temperature_v(handle_, &reading) == nvml::kSuccess) {
      state.temperature = reading.temperature;
    } else if (library_->temperature != nullptr &&
               library_->temperature(handle_, 0, &value) == nvml::kSuccess) {
      state.temperature = value;
    }
    nvml::Memory memory{};
    if (library_->memory != nullptr && library_->memory(handle_, &memory) == nvml::kSuccess) {
      state.memory_used_bytes = static_cast<double>(memory.used);
      state.memory_total_bytes = static_cast<double>(memory.total);
    }
    if (library_->persistence != nullptr &&
        library_->persistence(handle_, &value) == nvml::kSuccess) {
      state.persistence = value != 0;
    }
    unsigned long long reasons = 0;
    if (library_->event_reasons != nullptr &&
        library_->event_reasons(handle_, &reasons) == nvml::kSuccess) {
      state.throttle_reasons = reasons_in_words(reasons);
    }
  }

  std::shared_ptr<NvmlLibrary> library_;
  nvml::Device handle_;
  DeviceInfo info_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::vector<std::unique_ptr<Knob>> knobs_;
};

/// "00000000:65:00.0" as NVML has it, "0000:65:00.0" as sysfs has it.
std::string sysfs_pci_address(const nvml::PciInfo& pci) {
  const std::string_view full(
      pci.bus_id, std::min<std::size_t>(std::char_traits<char>::length(pci.bus_id), 31));
  std::string address(full.size() > 12 ? full.substr(full.size() - 12) : full);
  std::transform(address.begin(), address.end(), address.begin(), [](char c) {
    return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return address;
}

/// Places are sparse: one that is not taken is not the end of the list.
std::vector<std::string> mig_uuids(const NvmlLibrary& library, nvml::Device handle) {
  std::vector<std::string> uuids;
  unsigned places = 0;
  if (library.mig_count == nullptr || library.mig_device == nullptr ||
      library.device_uuid == nullptr || library.mig_count(handle, &places) != nvml::kSuccess) {
    return uuids;
  }
  for (unsigned place = 0; place < places; ++place) {
    nvml::Device slice = nullptr;
    char text[96] = {};
    if (library.mig_device(handle, place, &slice) != nvml::kSuccess) continue;
    if (library.device_uuid(slice, text, sizeof(text)) == nvml::kSuccess) uuids.emplace_back(text);
  }
  return uuids;
}

DeviceInfo describe(const NvmlLibrary& library, nvml::Device handle, unsigned index) {
  DeviceInfo info;
  info.kind = DeviceKind::kGpu;
  info.vendor = "NVIDIA";
  info.driver = library.driver_version();
  info.index = static_cast<int>(index);
  char text[96] = {};
  if (library.device_name != nullptr &&
      library.device_name(handle, text, sizeof(text)) == nvml::kSuccess)
    info.name = text;
  if (library.device_uuid != nullptr &&
      library.device_uuid(handle, text, sizeof(text)) == nvml::kSuccess)
    info.uuid = text;
  nvml::PciInfo pci{};
  if (library.device_pci != nullptr && library.device_pci(handle, &pci) == nvml::kSuccess) {
    info.pci = sysfs_pci_address(pci);
  }
  info.id = info.uuid.empty() ? fmt::format("gpu:{}", index) : "gpu:" + info.uuid;
  unsigned current = 0;
  if (library.persistence != nullptr && library.persistence(handle, &current) == nvml::kSuccess)
    info.persistence = current != 0;
  current = 0;
  unsigned pending = 0;
  if (library.mig_mode != nullptr &&
      library.mig_mode(handle, &current, &pending) == nvml::kSuccess && current == 1) {
    info.note = "MIG is on: energy exists only for the whole GPU and is shared out by estimate";
    info.mig_uuids = mig_uuids(library, handle);
  }
  return info;
}

}  // namespace

Discovered discover_nvml(const Roots& roots) {
  Discovered found;
  auto library = NvmlLibrary::open(roots.nvml);
  if (!library) {
    if (library.error().code != ErrorCode::kNotFound)
      found.problems.push_back({"NVIDIA GPUs", library.error()});
    return found;
  }
  unsigned count = 0;
  if (const nvml::Return code = (*library)->device_count(&count); code != nvml::kSuccess) {
    found.problems.push_back({"NVIDIA GPUs", (*library)->error(code, "counting GPUs").value()});
    return found;
  }
  for (unsigned index = 0; index < count; ++index) {
    nvml::Device handle = nullptr;
    const nvml::Return code = (*library)->device_by_index(index, &handle);
    if (code != nvml::kSuccess) {
      // The count includes GPUs this user or container may not open; the others must still be
      // measured.
      found.problems.push_back(
          {fmt::format("NVIDIA GPU {}", index), (*library)->error(code, "opening it").value()});
      continue;
    }
    found.devices.push_back(
        std::make_unique<NvmlDevice>(*library, handle, describe(**library, handle, index)));
  }
  return found;
}

}  // namespace perjoule
