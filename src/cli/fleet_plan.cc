// perjoule fleet plan: the clock of one instance, and the pool of instances, of least power for a
// load.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/fleet_options.h"
#include "cli/fleet_plan_view.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "fleet/plan/pool_integer_programme.h"
#include "fleet/plan/pool_solver.h"

namespace perjoule::cli {
namespace {

/// Of kinds that nothing limits; more than any load takes.
constexpr int kUnlimited = 1'000'000;

struct Request {
  ServingProfile profile;
  LatencyTarget target;
  std::vector<double> loads;
  std::vector<PoolKind> kinds;  ///< with their limits
  std::optional<int> most_gpus;
  bool cbc = false;
};

Result<int> read_count(const std::string& word, std::string_view option) {
  const auto count = parse_integer(word);
  if (count && *count >= 0 && *count <= kUnlimited) return static_cast<int>(*count);
  return Error::invalid_argument(
      fmt::format("--{} {}: not a number from 0 to {}", option, word, kUnlimited));
}

/// "A100 x1=8", or "A100=8" where the GPU has one kind only.
Outcome limit_kind(const std::string& word, std::vector<PoolKind>& kinds) {
  const std::size_t sign = word.rfind('=');
  if (sign == std::string::npos)
    return Error::invalid_argument("--most " + word + ": no KIND=COUNT");
  const std::string name(trim(std::string_view(word).substr(0, sign)));
  PJ_TRY(const int most, read_count(word.substr(sign + 1), "most"));
  std::vector<PoolKind*> fitting;
  std::string known;
  for (PoolKind& kind : kinds) {
    known += (known.empty() ? "" : ", ") + kind.name;
    if (kind.name == name || kind.name.substr(0, kind.name.rfind(" x")) == name)
      fitting.push_back(&kind);
  }
  if (fitting.size() == 1) {
    fitting.front()->most = most;
    return {};
  }
  return Error::invalid_argument(fmt::format("--most {}: {} of that name", word,
                                             fitting.empty() ? "no kind" : "several kinds"),
                                 "there are " + known);
}

Result<std::vector<double>> read_loads(const Arguments& arguments) {
  std::vector<double> loads;
  for (const std::string& word : arguments.values("LOAD")) {
    PJ_TRY(const std::vector<double> some, parse_range(word));
    for (const double load : some) {
      if (!(load >= 0)) return Error::invalid_argument(fmt::format("{}: a load below 0", word));
      loads.push_back(load);
    }
  }
  return loads;
}

Result<Request> read_request(const Arguments& arguments) {
  Request request;
  PJ_TRY(request.loads, read_loads(arguments));
  PJ_TRY(request.target, latency_target(arguments));
  PJ_TRY(request.profile, fleet_profile(arguments));
  PJ_CHECK(check_one_class(request.profile));
  PJ_CHECK(check_profile(request.profile));
  request.kinds = pool_kinds(request.profile, request.target);
  for (PoolKind& kind : request.kinds) kind.most = kUnlimited;
  PJ_TRY(const std::vector<std::string> limits, arguments.list("most"));
  for (const std::string& word : limits) PJ_CHECK(limit_kind(word, request.kinds));
  if (arguments.has("most-gpus")) {
    PJ_TRY(request.most_gpus, read_count(arguments.value("most-gpus"), "most-gpus"));
  }
  const std::string solver = arguments.value("solver");
  if (solver != "exact" && solver != "cbc")
    return Error::invalid_argument("--solver " + solver + ": exact or cbc is wanted");
  request.cbc = solver == "cbc";
  return request;
}

Result<int> run(const Arguments& arguments) {
  PJ_TRY(const Request request, read_request(arguments));
  std::vector<LoadPlan> plans;
  for (const double load : request.loads) {
    LoadPlan plan;
    plan.problem = {request.kinds, load, request.most_gpus};
    PJ_TRY(plan.pool, request.cbc ? solve_pool_by_cbc(plan.problem) : solve_pool(plan.problem));
    plan.clocks = clocks_at(request.profile, load, request.target);
    plan.equal = equal_splits(request.profile, plan.problem, request.target);
    plans.push_back(std::move(plan));
  }
  const PlanView view{request.profile, request.target, request.cbc ? "cbc" : "exact"};
  print(arguments.json() ? plan_json(view, plans).dump(2) + "\n" : plan_text(view, plans));
  bool feasible = true;
  for (const LoadPlan& plan : plans) {
    if (plan.pool.feasible) continue;
    feasible = false;
    complain("fleet plan: " + why_infeasible(plan));
  }
  return feasible ? kDone : kAnswerIsNo;
}

}  // namespace

Verb fleet_plan_verb() {
  Verb verb;
  verb.name = "fleet plan";
  verb.summary = "the clock, and the pool of instances, that serve a load with the least power";
  verb.description =
      "For each load (prompt tokens a second): the layout and clock at which one instance serves "
      "it\nwith the least power within the latencies, against the highest clock; and the pool of\n"
      "instances of least power, each at a measured point of its own (load, layout, clock), which\n"
      "are not limited unless --most and --most-gpus say so. Exact by dynamic programming; "
      "--solver\ncbc asks COIN-OR's CBC instead. Instances that are off draw nothing.\n"
      "Exit status 1 where a load cannot be served; the reason is told. docs/fleet.md has the "
      "formulas.";
  verb.positionals = {
      {"LOAD", "prompt tokens a second: 2400, or 1200,2400 or 600:4800:600", true, true}};
  verb.options = fleet_profile_options();
  for (Option& option : latency_options()) verb.options.push_back(std::move(option));
  verb.options.push_back({"most", "KIND=COUNT,...",
                          "instances of a kind at most: 'A100 x8=4', or A100=4 where the GPU has "
                          "one kind",
                          "", true});
  verb.options.push_back({"most-gpus", "COUNT", "GPUs in all at most"});
  verb.options.push_back({"solver", "exact|cbc", "who solves the pool problem", "exact"});
  verb.examples = {
      "perjoule fleet plan 2400 --profile llama70b.csv",
      "perjoule fleet plan 2400,16000 --profile qwen14b.csv --most A100_80GB_PCIe=8 --ttft 500ms "
      "--tbt 40ms",
      "perjoule fleet plan 9600 --profile a100.csv --profile a6000.csv --most-gpus 18 --solver cbc",
      "perjoule fleet plan 600:4800:600 --profile llama70b.csv --statistic tail --json",
  };
  verb.run = run;
  return verb;
}

}  // namespace perjoule::cli
