#include "serving/board/leaderboard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/text.h"
#include "serving/board/energy_stars.h"

namespace perjoule {
namespace {

/// What holds for every row of a board.
struct Terms {
  EnergyPer per;
  LatencyMetric metric;
  Seconds deadline;
  std::optional<Joules> budget;
};

/// The first of the points that meet both bounds and have the least energy; none when none does.
std::optional<std::size_t> pick(const Frontier& frontier, const Terms& terms,
                                std::size_t& feasible) {
  std::optional<std::size_t> best;
  const std::vector<Point>& points = frontier.points();
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Joules energy = points[i].energy.joules;
    if (points[i].time > terms.deadline || (terms.budget && energy > *terms.budget)) continue;
    ++feasible;
    if (!best || energy < points[*best].energy.joules) best = i;
  }
  return best;
}

/// The nearest miss: of the deadline where nothing is quick enough, else of the budget among all.
Outcome add_miss(const Terms& terms, ModelChoice& made) {
  if (made.choice.miss) return {};
  PJ_TRY(Choice missed, made.frontier.choose(EnergyBudget{*terms.budget}));
  if (missed.miss) {
    made.choice.miss = missed.miss;
    made.choice.chosen = missed.chosen;
    return {};
  }
  // Each bound is met by some point, both by none: nearest to the budget among the quick ones.
  const std::vector<Point>& points = made.frontier.points();
  std::optional<std::size_t> nearest;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].time > terms.deadline) continue;
    if (!nearest || points[i].energy.joules < points[*nearest].energy.joules) nearest = i;
  }
  const double reached = points[*nearest].energy.joules.value();
  made.choice.miss =
      Miss{*nearest, "energy", terms.budget->value(), reached, reached / terms.budget->value() - 1};
  made.choice.chosen = *nearest;
  return {};
}

Result<ModelChoice> choose(const std::vector<BenchResult>& results,
                           const std::vector<std::size_t>& rows, const Terms& terms) {
  std::vector<Point> points;
  std::vector<std::size_t> of_points;
  for (const std::size_t row : rows) {
    const BenchResult& r = results[row];
    const Energy* energy = ranked_energy(r, terms.per);
    const auto latency = latency_of(r, terms.metric);
    if (energy == nullptr || !latency) continue;
    Point point;
    point.config = settings_of(r);
    point.time = *latency;
    point.energy = *energy;
    if (r.power && energy->joules.value() > 0) point.rate = (*r.power / energy->joules).value();
    point.origin = r.origin.row;
    points.push_back(std::move(point));
    of_points.push_back(row);
  }
  if (points.empty()) {
    return Error::not_found(
        fmt::format("no result has both {} and the energy asked for", text_of(terms.metric)));
  }
  PJ_TRY(Frontier frontier, Frontier::make(std::move(points)));
  PJ_TRY(Choice choice, frontier.choose(Deadline{terms.deadline}));
  ModelChoice made{std::move(frontier), std::move(choice), std::move(of_points)};
  made.choice.feasible = 0;
  const auto picked = pick(made.frontier, terms, made.choice.feasible);
  if (terms.budget) made.choice.rule += fmt::format(", energy at most {}", to_text(*terms.budget));
  if (!picked) {
    PJ_CHECK(add_miss(terms, made));
    return made;
  }
  made.choice.chosen = *picked;
  const Point& chosen = made.frontier.points()[*picked];
  const Point& baseline = made.frontier.points()[made.choice.baseline];
  made.choice.energy_saved = 1 - chosen.energy.joules / baseline.energy.joules;
  made.choice.slowdown = chosen.time / baseline.time;
  return made;
}

std::optional<double> saving(const Energy* chosen, const Energy* fastest) {
  if (chosen == nullptr || fastest == nullptr || !(fastest->joules.value() > 0))
    return std::nullopt;
  return 1 - chosen->joules / fastest->joules;
}

BoardRow row_of(const std::vector<BenchResult>& results, const ModelChoice& made,
                const Terms& terms) {
  const BenchResult& chosen = results[made.chosen()];
  const BenchResult& fastest = results[made.fastest()];
  BoardRow row;
  row.result = made.chosen();
  row.fastest = made.fastest();
  row.candidates = made.choice.candidates;
  row.feasible = made.choice.feasible;
  row.energy = ranked_energy(chosen, terms.per)->joules;
  row.latency = *latency_of(chosen, terms.metric);
  row.saved_per_unit = unit_saving(chosen, fastest);
  row.saved_per_response = response_saving(chosen, fastest);
  const Energy* response = response_energy(chosen);
  if (const auto accuracy = chosen.quality.accuracy;
      accuracy && *accuracy > 0 && response != nullptr)
    row.per_correct = response->joules / *accuracy;
  row.tdp = tdp_estimate(chosen);
  return row;
}

void add_stars(std::vector<BoardRow>& rows) {
  std::vector<Joules> energies;
  energies.reserve(rows.size());
  for (const BoardRow& row : rows) energies.push_back(row.energy);
  const std::vector<int> by_range = stars_by_range(energies);
  const std::vector<int> by_rank = stars_by_rank(energies);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].stars_by_range = by_range[i];
    rows[i].stars_by_rank = by_rank[i];
  }
}

/// The group's rows by model, in order of first appearance.
std::vector<std::vector<std::size_t>> by_model(const std::vector<BenchResult>& results,
                                               const std::vector<std::size_t>& rows) {
  std::vector<std::vector<std::size_t>> models;
  std::map<std::string, std::size_t> places;
  for (const std::size_t row : rows) {
    const auto [at, is_new] = places.try_emplace(results[row].model.id, models.size());
    if (is_new) models.emplace_back();
    models[at->second].push_back(row);
  }
  return models;
}

void note_left_out(const std::vector<BenchResult>& results, const BoardGroup& group,
                   const Terms& terms, Board& board) {
  double no_latency = 0;
  double no_energy = 0;
  for (const std::size_t row : group.rows) {
    if (!latency_of(results[row], terms.metric)) {
      ++no_latency;
    } else if (ranked_energy(results[row], terms.per) == nullptr) {
      ++no_energy;
    }
  }
  if (no_latency > 0) {
    board.notes.push_back(fmt::format("left out for want of {}: {}", text_of(terms.metric),
                                      counted(no_latency, "result")));
  }
  if (no_energy > 0) {
    board.notes.push_back(
        fmt::format("left out for want of an energy per {}: {}",
                    terms.per == EnergyPer::kResponse ? "response" : unit_of(group.kind),
                    counted(no_energy, "result")));
  }
}

}  // namespace

std::vector<BoardGroup> board_groups(const std::vector<BenchResult>& results,
                                     const std::vector<std::size_t>& rows, bool together) {
  std::vector<BoardGroup> groups;
  std::map<std::tuple<std::string, std::string, BenchKind>, std::size_t> places;
  for (const std::size_t row : rows) {
    const BenchResult& r = results[row];
    const std::string benchmark = together ? std::string() : r.benchmark;
    const auto [at, is_new] = places.try_emplace({benchmark, r.task, r.kind}, groups.size());
    if (is_new) groups.push_back({benchmark, r.task, r.kind, {}});
    groups[at->second].rows.push_back(row);
  }
  return groups;
}

LatencyMetric default_metric(const std::vector<BenchResult>& results, const BoardGroup& group) {
  if (group.kind != BenchKind::kText) return {LatencyMetric::Of::kBatch, LatencyMetric::At::kMean};
  constexpr LatencyMetric kItl{LatencyMetric::Of::kItl, LatencyMetric::At::kMedian};
  constexpr LatencyMetric kTpot{LatencyMetric::Of::kTpot, LatencyMetric::At::kMean};
  const auto has = [&](const LatencyMetric& metric) {
    return std::any_of(group.rows.begin(), group.rows.end(), [&](std::size_t row) {
      return latency_of(results[row], metric).has_value();
    });
  };
  return !has(kItl) && has(kTpot) ? kTpot : kItl;
}

Seconds default_deadline(BenchKind kind) {
  return Seconds(kind == BenchKind::kText ? 0.5 : kind == BenchKind::kImage ? 30 : 300);
}

const Energy* ranked_energy(const BenchResult& result, EnergyPer per) {
  const Energy* energy =
      per == EnergyPer::kResponse ? response_energy(result) : unit_energy(result);
  const bool known =
      energy != nullptr && energy->status != Status::kMissing && !energy->one_sided();
  return known ? energy : nullptr;
}

Result<ModelChoice> choose_for_model(const std::vector<BenchResult>& results,
                                     const std::vector<std::size_t>& rows, EnergyPer per,
                                     const LatencyMetric& metric, Seconds deadline,
                                     std::optional<Joules> energy_budget) {
  return choose(results, rows, {per, metric, deadline, energy_budget});
}

std::optional<double> unit_saving(const BenchResult& chosen, const BenchResult& fastest) {
  return saving(unit_energy(chosen), unit_energy(fastest));
}

std::optional<double> response_saving(const BenchResult& chosen, const BenchResult& fastest) {
  return saving(response_energy(chosen), response_energy(fastest));
}

Config settings_of(const BenchResult& r) {
  Config config;
  if (!r.gpus.model.empty()) config.set("GPUs", fmt::format("{} x {}", r.gpus.count, r.gpus.model));
  const auto add = [&config](std::string_view name, const auto& value) {
    if (value) config.set(name, exact(static_cast<double>(*value)));
  };
  add("max_num_seqs", r.batch.max_num_seqs);
  add("batch size", r.batch.size);
  add("concurrency", r.load.concurrency);
  if (r.load.asked_per_s) {
    config.set("load", std::isinf(*r.load.asked_per_s) ? "all at once"
                                                       : exact(*r.load.asked_per_s) + " /s");
  }
  add("tensor", r.parallel.tensor);
  add("expert", r.parallel.expert);
  add("data", r.parallel.data);
  add("pipeline", r.parallel.pipeline);
  add("ulysses", r.parallel.ulysses);
  add("ring", r.parallel.ring);
  add("steps", r.media.steps);
  add("frames", r.media.frames);
  for (const Setting one : r.settings.settings()) config.set(one.name, one.value);
  if (!r.engine.version.empty()) config.set("engine", r.engine.name + " " + r.engine.version);
  return config;
}

Result<Board> make_board(const std::vector<BenchResult>& results, const BoardGroup& group,
                         const BoardQuery& query) {
  const LatencyMetric usual = default_metric(results, group);
  const Terms terms{query.per, query.metric.value_or(usual),
                    query.deadline.value_or(default_deadline(group.kind)), query.energy_budget};
  Board board;
  board.benchmark = group.benchmark;
  board.task = group.task;
  board.kind = group.kind;
  board.per = terms.per;
  board.metric = terms.metric;
  board.deadline = terms.deadline;
  note_left_out(results, group, terms, board);
  for (const std::vector<std::size_t>& rows : by_model(results, group.rows)) {
    const auto made = choose(results, rows, terms);
    if (!made && made.error().code == ErrorCode::kNotFound) continue;
    if (!made) return fail(made, results[rows.front()].model.id);
    board.configurations += made->choice.candidates;
    if (made->choice.miss) {
      board.misses.push_back({made->chosen(), made->choice.candidates, *made->choice.miss});
    } else {
      board.rows.push_back(row_of(results, *made, terms));
    }
  }
  if (board.configurations == 0) {
    return Error::not_found(fmt::format("task '{}': no result has both {} and the energy asked for",
                                        group.task, text_of(terms.metric)),
                            "--metric names another latency");
  }
  std::stable_sort(board.rows.begin(), board.rows.end(),
                   [](const BoardRow& a, const BoardRow& b) { return a.energy < b.energy; });
  std::stable_sort(
      board.misses.begin(), board.misses.end(),
      [](const BoardMiss& a, const BoardMiss& b) { return a.miss.over < b.miss.over; });
  add_stars(board.rows);
  return board;
}

}  // namespace perjoule
