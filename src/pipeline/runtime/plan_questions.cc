#include "pipeline/runtime/plan_questions.h"

#include <utility>

namespace perjoule {

void PlanQuestions::came(int client, std::int64_t process) {
  process_of_[client] = ProcessIdentity::of(process);
}

std::string PlanQuestions::answer(int client, std::string_view line) {
  Result<Json> question = parse_json(line);
  if (!question) return error_json(question.error()).dump();
  const Result<Json> response = respond(client, *question);
  return response ? response->dump() : error_json(response.error()).dump();
}

Result<Json> PlanQuestions::respond(int client, const Json& question) {
  const std::string call = question.string("call").value_or("");
  if (call == "join") {
    if (rank_of_.count(client) != 0)
      return Error::conflict("a client that is a rank already joins", "leave first");
    PJ_TRY(const RankPlace place, rank_place_of(question));
    PJ_TRY(const RankWelcome welcome, service_.join(place));
    rank_of_[client] = welcome.rank;
    const std::lock_guard lock(mutex_);
    not_left_[client] = process_of_[client];
    return to_json(welcome);
  }
  if (call == "straggle") return straggle(question);
  if (call == "status") return status_json(service_);
  if (call != "next" && call != "leave") {
    return Error::invalid_argument("no such call: '" + call + "'",
                                   "there are join, next, leave, straggle and status");
  }
  const auto rank = rank_of_.find(client);
  if (rank == rank_of_.end())
    return Error::invalid_argument(call + " of a client that is no rank", "join first");
  std::optional<IterationReport> report;
  if (const Json* const told = question.find("report"); told != nullptr && !told->is_null()) {
    PJ_TRY(report, iteration_report_of(*told));
  }
  if (call == "leave") {
    PJ_CHECK(service_.leave(rank->second, report));
    rank_of_.erase(rank);
    const std::lock_guard lock(mutex_);
    not_left_.erase(client);
    return Json::object();
  }
  const auto iteration = question.integer("iteration");
  if (!iteration) return Error::invalid_argument("next: 'iteration' is missing or no whole number");
  PJ_TRY(const RankOrders orders, service_.next(rank->second, *iteration, report));
  if (question.integer("have") != orders.epoch) return to_json(orders);
  Json same = Json::object();
  same["epoch"] = orders.epoch;
  return same;
}

Result<Json> PlanQuestions::straggle(const Json& question) {
  const auto pipeline = question.integer("pipeline");
  if (!pipeline || *pipeline < 0 || *pipeline > 1'000'000)
    return Error::invalid_argument("straggle: 'pipeline' is missing or no number from 0 up");
  const Json* const over = question.find("over");
  if (over != nullptr && over->as_bool().value_or(false)) {
    PJ_CHECK(service_.straggler_over(static_cast<int>(*pipeline)));
    return Json::object();
  }
  PJ_CHECK(service_.straggle(
      static_cast<int>(*pipeline),
      {question.number("slowdown").value_or(0), Seconds(question.number("until_s").value_or(0))}));
  return Json::object();
}

void PlanQuestions::left(int client) {
  process_of_.erase(client);
  const auto rank = rank_of_.find(client);
  if (rank == rank_of_.end()) return;
  (void)service_.leave(rank->second, std::nullopt);
  {
    const std::lock_guard lock(mutex_);
    ++lost_count_;
  }
  if (lost_) lost_(rank->second);
  rank_of_.erase(rank);
}

int PlanQuestions::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_count_;
}

std::vector<ProcessIdentity> PlanQuestions::not_left() const {
  const std::lock_guard lock(mutex_);
  std::vector<ProcessIdentity> processes;
  processes.reserve(not_left_.size());
  for (const auto& [client, process] : not_left_) processes.push_back(process);
  return processes;
}

Json status_json(const PlanService& service) {
  Json json = Json::object();
  json["schema"] = "perjoule.pipeline-run.v1";
  json["schedule"] = service.schedule().name;
  json["stages"] = static_cast<std::int64_t>(service.schedule().stages.size());
  json["microbatches"] = service.schedule().shape.microbatches;
  json["pipelines"] = service.job().pipelines;
  json["tensor"] = service.job().tensor;
  Json::Array stretches;
  for (const PlanService::Summary& summary : service.summaries())
    stretches.push_back(to_json(summary));
  json["stretches"] = std::move(stretches);
  if (const auto both = service.comparison()) {
    Json comparison = Json::object();
    comparison["highest"] = to_json(both->highest);
    comparison["plan"] = to_json(both->plan);
    comparison["in_turns"] = both->in_turns;
    json["comparison"] = std::move(comparison);
  }
  const SwitchCost switching = service.switching();
  json["switch_time_s"] = switching.longest().value();
  Json::Array pairs;
  for (const SwitchCost::Pair& one : switching.pairs) {
    Json pair = Json::object();
    pair["from"] = one.from.text();
    pair["to"] = one.to.text();
    pair["time_s"] = one.time.value();
    pairs.push_back(std::move(pair));
  }
  json["switch_times"] = std::move(pairs);
  json["switch_energy_j"] = switching.energy.value();
  json["margin"] = service.margin();
  if (const auto measured = service.measured())
    json["profile_energy_error"] = measured->worst_energy_error;
  if (const auto failure = service.failure()) {
    Json error = error_json(*failure);
    json["error"] = *error.find("error");
  }
  return json;
}

}  // namespace perjoule
