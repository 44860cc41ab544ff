#include "meter/machine_json.h"

#include <algorithm>

namespace perjoule {
namespace {

Json source_json(const SourceInfo& plain, const std::vector<Calibration>& calibrations) {
  const Calibration* const calibration = find_calibration(calibrations, plain);
  const SourceInfo s = calibration == nullptr ? plain : calibrated(plain, *calibration);
  Json row = Json::object();
  row["id"] = s.id;
  row["kind"] = s.kind == SourceKind::kEnergyCounter ? "energy_counter" : "power_gauge";
  row["backend"] = s.backend;
  row["scope"] = s.scope;
  row["status"] = name_of(s.status);
  row["boundary"] = name_of(s.boundary);
  row["tick_s"] = s.tick.value();
  row["averaging_s"] = s.averaging.value();
  row["coverage"] = s.coverage;
  row["quantum"] = s.quantum;
  row["gain"] = s.gain;
  row["offset_w"] = s.offset.value();
  row["overlaps"] = s.overlaps.empty() ? Json() : Json(s.overlaps);
  row["calibration"] = calibration == nullptr ? Json() : to_json(*calibration);
  return row;
}

Json knob_json(Knob& knob) {
  const KnobInfo& k = knob.info();
  Json row = Json::object();
  row["id"] = k.id;
  row["name"] = k.name;
  row["unit"] = k.unit;
  row["minimum"] = k.minimum;
  row["maximum"] = k.maximum;
  row["default"] = k.default_value;
  if (!k.choices.empty()) {
    row["choices"] = Json::array();
    for (const std::string& choice : k.choices) row["choices"].push_back(choice);
    row["combinable"] = k.combinable;
  }
  const auto value = knob.get();
  row["value"] = value ? Json(*value) : Json();
  return row;
}

Json device_json(Device& device, const std::vector<Calibration>& calibrations) {
  const DeviceInfo& info = device.info();
  Json one = Json::object();
  one["id"] = info.id;
  one["kind"] = name_of(info.kind);
  one["name"] = info.name;
  one["vendor"] = info.vendor;
  one["driver"] = info.driver;
  one["index"] = info.index;
  one["uuid"] = info.uuid;
  one["pci"] = info.pci;
  one["note"] = info.note;
  one["sources"] = Json::array();
  for (const Source* const source : device.sources()) {
    one["sources"].push_back(source_json(source->info(), calibrations));
  }
  one["knobs"] = Json::array();
  for (Knob* const knob : device.knobs()) one["knobs"].push_back(knob_json(*knob));
  return one;
}

}  // namespace

const Calibration* find_calibration(const std::vector<Calibration>& all, const SourceInfo& source) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Calibration& one) { return one.source == source.id; });
  return found == all.end() ? nullptr : &*found;
}

Json devices_json(const Inventory& machine, const std::vector<Calibration>& calibrations) {
  Json devices = Json::array();
  for (const auto& device : machine.devices) {
    devices.push_back(device_json(*device, calibrations));
  }
  return devices;
}

Json problems_json(const std::vector<Problem>& problems) {
  Json json = Json::array();
  for (const Problem& problem : problems) {
    Json one = Json::object();
    one["subject"] = problem.subject;
    one["code"] = name_of(problem.error.code);
    one["message"] = problem.error.message;
    one["remedy"] = problem.error.remedy;
    json.push_back(std::move(one));
  }
  return json;
}

}  // namespace perjoule
