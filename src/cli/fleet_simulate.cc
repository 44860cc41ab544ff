// perjoule fleet simulate: what a fleet would have drawn over a recorded load, under each policy.
#include "cli/fleet_fluid.h"
#include "cli/fleet_options.h"
#include "cli/verbs.h"

namespace perjoule::cli {
namespace {

Result<int> run(const Arguments& arguments) {
  if (arguments.has("fluid")) return run_fleet_fluid(arguments);
  return Error::invalid_argument("fleet simulate: how is the load to be played?",
                                 "--fluid, as a fluid, is what there is");
}

}  // namespace

Verb fleet_simulate_verb() {
  Verb verb;
  verb.name = "fleet simulate";
  verb.summary = "what a fleet takes over a recorded load under each policy";
  verb.description =
      "With --fluid the load is a fluid of prompt tokens, divided among servers whose power and\n"
      "latencies are the profile's at their share: energy, saving, servers and latencies kept, "
      "for\n"
      "each policy, with perfect knowledge of the load, servers that are off drawing nothing, and\n"
      "changes that cost nothing. It says what a policy can save at best.\n\n"
      "LOAD is an Azure LLM inference trace (TIMESTAMP, ContextTokens, GeneratedTokens), a table "
      "of\n"
      "requests a minute with --column and --tokens-per-request, or our table of loads\n"
      "(start_s, duration_s, prompt_tps).\n\n"
      "Policies:\n" +
      fluid_policy_words() +
      "\nExit status 1 where no point of the profile meets the latencies. What a fleet of "
      "--servers\n"
      "cannot serve is stated as unserved. docs/fleet.md has the formulas.";
  verb.positionals = {{"LOAD", "the load over time"}};
  verb.options = {{"fluid", "", "play the load as a fluid"}};
  for (auto more : {fleet_profile_options(), latency_options(), fleet_fluid_options()}) {
    for (Option& option : more) verb.options.push_back(std::move(option));
  }
  verb.examples = {
      "perjoule fleet simulate --fluid AzureLLMInferenceTrace_conv.csv --scale 10 --profile "
      "llama70b.csv",
      "perjoule fleet simulate --fluid load_10min_digitised.csv --column conv_req_per_min "
      "--tokens-per-request 1632 --epoch 30min --profile llama70b.csv",
      "perjoule fleet simulate --fluid load.csv --profile llama70b.csv --servers 20 --policy "
      "single-pool,joint --prices day_ahead.csv --gpu-hour-price 2.5 --json",
  };
  verb.run = run;
  return verb;
}

}  // namespace perjoule::cli
