// perjoule fleet simulate: what a fleet would have drawn over a recorded load, under each policy.
#include <algorithm>

#include "cli/fleet_events.h"
#include "cli/fleet_fluid.h"
#include "cli/fleet_options.h"
#include "cli/verbs.h"

namespace perjoule::cli {
namespace {

/// What the other way of playing a load has, and this one would pass over.
Outcome check_options(const Arguments& arguments, const std::vector<Option>& others,
                      const std::vector<Option>& own, std::string_view words) {
  for (const Option& option : others) {
    const bool shared = std::any_of(own.begin(), own.end(),
                                    [&](const Option& one) { return one.name == option.name; });
    if (!shared && arguments.typed(option.name)) {
      return Error::invalid_argument("--" + option.name + ": " + std::string(words));
    }
  }
  return {};
}

/// Options of the fluid that the simulation of requests has as well.
std::vector<Option> fleet_event_words() {
  std::vector<Option> words = fleet_event_options();
  for (const char* const name :
       {"policy", "servers", "scale", "column", "prices", "gpu-hour-price", "profile"})
    words.push_back({name, "", ""});
  return words;
}

std::vector<Option> fleet_fluid_words() {
  std::vector<Option> words = fleet_fluid_options();
  for (auto more : {fleet_profile_options(), latency_options()})
    words.insert(words.end(), more.begin(), more.end());
  return words;
}

Result<int> run(const Arguments& arguments) {
  if (arguments.has("fluid")) {
    PJ_CHECK(
        check_options(arguments, fleet_event_words(), fleet_fluid_words(), "not with --fluid"));
  } else {
    PJ_CHECK(
        check_options(arguments, fleet_fluid_words(), fleet_event_words(), "only with --fluid"));
  }
  if (arguments.has("fluid")) return run_fleet_fluid(arguments);
  return run_fleet_events(arguments);
}

}  // namespace

Verb fleet_simulate_verb() {
  Verb verb;
  verb.name = "fleet simulate";
  verb.summary = "what a fleet takes over a recorded load under each policy";
  verb.description =
      "Request by request: servers of eight GPUs in pools by class of requests, continuous "
      "batching,\n"
      "and three controllers, with changes that take time; energy, servers, latencies and how "
      "many\n"
      "requests had their tokens in time. The engines are those of a 70B model on 2, 4 and 8 "
      "H100;\n"
      "their figures are synthetic, as nobody published such. Policies:\n" +
      fleet_policy_words() +
      "\nWith --fluid the load is a fluid of prompt tokens, divided among servers whose power and\n"
      "latencies are a profile's at their share, with perfect knowledge of the load and changes "
      "that\n"
      "cost nothing. It says what a policy can save at best. Policies:\n" +
      fluid_policy_words() +
      "\nLOAD is an Azure LLM inference trace (TIMESTAMP, ContextTokens, GeneratedTokens), a "
      "table\n"
      "of requests a minute (with --lengths, or with --fluid --tokens-per-request), or with "
      "--fluid\n"
      "our table of loads (start_s, duration_s, prompt_tps).\n\n"
      "Exit status 1 where nothing is in time at any load. What a fleet of --servers cannot serve "
      "is\n"
      "counted as squashed, with --fluid as unserved. docs/fleet.md has the formulas.";
  verb.positionals = {{"LOAD", "the load over time"}};
  verb.options = {{"fluid", "", "play the load as a fluid"}};
  for (auto more :
       {fleet_event_options(), fleet_profile_options(), latency_options(), fleet_fluid_options()}) {
    for (Option& option : more) verb.options.push_back(std::move(option));
  }
  verb.examples = {
      "perjoule fleet simulate AzureLLMInferenceTrace_conv.csv --scale 10",
      "perjoule fleet simulate week.csv --column conv_req_per_min --lengths conv.csv --learn 5d",
      "perjoule fleet simulate --fluid conv.csv --scale 10 --profile llama70b.csv",
      "perjoule fleet simulate --fluid load.csv --profile llama70b.csv --servers 20 --json",
  };
  verb.run = run;
  return verb;
}

}  // namespace perjoule::cli
