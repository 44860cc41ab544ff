#include "meter/measurement_json.h"

#include "base/energy_json.h"

namespace perjoule {
namespace {
Json strings(const std::vector<std::string>& lines) {
  Json array = Json::array();
  for (const std::string& line : lines) array.push_back(line);
  return array;
}
}  // namespace

Json to_json(const UncertaintyBudget& budget) {
  Json json = Json::object();
  const auto add = [&json](const char* name, Joules part) {
    if (part.value() != 0) json[name] = part.value();
  };
  add("edge_j", budget.edge);
  add("quantum_j", budget.quantum);
  add("gain_j", budget.gain);
  add("offset_j", budget.offset);
  add("coverage_j", budget.coverage);
  add("gap_j", budget.gap);
  add("baseline_j", budget.baseline);
  add("attribution_j", budget.attribution);
  return json;
}

Json to_json(const Measurement& measurement) {
  Json json = Json::object();
  json["schema"] = "perjoule.measurement.v1";
  json["name"] = measurement.name;
  json["begin_unix_ns"] = measurement.begin_unix_ns;
  json["duration_s"] = measurement.duration.value();
  json["sync"] = name_of(measurement.sync);
  json["total"] = to_json(measurement.total());
  json["mean_power_w"] = measurement.mean_power().value();
  json["sources"] = Json::array();
  for (const SourceMeasurement& source : measurement.sources) {
    Json one = Json::object();
    one["id"] = source.info.id;
    one["device"] = source.info.device;
    one["scope"] = source.info.scope;
    one["backend"] = source.info.backend;
    one["kind"] = source.info.kind == SourceKind::kEnergyCounter ? "energy_counter" : "power_gauge";
    one["overlaps"] = source.info.overlaps.empty() ? Json() : Json(source.info.overlaps);
    one["tick_s"] = source.info.tick.value();
    if (source.tick_aligned) one["tick_aligned"] = true;
    one["energy"] = to_json(source.energy);
    one["uncertainty"] = to_json(source.budget);
    one["notes"] = strings(source.notes);
    json["sources"].push_back(std::move(one));
  }
  json["notes"] = strings(measurement.notes);
  return json;
}

Json to_json(const std::vector<Attributed>& parts) {
  Json array = Json::array();
  for (const Attributed& part : parts) {
    Json one = Json::object();
    one["owner"] = part.owner;
    one["share"] = part.share;
    one["energy"] = to_json(part.energy);
    array.push_back(std::move(one));
  }
  return array;
}

}  // namespace perjoule
