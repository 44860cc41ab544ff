#include "cli/verbs.h"

namespace perjoule::cli {

std::vector<Verb> all_verbs() {
  std::vector<Verb> verbs;
  const auto add_all = [&verbs](std::vector<Verb> more) {
    for (Verb& verb : more) verbs.push_back(std::move(verb));
  };
  verbs.push_back(run_verb());
  verbs.push_back(sweep_verb());
  verbs.push_back(top_verb());
  verbs.push_back(devices_verb());
  verbs.push_back(doctor_verb());
  verbs.push_back(compare_verb());
  add_all(runs_verbs());
  verbs.push_back(frontier_verb());
  verbs.push_back(train_power_limit_verb());
  add_all(train_batch_size_verbs());
  verbs.push_back(train_simulate_verb());
  verbs.push_back(pipeline_profile_verb());
  verbs.push_back(pipeline_plan_verb());
  verbs.push_back(pipeline_lookup_verb());
  verbs.push_back(pipeline_compare_verb());
  verbs.push_back(pipeline_simulate_verb());
  verbs.push_back(pipeline_run_verb());
  verbs.push_back(pipeline_straggler_verb());
  verbs.push_back(bench_run_verb());
  verbs.push_back(bench_sweep_verb());
  verbs.push_back(bench_watch_verb());
  verbs.push_back(bench_compare_verb());
  verbs.push_back(bench_join_verb());
  verbs.push_back(leaderboard_verb());
  verbs.push_back(fleet_profile_verb());
  verbs.push_back(fleet_plan_verb());
  verbs.push_back(fleet_simulate_verb());
  verbs.push_back(fleet_control_verb());
  verbs.push_back(page_verb());
  verbs.push_back(serve_verb());
  add_all(token_verbs());
  add_all(twin_verbs());
  return verbs;
}

}  // namespace perjoule::cli
