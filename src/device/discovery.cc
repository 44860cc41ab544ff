#include "device/discovery.h"

#include <algorithm>

#include "device/amd_smi.h"
#include "device/battery.h"
#include "device/cpu_estimator.h"
#include "device/cpufreq.h"
#include "device/hwmon.h"
#include "device/ipmi_dcmi.h"
#include "device/joined_device.h"
#include "device/nvml_device.h"
#include "device/rapl_perf.h"
#include "device/rapl_powercap.h"
#include "device/rocm_smi.h"

namespace perjoule {

std::string_view name_of(DeviceKind kind) {
  constexpr std::string_view kNames[] = {"gpu", "cpu", "node", "battery"};
  return kNames[static_cast<int>(kind)];
}

std::vector<Source*> Inventory::sources() const {
  std::vector<Source*> all;
  for (const auto& device : devices) {
    for (Source* source : device->sources()) all.push_back(source);
  }
  return all;
}

std::vector<Source*> Inventory::summed_sources() const {
  std::vector<Source*> summed;
  for (Source* source : sources()) {
    if (source->info().overlaps.empty()) summed.push_back(source);
  }
  return summed;
}

std::vector<Knob*> Inventory::knobs() const {
  std::vector<Knob*> all;
  for (const auto& device : devices) {
    for (Knob* knob : device->knobs()) all.push_back(knob);
  }
  return all;
}

Device* Inventory::find_device(std::string_view id) const {
  for (const auto& device : devices) {
    if (device->info().id == id) return device.get();
  }
  return nullptr;
}

namespace {
void take(Inventory& inventory, Discovered found) {
  for (auto& device : found.devices) join_device(inventory.devices, std::move(device));
  for (auto& problem : found.problems) inventory.problems.push_back(std::move(problem));
}

std::vector<std::string> source_ids(const Inventory& inventory) {
  std::vector<std::string> ids;
  for (const Source* source : inventory.sources()) ids.push_back(source->info().id);
  return ids;
}

std::vector<std::string> pci_addresses(const Inventory& inventory) {
  std::vector<std::string> addresses;
  for (const auto& device : inventory.devices) {
    if (!device->info().pci.empty()) addresses.push_back(device->info().pci);
  }
  return addresses;
}

HwmonContext hwmon_context(const Inventory& inventory) {
  HwmonContext context;
  context.sources = source_ids(inventory);
  context.pci = pci_addresses(inventory);
  for (const auto& device : inventory.devices) {
    for (const Source* source : device->sources()) {
      if (source->info().scope == "module" && context.module_counter.empty())
        context.module_counter = source->info().id;
    }
  }
  return context;
}

/// What another road to the same counter has made good is no problem any more.
void drop_mended_problems(Inventory& inventory) {
  const std::vector<std::string> ids = source_ids(inventory);
  std::erase_if(inventory.problems, [&ids](const Problem& problem) {
    return problem.error.code == ErrorCode::kPermissionDenied &&
           std::find(ids.begin(), ids.end(), problem.subject) != ids.end();
  });
}
}  // namespace

Inventory discover(const Roots& roots, const Clock& clock, const DiscoveryOptions& options) {
  Inventory inventory;
  take(inventory, discover_nvml(roots));
  take(inventory, discover_amd_smi(roots, clock));
  take(inventory, discover_rocm_smi(roots, clock, pci_addresses(inventory)));
  take(inventory, discover_rapl_powercap(roots));
  take(inventory, discover_rapl_perf(roots, source_ids(inventory)));
  take(inventory, discover_hwmon(roots, hwmon_context(inventory)));
  const bool cpu_measured =
      std::any_of(inventory.devices.begin(), inventory.devices.end(), [](const auto& device) {
        return device->info().kind == DeviceKind::kCpu && !device->sources().empty();
      });
  if (!cpu_measured && options.estimate_cpu) take(inventory, discover_cpu_estimator(roots, clock));
  take(inventory, discover_cpufreq(roots));
  take(inventory, discover_batteries(roots));
  if (options.node_meters) take(inventory, discover_ipmi_dcmi(roots));
  drop_mended_problems(inventory);
  return inventory;
}

}  // namespace perjoule
