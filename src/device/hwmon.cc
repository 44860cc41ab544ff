#include "device/hwmon.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/file.h"
#include "base/text.h"
#include "device/cpu_facts.h"
#include "device/plain_device.h"
#include "device/sysfs_power.h"

namespace perjoule {
namespace {

constexpr Watts kMaxModulePower(4000);

bool holds(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

/// "0000:03:00.0" of a device link that leads there.
std::string pci_of(const std::string& chip) {
  std::error_code failed;
  const auto target = std::filesystem::canonical(chip + "/device", failed);
  if (failed) return {};
  const std::string name = target.filename();
  const bool is_address = name.size() == 12 && name[4] == ':' && name[7] == ':' && name[10] == '.';
  return is_address ? name : std::string();
}

/// The CPU side of the tree: ACPI meters and AMD's socket counters.
class CpuMeters {
 public:
  CpuMeters(const Roots& roots, const HwmonContext& context)
      : context_(context), facts_(read_cpu_facts(roots)) {
    simulated_ = path_exists(roots.sysfs + "/perjoule-simulated");
  }

  void add_acpi(const HwmonChip& chip) {
    const std::string file = chip.path + "/power1_average";
    if (!path_exists(file)) return;
    auto label = read_attribute(chip.path + "/power1_oem_info");
    if (!label || label->empty()) label = read_attribute(chip.path + "/power1_label");
    const HwmonLabel parsed = parse_hwmon_label(label.value_or(""));
    SourceInfo info = parsed.kind == HwmonLabel::Kind::kOther ? describe_node(label.value_or(""))
                                                              : describe_grace(parsed);
    info.kind = SourceKind::kPowerGauge;
    const auto interval = sysfs_number(chip.path + "/power1_average_interval");
    info.averaging = Seconds(interval && *interval > 0 ? *interval * 1e-3 : 1.0);
    info.tick = info.averaging;
    info.quantum = 1e-3;
    info.gain = 0.05;
    add(file, std::move(info), parsed.socket);
  }

  void add_amd_energy(const HwmonChip& chip) {
    for (const std::string& file : list_folder(chip.path)) {
      if (file.rfind("energy", 0) != 0 || !file.ends_with("_label")) continue;
      const std::string stem = fmt::format("{}/{}", chip.path, file.substr(0, file.size() - 6));
      const HwmonLabel label = parse_hwmon_label(read_attribute(stem + "_label").value_or(""));
      if (label.kind != HwmonLabel::Kind::kSocket) continue;
      SourceInfo info;
      info.id = fmt::format("cpu:{}/package", label.socket);
      if (holds(context_.sources, info.id)) continue;
      info.scope = "package";
      info.tick = Seconds(1e-3);
      info.quantum = 1.6e-5;
      info.gain = 0.10;  // as through powercap: a model of activity
      info.max_power = Watts(2000);
      add(stem + "_input", std::move(info), label.socket);
    }
  }

  Discovered finish() {
    for (auto& [id, device] : devices_) found_.devices.push_back(std::move(device));
    return std::move(found_);
  }

 private:
  SourceInfo describe_grace(const HwmonLabel& label) const {
    using Kind = HwmonLabel::Kind;
    SourceInfo info;
    const std::string device = fmt::format("cpu:{}", label.socket);
    const char* scope = label.kind == Kind::kModule  ? "module"
                        : label.kind == Kind::kGrace ? "grace"
                        : label.kind == Kind::kCpu   ? "cpu"
                                                     : "sysio";
    info.scope = scope;
    info.id = device + "/" + scope;
    // Module = GPU + Grace, Grace = CPU + SysIO + memory: Grace is the one to add to the GPU's,
    // unless the GPU's own counter is the module's.
    if (label.kind != Kind::kGrace) {
      info.overlaps = device + "/grace";
    } else {
      info.overlaps = context_.module_counter;
    }
    info.max_power = kMaxModulePower;
    return info;
  }

  SourceInfo describe_node(const std::string& label) {
    SourceInfo info;
    info.id = nodes_ == 0 ? "node/acpi" : fmt::format("node/acpi-{}", nodes_);
    ++nodes_;
    info.scope = label.empty() ? "node" : label;
    info.boundary = Boundary::kNode;
    info.overlaps = "cpu:0/package";  // it contains everything else
    info.offset = Watts(2);
    return info;
  }

  void add(const std::string& file, SourceInfo info, int socket) {
    const bool node = info.boundary == Boundary::kNode;
    info.device = node ? "node" : fmt::format("cpu:{}", socket);
    info.backend = "hwmon";
    info.status = simulated_ ? Status::kSimulated : Status::kMeasured;
    auto fd = open_for_reading(file);
    if (!fd) {
      Error error = fd.error();
      if (error.code == ErrorCode::kPermissionDenied)
        error.remedy = "run as root, or let a group read it: perjoule doctor --fix";
      found_.problems.push_back({info.id, std::move(error)});
      return;
    }
    auto& device = devices_[info.device];
    if (!device) device = std::make_unique<PlainDevice>(describe_device(info.device, node, socket));
    device->add(std::make_unique<SysfsSource>(std::move(info), std::move(*fd)));
  }

  DeviceInfo describe_device(const std::string& id, bool node, int socket) const {
    DeviceInfo info;
    info.id = id;
    info.kind = node ? DeviceKind::kNode : DeviceKind::kCpu;
    info.name = node ? "whole machine" : facts_.model;
    info.driver = "hwmon";
    info.index = socket;
    return info;
  }

  const HwmonContext& context_;
  CpuFacts facts_;
  bool simulated_ = false;
  int nodes_ = 0;
  std::map<std::string, std::unique_ptr<PlainDevice>> devices_;
  Discovered found_;
};

}  // namespace

std::vector<HwmonChip> list_hwmon(const Roots& roots) {
  std::vector<HwmonChip> chips;
  const std::string root = roots.sysfs + "/class/hwmon";
  for (const std::string& folder : list_folder(root)) {
    HwmonChip chip;
    chip.path = root + "/" + folder;
    const auto name = read_attribute(chip.path + "/name");
    if (!name) continue;
    chip.name = *name;
    chip.pci = pci_of(chip.path);
    chips.push_back(std::move(chip));
  }
  return chips;
}

HwmonLabel parse_hwmon_label(std::string_view label) {
  using Kind = HwmonLabel::Kind;
  const auto socket_of = [](std::string_view digits) -> int {
    const auto number = parse_integer(digits);
    return number && *number >= 0 && *number < 1'000'000 ? static_cast<int>(*number) : -1;
  };
  constexpr std::string_view kAmd = "Esocket";
  if (label.rfind(kAmd, 0) == 0) {
    const int socket = socket_of(label.substr(kAmd.size()));
    return socket < 0 ? HwmonLabel{} : HwmonLabel{Kind::kSocket, socket};
  }
  const auto words = split(label, ' ');
  if (words.size() != 4 || words[1] != "Power" || words[2] != "Socket") return {};
  const int socket = socket_of(words[3]);
  if (socket < 0) return {};
  if (words[0] == "Module") return {Kind::kModule, socket};
  if (words[0] == "Grace") return {Kind::kGrace, socket};
  if (words[0] == "CPU") return {Kind::kCpu, socket};
  if (words[0] == "SysIO") return {Kind::kSysIo, socket};
  return {};
}

Discovered discover_hwmon(const Roots& roots, const HwmonContext& context) {
  CpuMeters cpu(roots, context);
  Discovered gpus;
  int amd_gpus = 0;
  int intel_gpus = 0;
  for (const HwmonChip& chip : list_hwmon(roots)) {
    if (chip.name == "power_meter") cpu.add_acpi(chip);
    if (chip.name == "amd_energy") cpu.add_amd_energy(chip);
    const bool amd = chip.name == "amdgpu";
    const bool intel = chip.name == "i915" || chip.name == "xe";
    if (chip.pci.empty() || (!amd && !intel)) continue;
    const int index = amd ? amd_gpus++ : intel_gpus++;
    if (holds(context.pci, chip.pci)) continue;
    auto gpu = amd ? make_amdgpu(roots, chip, index, gpus.problems)
                   : make_intel_gpu(roots, chip, index, gpus.problems);
    if (gpu) gpus.devices.push_back(std::move(gpu));
  }
  Discovered found = cpu.finish();
  for (auto& device : found.devices) gpus.devices.push_back(std::move(device));
  for (auto& problem : found.problems) gpus.problems.push_back(std::move(problem));
  return gpus;
}

}  // namespace perjoule
