// perjoule train simulate: how policies for batch size and power limit would have done on recorded
// trainings.
#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "base/xz.h"
#include "cli/progress.h"
#include "cli/train_options.h"
#include "cli/train_simulate_view.h"
#include "cli/verbs.h"
#include "train/evaluate.h"
#include "train/job_groups.h"

namespace perjoule::cli {
namespace {

struct Request {
  std::vector<PolicyChoice> choices;  ///< at least one
  std::vector<WorkloadTrace> traces;
  EvaluationOptions evaluation;
};

/// "7" or "1:20".
Outcome read_seeds(const std::string& text, EvaluationOptions& options) {
  const auto parts = split(text, ':');
  const auto first = parse_integer(parts.front());
  const auto last = parse_integer(parts.back());
  if (parts.size() > 2 || !first || !last || *first < 0 || *last < *first ||
      *last - *first > 999999)
    return Error::invalid_argument("--seeds " + text + ": not a seed or a range FIRST:LAST");
  options.first_seed = static_cast<std::uint64_t>(*first);
  options.seeds = static_cast<int>(*last - *first + 1);
  return {};
}

Result<std::vector<Workload>> wanted_workloads(const Arguments& arguments) {
  std::vector<Workload> known = zeus_workloads();
  if (arguments.has("workloads")) {
    PJ_TRY(known, read_workloads(arguments.value("workloads")));
  }
  PJ_TRY(const std::vector<std::string> names, arguments.list("workload"));
  if (names.empty()) return known;
  std::vector<Workload> wanted;
  for (const std::string& name : names) {
    const auto at = std::find_if(known.begin(), known.end(),
                                 [&](const Workload& each) { return each.name == name; });
    if (at == known.end()) {
      std::string all;
      for (const Workload& each : known) all += (all.empty() ? "" : ", ") + each.name;
      return Error::invalid_argument("--workload " + name + ": there is none of that name",
                                     "known are " + all);
    }
    wanted.push_back(*at);
  }
  return wanted;
}

Result<Request> read_request(const Arguments& arguments) {
  Request request;
  PolicyChoice choice;
  const auto eta = parse_number(arguments.value("eta"));
  if (!eta) return Error::invalid_argument("--eta " + arguments.value("eta") + ": not a number");
  choice.eta = *eta;
  PJ_TRY(choice.beta, read_beta(arguments));
  PJ_TRY(choice.window, read_count(arguments, "window"));
  PJ_TRY(choice.prior, read_cost_prior(arguments));
  PJ_TRY(const std::vector<std::string> policies, arguments.list("policy"));
  for (const std::string& name : policies) {
    choice.name = name;
    request.choices.push_back(choice);
  }
  if (request.choices.empty()) {
    return Error::invalid_argument("--policy names no policy",
                                   "zeus, perjoule, default, grid or oracle");
  }
  PJ_CHECK(read_seeds(arguments.value("seeds"), request.evaluation));
  if (arguments.has("recurrences")) {
    if (arguments.has("groups"))
      return Error::invalid_argument("--recurrences does not go with --groups",
                                     "a cluster's jobs recur as its file says");
    PJ_TRY(request.evaluation.recurrences, read_count(arguments, "recurrences", 1'000'000));
    if (request.evaluation.recurrences == 0)
      return Error::invalid_argument("--recurrences 0: not a count above 0");
  }
  PJ_TRY(const TraceTables tables,
         TraceTables::read(arguments.value("trace"), arguments.value("gpu")));
  PJ_TRY(const std::vector<Workload> workloads, wanted_workloads(arguments));
  for (const Workload& workload : workloads) {
    PJ_TRY(WorkloadTrace trace, tables.select(workload));
    request.traces.push_back(std::move(trace));
  }
  return request;
}

Json document(const Arguments& arguments, const Request& request) {
  Json json = Json::object();
  json["schema"] = "perjoule.train-simulation.v1";
  json["status"] = "reconstructed";
  json["trace"] = arguments.value("trace");
  json["gpu"] = arguments.value("gpu");
  json["eta"] = request.choices.front().eta;
  // JSON has no infinity: no bound is null.
  json["beta"] =
      std::isinf(request.choices.front().beta) ? Json() : Json(request.choices.front().beta);
  json["first_seed"] = static_cast<std::int64_t>(request.evaluation.first_seed);
  json["seeds"] = request.evaluation.seeds;
  return json;
}

Result<int> simulate_jobs(const Arguments& arguments, const Request& request) {
  Table table = evaluation_table();
  Json results = Json::array();
  Json workloads = Json::array();
  {
    Progress progress;
    const auto parts = static_cast<double>(request.traces.size() * request.choices.size());
    double done = 0;
    for (const WorkloadTrace& trace : request.traces) {
      PJ_TRY(const JobCost cost, JobCost::make(request.choices.front().eta, trace.max_power));
      workloads.push_back(expected_json(trace, cost, arguments.has("pairs")));
      for (const PolicyChoice& choice : request.choices) {
        EvaluationOptions options = request.evaluation;
        const std::string what = trace.workload.name + " under " + choice.name;
        if (progress.live())
          options.progress = [&](double share) { progress.show((done + share) / parts, what); };
        PJ_TRY(const PolicyEvaluation result, evaluate_policy(trace, choice, options));
        ++done;
        results.push_back(json_of(trace, choice, result));
        table.add(evaluation_row(trace, choice, result));
      }
    }
  }
  if (arguments.json()) {
    Json json = document(arguments, request);
    json["workloads"] = std::move(workloads);
    json["results"] = std::move(results);
    print(json.dump(2) + "\n");
    return kDone;
  }
  print(table.text() + "\n" + expected_text(request.traces, request.choices.front().eta));
  print(fmt::format(
      "\nETA, TTA: energy and time to the target, failed trainings included. Saved against the "
      "default; regret in\ncosts of the best pair. Simulated from recorded trainings "
      "(reconstructed), eta {:g}, {}, +- two standard errors.\n",
      request.choices.front().eta, counted(request.evaluation.seeds, "seed")));
  return kDone;
}

/// By data set, and "all" of them: what every seed gave.
using SeedTotals = std::map<std::string, std::vector<GroupTotals>>;

/// Plays the groups under one policy, one time a seed.
Result<SeedTotals> play_seeds(const std::vector<JobGroup>& groups, const Request& request,
                              const PolicyChoice& choice,
                              const std::function<void(double share)>& progress) {
  SeedTotals found;
  const int seeds = request.evaluation.seeds;
  for (int i = 0; i < seeds; ++i) {
    const auto group_done = [&](std::size_t done) {
      progress((i + static_cast<double>(done) / static_cast<double>(groups.size())) / seeds);
    };
    PJ_TRY(
        const auto totals,
        simulate_groups(groups, request.traces, choice,
                        request.evaluation.first_seed + static_cast<std::uint64_t>(i), group_done));
    GroupTotals all;
    for (const auto& [dataset, part] : totals) {
      found[dataset].push_back(part);
      all += part;
    }
    found["all"].push_back(std::move(all));
  }
  return found;
}

Result<int> simulate_cluster(const Arguments& arguments, const Request& request) {
  PJ_TRY(const std::string text, read_maybe_xz(arguments.value("groups")));
  PJ_TRY(const std::vector<JobGroup> groups, parse_job_groups(text, arguments.value("groups")));
  Table table = cluster_table();
  Json results = Json::array();
  {
    Progress progress;
    double done = 0;
    const auto parts = static_cast<double>(request.choices.size());
    for (const PolicyChoice& choice : request.choices) {
      PJ_TRY(SeedTotals found, play_seeds(groups, request, choice, [&](double share) {
               progress.show((done + share) / parts, choice.name + ", groups of jobs");
             }));
      ++done;
      const auto all = found.extract("all");
      for (const auto& [dataset, seeds] : found) {
        results.push_back(json_of(dataset, choice, seeds));
        table.add(cluster_row(dataset, choice, seeds));
      }
      results.push_back(json_of("all", choice, all.mapped()));
      table.add(cluster_row("all", choice, all.mapped()));
    }
  }
  if (arguments.json()) {
    Json json = document(arguments, request);
    json["groups"] = arguments.value("groups");
    json["results"] = std::move(results);
    print(json.dump(2) + "\n");
    return kDone;
  }
  print(table.text() + "\n" + expected_text(request.traces, request.choices.front().eta));
  print(fmt::format(
      "\nETA, TTA: a job's energy and time to the target, failed trainings included. Saved against "
      "the default.\nSimulated from recorded trainings (reconstructed), {}, +- two standard "
      "errors{}.\n",
      counted(request.evaluation.seeds, "seed"),
      request.evaluation.seeds == 1 ? " over jobs; --seeds 1:20 tells how much is chance" : ""));
  return kDone;
}

Result<int> run(const Arguments& arguments) {
  if (!arguments.has("trace"))
    return Error::invalid_argument("--trace is missing", "name the folder of the recorded tables");
  PJ_TRY(const Request request, read_request(arguments));
  return arguments.has("groups") ? simulate_cluster(arguments, request)
                                 : simulate_jobs(arguments, request);
}

}  // namespace

Verb train_simulate_verb() {
  Verb verb;
  verb.name = "train simulate";
  verb.summary = "play recorded trainings under policies for batch size and power limit";
  verb.description =
      "Reads summary_train.csv (epochs to the target by batch size) and summary_power_<gpu>.csv "
      "(epoch time and\n"
      "power by batch size and limit), and lets each policy choose for a job that recurs. "
      "docs/train.md says how\n"
      "the policies work. With --groups a whole cluster of overlapping jobs is played. The same "
      "seed gives the same\nfigures everywhere.";
  verb.options = {
      {"trace", "DIR", "folder of the recorded tables"},
      {"gpu", "NAME", "whose summary_power_<gpu>.csv", "v100"},
      {"policy", "NAME,...", "zeus, perjoule, default, grid or oracle", "perjoule", true},
      {"workload", "NAME,...", "only these of the workloads", "", true},
      {"workloads", "FILE",
       "workloads of one's own: CSV with name, dataset, network, optimizer, target, most_epochs, "
       "default_batch"},
      {"groups", "FILE",
       "a cluster's jobs: CSV with group, start_time, end_time, dataset, runtime_ratio; may be xz"},
      {"eta", "NUMBER", "0: fastest, 1: least energy", "0.5"},
      {"beta", "NUMBER", "stop a training at this many times the lowest cost; none: never", "2"},
      {"window", "COUNT", "remember so many results of a batch size, failures too; 0: all", "0"},
      {"noise", "ENERGY", "zeus: known standard deviation of a training's cost; otherwise learned"},
      {"prior-cost", "ENERGY", "zeus: expected cost of a training, with --prior-deviation"},
      {"prior-deviation", "ENERGY", "zeus: ... give or take so much; otherwise nothing is assumed"},
      {"seeds", "FIRST:LAST", "one simulation a seed", "1"},
      {"recurrences", "COUNT", "of the job; otherwise twice batch sizes times limits"},
      {"pairs", "", "with --json: expected energy and time to the target of every pair"},
  };
  verb.examples = {
      "perjoule train simulate --trace zeus_nsdi23 --policy zeus,perjoule --seeds 1:20",
      "perjoule train simulate --trace zeus_nsdi23 --groups groups.csv.xz --policy perjoule --json",
  };
  verb.run = run;
  return verb;
}

}  // namespace perjoule::cli
