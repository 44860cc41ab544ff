// The JSON half of leaderboard_view.h: perjoule.leaderboard.v1.
#include "base/text.h"
#include "cli/frontier_view.h"
#include "cli/leaderboard_view.h"
#include "serving/board/energy_stars.h"
#include "serving/board/response_energy.h"
#include "serving/board/validity.h"
#include "workload/bench_result_json.h"

namespace perjoule::cli {
namespace {

Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

/// The result without the histogram of lengths, which is told as energies where it is asked for.
Json result_json(const BenchResult& result) {
  BenchResult shorter = result;
  shorter.lengths.outputs.reset();
  return to_json(shorter);
}

Json checks_json(const LeaderboardView& view, std::size_t result) {
  Json checks = Json::array();
  const bool largest = view.largest.empty() || view.largest[result];
  for (const ValidityCheck& check : check_validity(view.results[result], largest)) {
    Json one = Json::object();
    one["rule"] = check.rule;
    one["state"] = name_of(check.state);
    one["figure"] = check.figure;
    checks.push_back(std::move(one));
  }
  return checks;
}

Json tdp_json(const std::optional<TdpEstimate>& tdp) {
  if (!tdp) return {};
  Json json = Json::object();
  json["per_unit_j"] = tdp->per_unit.value();
  json["ratio"] = tdp->ratio;
  return json;
}

Json miss_json(const Miss& miss) {
  Json json = Json::object();
  json["quantity"] = miss.quantity;
  json["limit"] = miss.limit;
  json["reached"] = miss.reached;
  json["over"] = miss.over;
  return json;
}

Json row_json(const LeaderboardView& view, const BoardRow& row, std::size_t place) {
  const BenchResult& result = view.results[row.result];
  Json json = Json::object();
  json["place"] = static_cast<std::int64_t>(place);
  json["model"] = result.model.id;
  json["energy_j"] = row.energy.value();
  json["latency_s"] = row.latency.value();
  json["candidates"] = static_cast<std::int64_t>(row.candidates);
  json["feasible"] = static_cast<std::int64_t>(row.feasible);
  json["saved_per_unit"] = optional_json(row.saved_per_unit);
  json["saved_per_response"] = optional_json(row.saved_per_response);
  json["stars_by_range"] = row.stars_by_range;
  json["stars_by_rank"] = row.stars_by_rank;
  if (result.kind == BenchKind::kText && result.model.total_billions)
    json["size_class"] = std::string(1, size_class(*result.model.total_billions));
  if (row.per_correct) json["per_correct_j"] = row.per_correct->value();
  json["tdp"] = tdp_json(row.tdp);
  if (view.validity) json["checks"] = checks_json(view, row.result);
  json["result"] = result_json(result);
  json["fastest"] = result_json(view.results[row.fastest]);
  return json;
}

Json spread_json(const BenchResult& result) {
  const auto energies = response_energies(result);
  if (!energies) return {};
  Json json = Json::object();
  Json edges = Json::array();
  for (const Joules edge : energies->edges) edges.push_back(edge.value());
  Json counts = Json::array();
  for (const double count : energies->counts) counts.push_back(count);
  json["edges_j"] = std::move(edges);
  json["counts"] = std::move(counts);
  json["p50_j"] = energies->p50.value();
  json["p90_j"] = energies->p90.value();
  json["p99_j"] = energies->p99.value();
  return json;
}

}  // namespace

Json board_json(const LeaderboardView& view, const Board& board) {
  Json json = Json::object();
  json["benchmark"] = board.benchmark;
  json["task"] = board.task;
  json["kind"] = name_of(board.kind);
  json["ranked_by"] = energy_name(board.kind, board.per);
  json["metric"] = text_of(board.metric);
  json["deadline_s"] = board.deadline.value();
  json["configurations"] = static_cast<std::int64_t>(board.configurations);
  Json rows = Json::array();
  for (std::size_t i = 0; i < board.rows.size(); ++i)
    rows.push_back(row_json(view, board.rows[i], i + 1));
  json["rows"] = std::move(rows);
  Json misses = Json::array();
  for (const BoardMiss& miss : board.misses) {
    Json one = miss_json(miss.miss);
    one["model"] = view.results[miss.nearest].model.id;
    one["candidates"] = static_cast<std::int64_t>(miss.candidates);
    one["nearest"] = result_json(view.results[miss.nearest]);
    misses.push_back(std::move(one));
  }
  json["misses"] = std::move(misses);
  Json notes = Json::array();
  for (const std::string& note : board.notes) notes.push_back(note);
  json["notes"] = std::move(notes);
  return json;
}

Json model_json(const LeaderboardView& view, const FrontierOfModel& model) {
  const ModelChoice& made = model.made;
  const BenchResult& chosen = view.results[made.chosen()];
  const BenchResult& fastest = view.results[made.fastest()];
  FrontierView frontier{made.frontier, made.choice};
  frontier.all = view.all;
  Json json = frontier_json(frontier);
  json["benchmark"] = model.group.benchmark;
  json["task"] = model.group.task;
  json["model"] = chosen.model.id;
  json["ranked_by"] = energy_name(chosen.kind, view.per);
  json["metric"] = text_of(model.metric);
  json["fastest_result"] = result_json(fastest);
  if (made.choice.miss) return json;
  json["saved_per_unit"] = optional_json(unit_saving(chosen, fastest));
  json["saved_per_response"] = optional_json(response_saving(chosen, fastest));
  json["tdp"] = tdp_json(tdp_estimate(chosen));
  json["chosen_result"] = result_json(chosen);
  json["response_energies"] = spread_json(chosen);
  if (view.validity) json["checks"] = checks_json(view, made.chosen());
  return json;
}

}  // namespace perjoule::cli
