// perjoule devices: what this machine can tell and obey.
#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/machine.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "device/discovery.h"
#include "meter/calibration.h"
#include "meter/machine_json.h"

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

/// doctor --calibrate's, as every verb measures by them.
std::vector<Calibration> kept_calibrations() {
  auto kept = load_calibrations(calibration_path());
  if (kept) return std::move(*kept);
  complain("calibrations left out: " + kept.error().text());
  return {};
}

Json document(const Inventory& machine, const std::vector<Calibration>& calibrations) {
  Json json = Json::object();
  json["schema"] = "perjoule.devices.v1";
  json["devices"] = devices_json(machine, calibrations);
  json["problems"] = problems_json(machine.problems);
  return json;
}

void print_tables(const Inventory& machine, const std::vector<Calibration>& calibrations) {
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
      SourceInfo s = source->info();
      if (const Calibration* const one = find_calibration(calibrations, s)) {
        s = calibrated(s, *one);
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
    const std::vector<Calibration> calibrations = kept_calibrations();
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
