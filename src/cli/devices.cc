// perjoule devices: what this machine can tell and obey.
#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/machine.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "device/discovery.h"
#include "meter/calibration.h"

namespace perjoule::cli {
namespace {

std::string kind_in_words(const SourceInfo& info) {
  if (info.kind == SourceKind::kEnergyCounter)
    return info.status == Status::kEstimated ? "estimate" : "energy";
  if (info.averaging.value() > 0) return "power, " + to_text(info.averaging, 3) + " mean";
  return "power";
}

std::string trust_in_words(const SourceInfo& info) {
  if (info.status == Status::kEstimated) return "model";
  std::string words = info.gain > 0 ? "+-" + percent(info.gain, 0) : "";
  if (info.offset.value() > 0) words += (words.empty() ? "+-" : " +-") + to_text(info.offset, 2);
  return words;
}

std::string range_in_words(const KnobInfo& info) {
  if (!info.choices.empty()) {
    std::string words;
    for (const std::string& choice : info.choices) words += (words.empty() ? "" : ", ") + choice;
    return words;
  }
  return fmt::format("{} to {} {}", info.minimum, info.maximum, info.unit);
}

/// The sources as their calibrations leave them (doctor --calibrate), as every verb measures them.
class Calibrated {
 public:
  Calibrated() {
    auto kept = load_calibrations(calibration_path());
    if (kept) {
      all_ = std::move(*kept);
    } else {
      complain("calibrations left out: " + kept.error().text());
    }
  }
  const Calibration* find(const SourceInfo& info) const {
    for (const Calibration& one : all_) {
      if (one.source == info.id) return &one;
    }
    return nullptr;
  }
  SourceInfo info(const SourceInfo& info) const {
    const Calibration* one = find(info);
    return one == nullptr ? info : calibrated(info, *one);
  }

 private:
  std::vector<Calibration> all_;
};

Json source_json(const SourceInfo& plain, const Calibrated& calibrations) {
  const SourceInfo s = calibrations.info(plain);
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
  const Calibration* calibration = calibrations.find(plain);
  row["calibration"] = calibration == nullptr ? Json() : to_json(*calibration);
  return row;
}

Json document(const Inventory& machine, const Calibrated& calibrations) {
  Json json = Json::object();
  json["schema"] = "perjoule.devices.v1";
  json["devices"] = Json::array();
  for (const auto& device : machine.devices) {
    const DeviceInfo& info = device->info();
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
    for (Source* source : device->sources()) {
      one["sources"].push_back(source_json(source->info(), calibrations));
    }
    one["knobs"] = Json::array();
    for (Knob* knob : device->knobs()) {
      const KnobInfo& k = knob->info();
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
      const auto value = knob->get();
      row["value"] = value ? Json(*value) : Json();
      one["knobs"].push_back(std::move(row));
    }
    json["devices"].push_back(std::move(one));
  }
  json["problems"] = Json::array();
  for (const Problem& problem : machine.problems) {
    Json one = Json::object();
    one["subject"] = problem.subject;
    one["code"] = name_of(problem.error.code);
    one["message"] = problem.error.message;
    one["remedy"] = problem.error.remedy;
    json["problems"].push_back(std::move(one));
  }
  return json;
}

void print_tables(const Inventory& machine, const Calibrated& calibrations) {
  Table devices({{"DEVICE"}, {"NAME"}, {"DRIVER"}, {"NOTE"}});
  Table sources({{"SOURCE"},
                 {"TELLS"},
                 {"SCOPE"},
                 {"THROUGH"},
                 {"STATUS"},
                 {"TICK", Table::Align::kRight},
                 {"SEES", Table::Align::kRight},
                 {"ERROR"},
                 {"SUMMED"}});
  Table knobs({{"KNOB"}, {"NAME"}, {"NOW", Table::Align::kRight}, {"RANGE"}, {"DEFAULT"}});
  bool any_knob = false;
  std::string corrections;
  for (const auto& device : machine.devices) {
    const DeviceInfo& info = device->info();
    devices.add({info.id, info.name, info.driver, info.note});
    for (Source* source : device->sources()) {
      const SourceInfo s = calibrations.info(source->info());
      if (const Calibration* one = calibrations.find(s)) {
        corrections += fmt::format("{}: calibrated: true power = {:.4f} x reading {:+.3g} W\n",
                                   s.id, one->scale, one->shift.value());
      }
      sources.add({s.id, kind_in_words(s), s.scope, s.backend, std::string(name_of(s.status)),
                   to_text(s.tick, 3), percent(s.coverage, 0), trust_in_words(s),
                   s.overlaps.empty() ? "yes" : "no"});
    }
    for (Knob* knob : device->knobs()) {
      any_knob = true;
      const auto value = knob->get();
      knobs.add({knob->info().id, knob->info().name,
                 value ? *value : std::string(name_of(value.error().code)),
                 range_in_words(knob->info()), knob->info().default_value});
    }
  }
  print(devices.text() + "\n" + sources.text() + corrections);
  if (any_knob) print("\n" + knobs.text());
  for (const Problem& problem : machine.problems)
    print("\n" + problem.subject + ": " + problem.error.text() + "\n");
}

}  // namespace

Verb devices_verb() {
  Verb verb;
  verb.name = "devices";
  verb.summary = "what can be measured and set here";
  verb.description =
      "Lists every source of energy and power with its tick, coverage and error, and every knob "
      "with its range. "
      "Sources that overlap another one are shown but never summed.";
  verb.options = {{"node-meters", "", "also ask the node's own meter (IPMI); can take a second"}};
  verb.examples = {"perjoule devices", "perjoule devices --json | jq '.devices[].sources[].id'"};
  verb.run = [](const Arguments& arguments) -> Result<int> {
    const RealClock clock;
    DiscoveryOptions options;
    options.node_meters = arguments.has("node-meters");
    PJ_TRY(const Inventory machine, look_at_machine(clock, options));
    tell(replay_dead(journal_folder(), machine));
    const Calibrated calibrations;
    if (arguments.json()) {
      print(document(machine, calibrations).dump(2) + "\n");
    } else {
      print_tables(machine, calibrations);
    }
    return machine.sources().empty() ? kMachineCannot : kDone;
  };
  return verb;
}

}  // namespace perjoule::cli
