// GPUs in the hwmon tree: AMD's and Intel's kernel drivers.
#include <fmt/format.h>

#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "device/amdgpu_metrics.h"
#include "device/hwmon.h"
#include "device/plain_device.h"
#include "device/sysfs_power.h"

namespace perjoule {
namespace {

constexpr double kGain = 0.05;
constexpr Watts kMaxCardPower(3000);

Status status_of(const Roots& roots) {
  return path_exists(roots.sysfs + "/perjoule-simulated") ? Status::kSimulated : Status::kMeasured;
}

SourceInfo base_info(const Roots& roots, const DeviceInfo& device) {
  SourceInfo info;
  info.device = device.id;
  info.backend = "hwmon";
  info.scope = "board";
  info.status = status_of(roots);
  info.tick = Seconds(1e-3);
  info.gain = kGain;
  info.max_power = kMaxCardPower;
  return info;
}

/// Opens the file as a source, or tells why not. The first source of a device bears its plain id.
void add_file(PlainDevice& device, const std::string& file, SourceInfo info, const char* suffix,
              std::vector<Problem>& problems) {
  if (!path_exists(file)) return;
  const bool first = device.sources().empty();
  info.id = first ? info.device : info.device + suffix;
  if (!first) info.overlaps = info.device;
  auto fd = open_for_reading(file);
  if (!fd) {
    Error error = fd.error();
    if (error.code == ErrorCode::kPermissionDenied)
      error.remedy = "run as root, or join the groups render and video";
    problems.push_back({info.id, std::move(error)});
    return;
  }
  auto busy = open_for_reading(file.substr(0, file.rfind('/')) + "/device/gpu_busy_percent");
  device.add(std::make_unique<SysfsSource>(std::move(info), std::move(*fd),
                                           busy ? std::move(*busy) : FileDescriptor()));
}

/// A limit file with its range; a bound that is not told is left at what is set now.
void add_limit(PlainDevice& device, const std::string& stem, const std::string& minimum,
               const std::string& maximum) {
  const auto now = sysfs_number(stem);
  if (!now) return;
  KnobInfo info;
  info.device = device.info().id;
  info.id = info.device + "/power-limit";
  info.name = "power limit";
  info.unit = "W";
  info.minimum = sysfs_number(minimum).value_or(0) / 1e6;
  info.maximum = sysfs_number(maximum).value_or(*now) / 1e6;
  if (const auto usual = sysfs_number(stem + "_default"))
    info.default_value = fmt::format("{} W", *usual / 1e6);
  device.add(std::make_unique<SysfsLimit>(std::move(info), stem));
}

}  // namespace

DeviceInfo describe_amd_gpu(const Roots& roots, const std::string& pci) {
  const std::string folder = roots.sysfs + "/bus/pci/devices/" + pci;
  DeviceInfo info;
  info.kind = DeviceKind::kGpu;
  info.vendor = "AMD";
  info.pci = pci;
  info.name = read_attribute(folder + "/product_name").value_or("");
  if (info.name.empty()) {
    const auto chip = read_attribute(folder + "/device");
    info.name = "AMD GPU" + (chip ? " " + *chip : std::string());
  }
  const auto unique = read_attribute(folder + "/unique_id");
  if (unique && !unique->empty() && *unique != "0") info.uuid = "GPU-" + *unique;
  info.id = "gpu:" + (info.uuid.empty() ? pci : info.uuid);
  info.driver = "amdgpu";
  return info;
}

std::unique_ptr<Device> make_amdgpu(const Roots& roots, const HwmonChip& chip, int index,
                                    std::vector<Problem>& problems) {
  DeviceInfo description = describe_amd_gpu(roots, chip.pci);
  description.index = index;
  auto device = std::make_unique<PlainDevice>(std::move(description));
  SourceInfo counter = base_info(roots, device->info());
  counter.id = counter.device;
  counter.backend = "gpu_metrics";
  counter.quantum = 1.0 / 65536;
  auto metrics = amdgpu_metrics_source(chip.path + "/device/gpu_metrics", counter);
  if (metrics) {
    device->add(std::move(*metrics));
  } else if (metrics.error().code != ErrorCode::kNotFound) {
    problems.push_back({counter.id + " (energy)", metrics.error()});
  }
  SourceInfo gauge = base_info(roots, device->info());
  gauge.kind = SourceKind::kPowerGauge;
  // Some chips have only the one, some only the other.
  add_file(*device, chip.path + "/power1_average", gauge, "/power", problems);
  add_file(*device, chip.path + "/power1_input", gauge, "/power-instant", problems);
  add_limit(*device, chip.path + "/power1_cap", chip.path + "/power1_cap_min",
            chip.path + "/power1_cap_max");
  if (device->sources().empty() && device->knobs().empty()) return nullptr;
  return device;
}

std::unique_ptr<Device> make_intel_gpu(const Roots& roots, const HwmonChip& chip, int index,
                                       std::vector<Problem>& problems) {
  DeviceInfo description;
  description.kind = DeviceKind::kGpu;
  description.vendor = "Intel";
  description.driver = chip.name;
  description.pci = chip.pci;
  description.id = "gpu:" + chip.pci;
  description.index = index;
  const auto model = read_attribute(roots.sysfs + "/bus/pci/devices/" + chip.pci + "/device");
  description.name = "Intel GPU" + (model ? " " + *model : std::string());
  auto device = std::make_unique<PlainDevice>(description);
  // energy1 is the card, energy2 the chip on it; where only energy2 exists it is the one to sum.
  for (const int channel : {1, 2}) {
    const std::string stem = fmt::format("{}/energy{}", chip.path, channel);
    SourceInfo counter = base_info(roots, description);
    const auto label = read_attribute(stem + "_label");
    counter.scope = label && !label->empty() ? *label : channel == 1 ? "card" : "pkg";
    add_file(*device, stem + "_input", counter, "/chip", problems);
  }
  // power1_max is PL1. power1_crit is where the hardware throttles in an emergency: no user's
  // limit.
  add_limit(*device, chip.path + "/power1_max", "", chip.path + "/power1_rated_max");
  if (device->sources().empty() && device->knobs().empty()) return nullptr;
  return device;
}

}  // namespace perjoule
