// perjoule pipeline lookup: which of the plans to run while another pipeline straggles.
#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "cli/pipeline_notes.h"
#include "cli/pipeline_plan_file.h"
#include "cli/pipeline_plan_settings.h"
#include "cli/table.h"
#include "cli/verbs.h"

namespace perjoule::cli {
namespace {

/// T' from --until, or as a multiple of the highest setting's iteration time.
Result<Seconds> straggler_time(const Arguments& arguments, const PlanFile& file) {
  if (arguments.has("until") == arguments.has("straggler")) {
    return Error::invalid_argument("one of --until and --straggler is wanted",
                                   "--until 3.4s, or --straggler 1.2 for 1.2 times the time at the "
                                   "highest setting");
  }
  if (arguments.has("until")) {
    PJ_TRY(const auto until, arguments.read("until", parse_seconds));
    if (until && until->value() > 0 && *until <= kMostTime) return *until;
    return Error::invalid_argument(
        fmt::format("--until {}: not a time above 0", arguments.value("until")),
        fmt::format("it is how long the straggler's iteration takes, at most {:g} s",
                    kMostTime.value()));
  }
  const auto factor = parse_number(arguments.value("straggler"));
  if (factor && *factor >= 1 && file.highest.time * *factor <= kMostTime)
    return file.highest.time * *factor;
  return Error::invalid_argument(
      "--straggler " + arguments.value("straggler") + ": not a factor from 1 up",
      fmt::format("1.2 is a straggler that takes 1.2 times the time at the highest setting; its "
                  "iteration takes at most {:g} s",
                  kMostTime.value()));
}

/// The plan that takes least until T' of those that are not late; the fastest where all are.
std::size_t choose(const PlanFile& file, Seconds until, Seconds cap) {
  const auto& plans = file.plans;
  // A double of the same time may differ in its last bit.
  const auto is_late = [&](std::size_t i) { return plans[i].time > cap * (1 + 1e-12); };
  std::size_t chosen = 0;
  for (std::size_t i = 1; i < plans.size(); ++i) {
    if (is_late(i) != is_late(chosen)) {
      if (is_late(chosen)) chosen = i;
    } else if (is_late(i) ? plans[i].time < plans[chosen].time
                          : plans[i].until(until) < plans[chosen].until(until)) {
      chosen = i;
    }
  }
  return chosen;
}

Result<int> run(const Arguments& arguments) {
  const std::string path = arguments.values("PLANS").front();
  PJ_TRY(const PlanFile file, read_plan_file(path));
  PJ_TRY(const Seconds until, straggler_time(arguments, file));
  const std::string policy = arguments.value("policy");
  if (policy != "alone" && policy != "until") {
    return Error::invalid_argument("--policy " + policy + ": no policy is called that",
                                   "there are until and alone");
  }
  const Seconds cap = policy == "alone" ? std::min(until, file.least_energy) : until;
  const std::size_t number = choose(file, until, cap);
  const PlanFile::Plan& plan = file.plans[number];
  const Joules energy = plan.until(until);
  const Joules highest = file.highest.until(until);
  if (arguments.json()) {
    Json json = Json::object();
    json["schema"] = "perjoule.pipeline-lookup.v1";
    add_provenance(json);
    json["until_s"] = until.value();
    json["policy"] = policy;
    json["plan"] = static_cast<std::uint64_t>(number);
    json["time_s"] = plan.time.value();
    json["until_j"] = energy.value();
    json["energy_sigma_j"] = sigma_json(plan.error);
    json["highest_until_j"] = highest.value();
    json["highest_energy_sigma_j"] = sigma_json(file.highest.error);
    for (const std::string_view member : {"knobs", "order", "instructions"}) {
      json[member] = *file.document.find(member);
    }
    // Of schedules that run a forward and a backward in one step.
    if (const Json* fused = file.document.find("backward_microbatch")) {
      json["backward_microbatch"] = *fused;
    }
    PJ_TRY(const StepSettings settings,
           read_settings(*file.document.find("plans")->as_array(), number, file.shape, path));
    json["knob"] = json_of(settings);
    print(json.dump() + "\n");
  } else {
    print(fmt::format(
        "While another pipeline takes {}: plan {} of {}, {} (waits {}).\nEnergy until then {}, at "
        "the highest setting {}: {} saved. Reconstructed.\n",
        to_text(until), number, file.plans.size(), to_text(plan.time),
        to_text(std::max(Seconds(0), until - plan.time)), to_text(energy), to_text(highest),
        percent(1 - energy / highest)));
    print(how_well_known({{energy, plan.error}, {highest, file.highest.error}}));
  }
  if (plan.time <= until * (1 + 1e-12)) return kDone;
  complain("pipeline lookup: it is no straggler: even the fastest plan takes longer");
  return kAnswerIsNo;
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
