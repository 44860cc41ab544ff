// perjoule pipeline lookup: which of the plans to run while another pipeline straggles.
#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/table.h"
#include "cli/verbs.h"

namespace perjoule::cli {
namespace {

struct Found {
  Json document;
  std::size_t plan = 0;
  double until = 0;  ///< s
};

Result<double> number_of(const Json& json, std::string_view name, const std::string& path) {
  const auto number = json.number(name);
  if (number) return *number;
  return Error::invalid_argument(fmt::format("{}: {} is missing or no number", path, name),
                                 "it is written by: perjoule pipeline plan --output FILE");
}

/// T' from --until, or as a multiple of the highest setting's iteration time.
Result<double> straggler_time(const Arguments& arguments, const Json& document,
                              const std::string& path) {
  if (arguments.has("until") == arguments.has("straggler")) {
    return Error::invalid_argument("one of --until and --straggler is wanted",
                                   "--until 3.4s, or --straggler 1.2 for 1.2 times the time at the "
                                   "highest setting");
  }
  if (arguments.has("until")) {
    PJ_TRY(const auto until, arguments.read("until", parse_seconds));
    return until->value();
  }
  const auto factor = parse_number(arguments.value("straggler"));
  if (!factor || !(*factor >= 1)) {
    return Error::invalid_argument("--straggler " + arguments.value("straggler") +
                                   ": not a factor from 1 up");
  }
  const Json* highest = document.find("highest");
  if (highest == nullptr) {
    return Error::invalid_argument(path + ": highest is missing");
  }
  PJ_TRY(const double time, number_of(*highest, "time_s", path));
  return time * *factor;
}

Result<Found> find(const Arguments& arguments) {
  const std::string path = arguments.values("PLANS").front();
  PJ_TRY(const std::string text, read_file(path));
  Result<Json> document = parse_json(text);
  if (!document) return fail(document, path);
  Found found{std::move(*document), 0, 0};
  const Json* plans = found.document.find("plans");
  if (found.document.string("schema") != "perjoule.pipeline-plans.v1" || plans == nullptr ||
      plans->as_array() == nullptr || plans->as_array()->empty()) {
    return Error::invalid_argument(path + ": not a file of pipeline plans",
                                   "it is written by: perjoule pipeline plan --output FILE");
  }
  PJ_TRY(found.until, straggler_time(arguments, found.document, path));
  double cap = found.until;
  const std::string policy = arguments.value("policy");
  if (policy == "alone") {
    PJ_TRY(const double least, number_of(found.document, "least_energy_s", path));
    cap = std::min(cap, least);
  } else if (policy != "until") {
    return Error::invalid_argument("--policy " + policy + ": there are until and alone");
  }
  double chosen = -1;
  for (std::size_t i = 0; i < plans->as_array()->size(); ++i) {
    PJ_TRY(const double time, number_of((*plans->as_array())[i], "time_s", path));
    // A double of the same time may differ in its last bit.
    if (time > cap * (1 + 1e-12) || time <= chosen) continue;
    chosen = time;
    found.plan = i;
  }
  return found;
}

Result<int> run(const Arguments& arguments) {
  PJ_TRY(const Found found, find(arguments));
  const std::string path = arguments.values("PLANS").front();
  const Json& plan = (*found.document.find("plans")->as_array())[found.plan];
  PJ_TRY(const double time, number_of(plan, "time_s", path));
  PJ_TRY(const double energy, number_of(plan, "energy_j", path));
  PJ_TRY(const double blocking, number_of(found.document, "blocking_power_w", path));
  PJ_TRY(const double stages, number_of(found.document, "stages", path));
  const double waited = std::max(0.0, found.until - time);
  const double until = energy + blocking * stages * waited;
  PJ_TRY(const double highest_time, number_of(*found.document.find("highest"), "time_s", path));
  PJ_TRY(const double highest_energy, number_of(*found.document.find("highest"), "energy_j", path));
  const double highest_until =
      highest_energy + blocking * stages * std::max(0.0, found.until - highest_time);
  if (arguments.json()) {
    Json json = Json::object();
    json["schema"] = "perjoule.pipeline-lookup.v1";
    json["status"] = "reconstructed";
    json["until_s"] = found.until;
    json["policy"] = arguments.value("policy");
    json["plan"] = static_cast<std::uint64_t>(found.plan);
    json["time_s"] = time;
    json["until_j"] = until;
    json["highest_until_j"] = highest_until;
    json["knobs"] = *found.document.find("knobs");
    json["order"] = *found.document.find("order");
    json["instructions"] = *found.document.find("instructions");
    json["knob"] = *plan.find("knob");
    print(json.dump() + "\n");
    return kDone;
  }
  print(fmt::format(
      "While another pipeline takes {}: plan {} of {}, {} (waits {}).\nEnergy until then {}, at "
      "the highest setting {}: {} saved. Reconstructed.\n",
      to_text(Seconds(found.until)), found.plan, found.document.find("plans")->as_array()->size(),
      to_text(Seconds(time)), to_text(Seconds(waited)), to_text(Joules(until)),
      to_text(Joules(highest_until)), percent(1 - until / highest_until)));
  if (time > found.until) {
    print("It is no straggler: even the fastest plan takes longer.\n");
    return kAnswerIsNo;
  }
  return kDone;
}

}  // namespace

Verb pipeline_lookup_verb() {
  Verb verb;
  verb.name = "pipeline lookup";
  verb.summary = "the plan to run while another pipeline keeps everybody waiting";
  verb.description =
      "Everybody waits for the slowest pipeline, and draws the blocking power until then whatever "
      "it does. So the\nslowest plan that is not late and whose effective energy still falls takes "
      "least (policy until). Policy alone\nnever goes beyond the iteration of least energy, as "
      "Perseus publishes it.";
  verb.positionals = {{"PLANS", "file of: perjoule pipeline plan --output"}};
  verb.options = {
      {"until", "TIME", "when the straggler ends its iteration"},
      {"straggler", "FACTOR", "or how many times the time at the highest setting it takes"},
      {"policy", "NAME", "until: least energy until then; alone: least energy of the iteration",
       "until"},
  };
  verb.examples = {"perjoule pipeline lookup plans.json --straggler 1.2",
                   "perjoule pipeline lookup plans.json --until 3.4s --json"};
  verb.run = run;
  return verb;
}

}  // namespace perjoule::cli
