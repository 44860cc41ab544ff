// perjoule train simulate: how policies for batch size and power limit would have done on recorded
// trainings.
#include <fmt/format.h>

#include <cmath>

#include "base/json.h"
#include "base/text.h"
#include "base/xz.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "train/evaluate.h"
#include "train/job_groups.h"

namespace perjoule::cli {
namespace {

struct Request {
  std::vector<PolicyChoice> choices;
  std::vector<WorkloadTrace> traces;
  EvaluationOptions evaluation;
};

Result<double> number_option(const Arguments& arguments, std::string_view option) {
  const std::string text = arguments.value(option);
  const auto number = parse_number(text);
  if (number) return *number;
  return Error::invalid_argument(fmt::format("--{} {}: not a number", option, text));
}

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
  const std::vector<std::string> names = list_words(arguments.values("workload"));
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
  PJ_TRY(choice.eta, number_option(arguments, "eta"));
  if (arguments.value("beta") == "none") {
    choice.beta = INFINITY;
  } else {
    PJ_TRY(choice.beta, number_option(arguments, "beta"));
  }
  PJ_TRY(const double window, number_option(arguments, "window"));
  choice.window = static_cast<int>(window);
  for (const std::string& name : list_words(arguments.values("policy"))) {
    choice.name = name;
    request.choices.push_back(choice);
  }
  PJ_CHECK(read_seeds(arguments.value("seeds"), request.evaluation));
  if (arguments.has("recurrences")) {
    const auto count = parse_integer(arguments.value("recurrences"));
    if (!count || *count < 1 || *count > 1000000)
      return Error::invalid_argument("--recurrences " + arguments.value("recurrences") +
                                     ": not a count above 0");
    request.evaluation.recurrences = static_cast<int>(*count);
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

Json json_of(const Statistic& value) {
  Json json = Json::object();
  json["mean"] = value.mean;
  json["standard_error"] = value.error;
  return json;
}

Json json_of(const WorkloadTrace& trace, const PolicyChoice& choice,
             const PolicyEvaluation& result) {
  Json json = Json::object();
  json["workload"] = trace.workload.name;
  json["policy"] = choice.name;
  json["recurrences"] = result.recurrences;
  json["last_energy_saved"] = json_of(result.last_energy_saved);
  json["last_time_saved"] = json_of(result.last_time_saved);
  json["energy_saved"] = json_of(result.energy_saved);
  json["time_saved"] = json_of(result.time_saved);
  json["regret"] = json_of(result.regret);
  json["runs"] = json_of(result.runs);
  json["failed"] = json_of(result.failed);
  json["cheaper_seeds"] = result.cheaper_seeds;
  json["amortised_at"] = json_of(result.amortised);
  json["picked_batch"] = result.picked_batch;
  json["picked_limit_w"] = result.picked_limit.value();
  json["picked_share"] = result.picked_share;
  return json;
}

std::string with_error(const Statistic& value, double scale, int decimals) {
  const double error = value.error * scale;
  const std::string mean = fmt::format("{:.{}f}", value.mean * scale, decimals);
  return error > 0 ? fmt::format("{} +- {:.{}f}", mean, 2 * error, decimals) : mean;
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
  Table table({{"WORKLOAD"},
               {"POLICY"},
               {"JOBS", Table::Align::kRight},
               {"LAST 5: ENERGY %", Table::Align::kRight},
               {"TIME %", Table::Align::kRight},
               {"ALL: ENERGY %", Table::Align::kRight},
               {"TIME %", Table::Align::kRight},
               {"REGRET", Table::Align::kRight},
               {"PICK"},
               {"OF LAST 10", Table::Align::kRight}});
  Json results = Json::array();
  const bool show_progress = error_is_terminal();
  for (const WorkloadTrace& trace : request.traces) {
    for (const PolicyChoice& choice : request.choices) {
      if (show_progress)
        fmt::print(stderr, "\r\033[K{} under {} ...", trace.workload.name, choice.name);
      PJ_TRY(const PolicyEvaluation result, evaluate_policy(trace, choice, request.evaluation));
      results.push_back(json_of(trace, choice, result));
      table.add({trace.workload.name, choice.name, std::to_string(result.recurrences),
                 with_error(result.last_energy_saved, 100, 1),
                 with_error(result.last_time_saved, 100, 1),
                 with_error(result.energy_saved, 100, 1), with_error(result.time_saved, 100, 1),
                 with_error(result.regret, 1, 2),
                 fmt::format("batch {}, {:g} W", result.picked_batch, result.picked_limit.value()),
                 percent(result.picked_share, 0)});
    }
  }
  if (show_progress) fmt::print(stderr, "\r\033[K");
  if (arguments.json()) {
    Json json = document(arguments, request);
    json["results"] = std::move(results);
    print(json.dump(2) + "\n");
    return kDone;
  }
  print(table.text());
  print(fmt::format(
      "\nSaved against the default batch size at the highest limit; regret in costs of the best "
      "pair. Simulated from\nrecorded trainings (reconstructed), eta {:g}, {}, +- two standard "
      "errors.\n",
      request.choices.front().eta, counted(request.evaluation.seeds, "seed")));
  return kDone;
}

Result<int> simulate_cluster(const Arguments& arguments, const Request& request) {
  PJ_TRY(const std::string text, read_maybe_xz(arguments.value("groups")));
  PJ_TRY(const std::vector<JobGroup> groups, parse_job_groups(text, arguments.value("groups")));
  Table table({{"DATA SET"},
               {"POLICY"},
               {"JOBS", Table::Align::kRight},
               {"RUNS", Table::Align::kRight},
               {"ENERGY SAVED", Table::Align::kRight},
               {"TIME SAVED", Table::Align::kRight}});
  Json results = Json::array();
  const auto add = [&](const std::string& dataset, const std::string& policy,
                       const GroupTotals& totals) {
    const double energy = 1 - totals.energy / totals.default_energy;
    const double time = 1 - totals.time / totals.default_time;
    table.add({dataset, policy, std::to_string(totals.jobs), std::to_string(totals.runs),
               percent(energy), percent(time)});
    Json json = Json::object();
    json["dataset"] = dataset;
    json["policy"] = policy;
    json["jobs"] = totals.jobs;
    json["runs"] = totals.runs;
    json["energy_j"] = totals.energy.value();
    json["time_s"] = totals.time.value();
    json["default_energy_j"] = totals.default_energy.value();
    json["default_time_s"] = totals.default_time.value();
    results.push_back(std::move(json));
  };
  for (const PolicyChoice& choice : request.choices) {
    std::function<void(std::size_t)> progress;
    if (error_is_terminal()) {
      progress = [&](std::size_t done) {
        fmt::print(stderr, "\r\033[K{}: {} of {} groups", choice.name, done, groups.size());
      };
    }
    PJ_TRY(const auto totals, simulate_groups(groups, request.traces, choice,
                                              request.evaluation.first_seed, progress));
    if (progress) fmt::print(stderr, "\r\033[K");
    GroupTotals all;
    for (const auto& [dataset, part] : totals) {
      add(dataset, choice.name, part);
      all += part;
    }
    add("all", choice.name, all);
  }
  if (arguments.json()) {
    Json json = document(arguments, request);
    json["groups"] = arguments.value("groups");
    json["results"] = std::move(results);
    print(json.dump(2) + "\n");
    return kDone;
  }
  print(table.text());
  print(
      "\nSaved against the default batch size at the highest limit; simulated from recorded "
      "trainings (reconstructed).\n");
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
      {"window", "COUNT", "remember so many results of a batch size; 0: all", "0"},
      {"seeds", "FIRST:LAST", "one simulation a seed", "1"},
      {"recurrences", "COUNT", "of the job; otherwise twice batch sizes times limits"},
  };
  verb.examples = {
      "perjoule train simulate --trace zeus_nsdi23 --policy zeus,perjoule --seeds 1:20",
      "perjoule train simulate --trace zeus_nsdi23 --groups groups.csv.xz --policy perjoule --json",
  };
  verb.run = run;
  return verb;
}

}  // namespace perjoule::cli
