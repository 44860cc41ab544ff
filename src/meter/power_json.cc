#include "meter/power_json.h"

#include "base/energy_json.h"

namespace perjoule {
namespace {

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json or_null(const std::optional<Watts>& value) { return value ? Json(value->value()) : Json(); }

Json megahertz_or_null(const std::optional<Hertz>& value) {
  return value ? Json(in_megahertz(*value)) : Json();
}

/// Half-width of a mean power's error, two sigma.
Json uncertainty_w(const Energy& energy, Seconds span) {
  const bool known = energy.status != Status::kMissing && span > Seconds(0);
  return known ? Json((energy.expanded_uncertainty() / span).value()) : Json();
}

Json device_json(const DevicePower& device, Seconds span) {
  const DeviceState& state = device.state;
  const bool known = device.energy.status != Status::kMissing;
  Json one = Json::object();
  one["id"] = device.info.id;
  one["name"] = device.info.name;
  one["power_w"] = known ? Json(device.power.value()) : Json();
  one["uncertainty_w"] = uncertainty_w(device.energy, span);
  one["status"] = device.energy.status_text();
  one["so_far_j"] = known ? Json(device.so_far.value()) : Json();
  one["energy"] = to_json(device.energy);
  one["utilisation"] = or_null(state.utilisation);
  one["memory_utilisation"] = or_null(state.memory_utilisation);
  one["temperature_c"] = or_null(state.temperature);
  one["clock_mhz"] = megahertz_or_null(state.clock);
  one["memory_clock_mhz"] = megahertz_or_null(state.memory_clock);
  one["power_limit_w"] = or_null(state.power_limit);
  one["memory_used_bytes"] = or_null(state.memory_used_bytes);
  one["memory_total_bytes"] = or_null(state.memory_total_bytes);
  one["throttle_reasons"] = Json::array();
  for (const std::string& reason : state.throttle_reasons) {
    one["throttle_reasons"].push_back(reason);
  }
  return one;
}

Json process_json(const ProcessPower& process) {
  Json one = Json::object();
  one["pid"] = process.pid;
  one["name"] = process.name;
  one["cgroup"] = process.cgroup;
  one["cpu_share"] = process.cpu_share;
  one["cpu_power_w"] = process.cpu_power.value();
  one["gpu_power_w"] = process.gpu_power.value();
  return one;
}

}  // namespace

void add_picture(Json& json, const PowerPicture& picture) {
  const bool known = picture.energy.status != Status::kMissing;
  json["span_s"] = picture.span.value();
  json["total_w"] = known ? Json(picture.total.value()) : Json();
  json["total_uncertainty_w"] = uncertainty_w(picture.energy, picture.span);
  json["status"] = picture.energy.status_text();
  json["unattributed_w"] = picture.unattributed.value();
  json["devices"] = Json::array();
  for (const DevicePower& device : picture.devices) {
    json["devices"].push_back(device_json(device, picture.span));
  }
  json["processes"] = Json::array();
  for (const ProcessPower& process : picture.processes) {
    json["processes"].push_back(process_json(process));
  }
}

}  // namespace perjoule
