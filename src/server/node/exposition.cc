#include "server/node/exposition.h"

#include <functional>
#include <optional>
#include <string>

namespace perjoule {
namespace {

using Value = std::function<std::optional<double>(const DevicePower&)>;

template <typename T>
std::optional<double> si(const std::optional<T>& value) {
  return value ? std::optional(value->value()) : std::nullopt;
}

bool is_known(const DevicePower& device) { return device.energy.status != Status::kMissing; }

struct Family {
  std::string_view name;
  MetricKind kind = MetricKind::kGauge;
  std::string_view help;
  Value value;
};

const std::vector<Family>& families() {
  static const auto* const all = new std::vector<Family>{
      {"perjoule_device_energy_joules_total", MetricKind::kCounter,
       "Energy of a device since the daemon began.",
       [](const DevicePower& d) {
         return is_known(d) ? std::optional(d.so_far.value()) : std::nullopt;
       }},
      {"perjoule_device_power_watts", MetricKind::kGauge,
       "Mean power of a device over the last second.",
       [](const DevicePower& d) {
         return is_known(d) ? std::optional(d.power.value()) : std::nullopt;
       }},
      {"perjoule_device_power_limit_watts", MetricKind::kGauge, "Power limit in force.",
       [](const DevicePower& d) { return si(d.state.power_limit); }},
      {"perjoule_device_clock_hertz", MetricKind::kGauge, "Clock of the processing cores.",
       [](const DevicePower& d) { return si(d.state.clock); }},
      {"perjoule_device_memory_clock_hertz", MetricKind::kGauge, "Clock of the memory.",
       [](const DevicePower& d) { return si(d.state.memory_clock); }},
      {"perjoule_device_temperature_celsius", MetricKind::kGauge, "Temperature of the device.",
       [](const DevicePower& d) { return d.state.temperature; }},
      {"perjoule_device_utilization_ratio", MetricKind::kGauge,
       "Share of time in which the device did any work.",
       [](const DevicePower& d) { return d.state.utilisation; }},
      {"perjoule_device_memory_used_bytes", MetricKind::kGauge, "Memory in use.",
       [](const DevicePower& d) { return d.state.memory_used_bytes; }},
      {"perjoule_device_memory_total_bytes", MetricKind::kGauge, "Memory there is.",
       [](const DevicePower& d) { return d.state.memory_total_bytes; }}};
  return *all;
}

void add_devices(MetricsPage& page, const NodePicture& picture) {
  for (const Family& family : families()) {
    page.family(family.name, family.kind, family.help);
    for (const DevicePower& device : picture.power.devices) {
      if (const auto value = family.value(device))
        page.sample({{"device", device.info.id}}, *value);
    }
  }
  page.family(
      "perjoule_device_energy_uncertainty_ratio", MetricKind::kGauge,
      "Half-width of the energy's error (two sigma) over the last second, as a share of it.");
  for (const DevicePower& device : picture.power.devices) {
    const double joules = device.energy.joules.value();
    if (!is_known(device) || joules <= 0) continue;
    page.sample({{"device", device.info.id}},
                device.energy.expanded_uncertainty().value() / joules);
  }
  page.family("perjoule_device_throttled", MetricKind::kGauge,
              "1 for each reason that holds the device back.");
  for (const DevicePower& device : picture.power.devices) {
    for (const std::string& reason : device.state.throttle_reasons) {
      page.sample({{"device", device.info.id}, {"reason", reason}}, 1);
    }
  }
  page.family("perjoule_device_info", MetricKind::kGauge,
              "What a device is, and how it is measured.");
  for (const DevicePower& device : picture.power.devices) {
    const DeviceInfo& info = device.info;
    const std::string status = device.energy.status_text();
    page.sample({{"device", info.id},
                 {"kind", name_of(info.kind)},
                 {"name", info.name},
                 {"vendor", info.vendor},
                 {"driver", info.driver},
                 {"pci", info.pci},
                 {"boundary", name_of(device.energy.boundary)},
                 {"grade", is_known(device) ? name_of(device.energy.grade()) : ""},
                 {"status", status}},
                1);
  }
}

}  // namespace

void add_node_metrics(MetricsPage& page, const Node& node) {
  page.family("perjoule_node_info", MetricKind::kGauge, "The node whose page this is.");
  page.sample(
      {{"node", node.options().name}, {"simulated", node.is_simulated() ? "true" : "false"}}, 1);
  const auto picture = node.latest();
  if (picture == nullptr) return;
  const bool known = picture->power.energy.status != Status::kMissing;
  page.family("perjoule_node_energy_joules_total", MetricKind::kCounter,
              "Energy of all sources that overlap no other since the daemon began.");
  if (known) page.sample({}, picture->total_so_far.value());
  page.family("perjoule_node_power_watts", MetricKind::kGauge,
              "Mean power of all sources that overlap no other over the last second.");
  if (known) page.sample({}, picture->power.total.value());
  add_devices(page, *picture);
  page.family("perjoule_sampler_missed_ticks_total", MetricKind::kCounter,
              "Samples that were due while the daemon did not run.");
  page.sample({}, static_cast<double>(node.missed_ticks()));
}

}  // namespace perjoule
