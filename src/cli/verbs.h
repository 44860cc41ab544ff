// One function a verb, defined in the file of its name.
#pragma once

#include "cli/verb.h"

namespace perjoule::cli {

Verb bench_compare_verb();
Verb bench_join_verb();
Verb bench_run_verb();
Verb bench_sweep_verb();
Verb bench_watch_verb();
Verb compare_verb();
Verb devices_verb();
Verb doctor_verb();
Verb fleet_control_verb();
Verb fleet_plan_verb();
Verb fleet_profile_verb();
Verb fleet_simulate_verb();
Verb frontier_verb();
Verb leaderboard_verb();
Verb page_verb();
Verb pipeline_compare_verb();
Verb pipeline_lookup_verb();
Verb pipeline_plan_verb();
Verb pipeline_profile_verb();
Verb pipeline_run_verb();
Verb pipeline_simulate_verb();
Verb pipeline_straggler_verb();
Verb run_verb();
Verb serve_verb();
Verb sweep_verb();
Verb top_verb();
Verb train_power_limit_verb();
Verb train_simulate_verb();
Verb twin_serve_verb();
std::vector<Verb> runs_verbs();
std::vector<Verb> token_verbs();
std::vector<Verb> train_batch_size_verbs();
std::vector<Verb> twin_verbs();

}  // namespace perjoule::cli
