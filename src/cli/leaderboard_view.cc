#include "cli/leaderboard_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "base/energy_text.h"
#include "base/text.h"
#include "cli/frontier_view.h"
#include "cli/table.h"
#include "serving/board/energy_stars.h"
#include "serving/board/response_energy.h"
#include "serving/board/validity.h"

namespace perjoule::cli {
namespace {

constexpr auto kRight = Table::Align::kRight;

/// "8 B", "30.5 B (3.3 active)".
std::string parameters_text(const BenchModel& model) {
  if (!model.total_billions) return "-";
  std::string text = fmt::format("{:.4g} B", *model.total_billions);
  if (model.activated_billions && *model.activated_billions != *model.total_billions)
    text += fmt::format(" ({:.4g} active)", *model.activated_billions);
  return text;
}

template <typename T>
std::string number_text(const std::optional<T>& value, int decimals = 0) {
  return value ? fixed(static_cast<double>(*value), decimals) : "-";
}

std::string word(const std::string& text) { return text.empty() ? "-" : printable(text); }

std::string batch_text(const BenchResult& r) {
  return r.kind == BenchKind::kText ? number_text(r.batch.max_num_seqs) : number_text(r.batch.size);
}

/// "TP 2, EP 1": the degrees that are stated.
std::string parallel_text(const BenchParallel& parallel) {
  std::string text;
  const auto add = [&text](std::string_view name, const std::optional<std::int64_t>& degree) {
    if (degree) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, *degree);
  };
  add("TP", parallel.tensor);
  add("EP", parallel.expert);
  add("DP", parallel.data);
  add("PP", parallel.pipeline);
  add("U", parallel.ulysses);
  add("R", parallel.ring);
  return text.empty() ? "-" : text;
}

std::string load_text(const BenchLoad& load) {
  if (load.concurrency) return fmt::format("{} at once", *load.concurrency);
  if (!load.asked_per_s) return "not stated";
  return std::isinf(*load.asked_per_s) ? "all at once"
                                       : fmt::format("{:.4g} /s", *load.asked_per_s);
}

std::string engine_text(const BenchEngine& engine) {
  if (engine.name.empty() && engine.version.empty()) return "not stated";
  return printable(std::string(trim(engine.name + " " + engine.version)));
}

std::string media_text(const BenchMedia& media) {
  std::string text = media.width && media.height
                         ? fmt::format("{} x {}", *media.width, *media.height)
                         : std::string();
  const auto add = [&text](const std::string& more) { text += (text.empty() ? "" : ", ") + more; };
  if (media.frames) add(fmt::format("{} frames", *media.frames));
  if (media.steps) add(fmt::format("{} steps", *media.steps));
  return text.empty() ? "not stated" : text;
}

std::string energy_cell(const Energy* energy) {
  return energy == nullptr ? "-" : with_uncertainty(*energy);
}

std::string saving_text(const std::optional<double>& saving) {
  return saving ? percent(*saving) : "-";
}

/// One column: its heading and how a row fills it.
struct Filled {
  Table::Column column;
  std::function<std::string(const BoardRow&, const BenchResult&)> cell;
};

void add_context(const Board& board, std::vector<Filled>& columns) {
  using R = const BenchResult&;
  using B = const BoardRow&;
  if (board.kind == BenchKind::kText) {
    columns.push_back({{"class"}, [](B, R r) {
                         return r.model.total_billions
                                    ? std::string(1, size_class(*r.model.total_billions))
                                    : "-";
                       }});
    columns.push_back(
        {{"mean batch", kRight}, [](B, R r) { return number_text(r.batch.mean, 1); }});
    columns.push_back(
        {{"input", kRight}, [](B, R r) { return number_text(r.lengths.mean_input); }});
    columns.push_back({{"load"}, [](B, R r) { return load_text(r.load); }});
  }
  columns.push_back({{"architecture"}, [](B, R r) { return word(r.model.architecture); }});
  columns.push_back({{"engine"}, [](B, R r) { return engine_text(r.engine); }});
  columns.push_back({{"parallelism"}, [](B, R r) { return parallel_text(r.parallel); }});
  columns.push_back({{"from"}, [](B, R r) { return printable(text_of(r.origin)); }});
}

std::vector<Filled> columns_of(const LeaderboardView& view, const Board& board) {
  using R = const BenchResult&;
  using B = const BoardRow&;
  const bool text = board.kind == BenchKind::kText;
  const std::string unit(unit_of(board.kind));
  std::vector<Filled> columns;
  columns.push_back({{"stars"}, [](B row, R) {
                       return fmt::format("{}/{}", row.stars_by_range, row.stars_by_rank);
                     }});
  columns.push_back({{"model"}, [](B, R r) { return printable(r.model.shown()); }});
  columns.push_back(
      {{"J per " + unit, kRight}, [](B, R r) { return energy_cell(unit_energy(r)); }});
  if (text) {
    columns.push_back(
        {{"J per response", kRight}, [](B, R r) { return energy_cell(response_energy(r)); }});
  }
  columns.push_back(
      {{text_of(board.metric), kRight}, [](B row, R) { return to_text(row.latency); }});
  columns.push_back({{"saved", kRight}, [](B row, R) { return saving_text(row.saved_per_unit); }});
  if (text) {
    columns.push_back(
        {{"per response", kRight}, [](B row, R) { return saving_text(row.saved_per_response); }});
  }
  columns.push_back({{"parameters"}, [](B, R r) { return parameters_text(r.model); }});
  columns.push_back({{"precision"}, [](B, R r) { return word(r.model.precision); }});
  columns.push_back({{"GPUs"}, [](B, R r) {
                       return fmt::format("{} x {}", r.gpus.count, printable(r.gpus.model));
                     }});
  columns.push_back({{"batch", kRight}, [](B, R r) { return batch_text(r); }});
  if (text) {
    columns.push_back(
        {{"output", kRight}, [](B, R r) { return number_text(r.lengths.mean_output); }});
  } else {
    columns.push_back({{"of"}, [](B, R r) { return media_text(r.media); }});
  }
  const bool quality = std::any_of(board.rows.begin(), board.rows.end(), [&](B row) {
    return view.results[row.result].quality.accuracy.has_value();
  });
  if (quality) {
    columns.push_back({{"accuracy", kRight}, [](B, R r) {
                         return r.quality.accuracy ? percent(*r.quality.accuracy) : "-";
                       }});
    columns.push_back({{"J per correct answer", kRight},
                       [](B row, R) { return row.per_correct ? to_text(*row.per_correct) : "-"; }});
  }
  if (view.tdp) {
    columns.push_back({{"TDP would say", kRight},
                       [](B row, R) { return row.tdp ? to_text(row.tdp->per_unit) : "-"; }});
    columns.push_back({{"too high by", kRight}, [](B row, R) {
                         return row.tdp ? fmt::format("{:.2f} x", row.tdp->ratio) : "-";
                       }});
  }
  if (view.context) add_context(board, columns);
  return columns;
}

/// What the energies of the rows are, said once where all are the same.
std::string energies_text(const LeaderboardView& view, const Board& board) {
  std::set<std::string> kinds;
  for (const BoardRow& row : board.rows) {
    const Energy& energy = *ranked_energy(view.results[row.result], board.per);
    kinds.insert(fmt::format(
        "{}, {}{}", energy.status_text(),
        energy.boundary == Boundary::kDevice ? "GPUs alone (B0)" : name_of(energy.boundary),
        uncertainty_stated(energy) ? ", k=2" : ", no uncertainty stated"));
  }
  std::string text;
  for (const std::string& kind : kinds) text += (text.empty() ? "" : "; ") + kind;
  return text;
}

std::string checks_text(const LeaderboardView& view, std::size_t result, std::string_view name) {
  const BenchResult& r = view.results[result];
  const auto checks = check_validity(r, view.largest.empty() || view.largest[result]);
  std::string text =
      fmt::format("{}: {} passed, {} warned, {} failed, {} not checked\n", name,
                  count_of(checks, CheckState::kPassed), count_of(checks, CheckState::kWarned),
                  count_of(checks, CheckState::kFailed), count_of(checks, CheckState::kNotChecked));
  for (const ValidityCheck& check : checks)
    text += fmt::format("  {:<17} {:<12} {}\n", check.rule, name_of(check.state), check.figure);
  return text;
}

/// A bar chart of how the energy of a response is spread.
std::string spread_text(const BenchResult& r) {
  const auto energies = response_energies(r);
  if (!energies) return {};
  std::string text =
      fmt::format("\nEnergy per response, by the lengths of the answers: P50 {}, P90 {}, P99 {}\n",
                  to_text(energies->p50, 3), to_text(energies->p90, 3), to_text(energies->p99, 3));
  const ResponseEnergies bins = in_log_bins(*energies);
  const double most = *std::max_element(bins.counts.begin(), bins.counts.end());
  Table table({{""}, {"", kRight}, {"", kRight}, {""}});
  for (std::size_t i = 0; i < bins.counts.size(); ++i) {
    const auto bar = static_cast<std::size_t>(std::lround(40 * bins.counts[i] / most));
    table.add({"  " + to_text(bins.edges[i], 3), "to", to_text(bins.edges[i + 1], 3),
               std::string(bar, '#') + " " + fixed(bins.counts[i], 0)});
  }
  const std::string rows = table.text();
  return text + rows.substr(rows.find('\n') + 1);  // without the empty headings
}

}  // namespace

std::string title_of(const std::string& task, const std::string& benchmark) {
  return benchmark.empty() ? printable(task)
                           : fmt::format("{} ({})", printable(task), printable(benchmark));
}

std::string energy_name(BenchKind kind, EnergyPer per) {
  const bool response = kind == BenchKind::kText && per == EnergyPer::kResponse;
  return fmt::format("energy per {}", response ? "response" : unit_of(kind));
}

std::string miss_text(const BenchResult& nearest, const Miss& miss) {
  const auto quantity = [&miss](double value, int digits) {
    return miss.quantity == "time" ? to_text(Seconds(value), digits)
                                   : to_text(Joules(value), digits);
  };
  // Enough digits to see by how little.
  return fmt::format("{} ({}), {} above {}", quantity(miss.reached, 6),
                     printable(settings_of(nearest).text()), percent(miss.over),
                     quantity(miss.limit, 4));
}

std::string board_text(const LeaderboardView& view, const Board& board) {
  std::string text = fmt::format(
      "== {}: {}, {}\nleast {}, {} at most {}\n\n", title_of(board.task, board.benchmark),
      counted(static_cast<double>(board.rows.size() + board.misses.size()), "model"),
      counted(static_cast<double>(board.configurations), "configuration"),
      energy_name(board.kind, board.per), text_of(board.metric), to_text(board.deadline));
  const std::vector<Filled> columns = columns_of(view, board);
  std::vector<Table::Column> headings{{"", kRight}};
  for (const Filled& column : columns) headings.push_back(column.column);
  Table table(headings);
  for (std::size_t i = 0; i < board.rows.size(); ++i) {
    std::vector<std::string> cells{std::to_string(i + 1)};
    for (const Filled& column : columns)
      cells.push_back(column.cell(board.rows[i], view.results[board.rows[i].result]));
    table.add(std::move(cells));
  }
  if (!board.rows.empty()) {
    text += table.text();
    text += fmt::format("\nEnergies: {}\n", energies_text(view, board));
  }
  for (const BoardMiss& miss : board.misses) {
    const BenchResult& nearest = view.results[miss.nearest];
    text += fmt::format("Infeasible: {}: none of {} meets it; nearest: {} of {}\n",
                        printable(nearest.model.shown()),
                        counted(static_cast<double>(miss.candidates), "configuration"),
                        miss.miss.quantity, miss_text(nearest, miss.miss));
  }
  for (const std::string& note : board.notes) text += "Note: " + printable(note) + "\n";
  if (!view.validity) return text;
  text += "\n";
  for (const BoardRow& row : board.rows)
    text += checks_text(view, row.result, printable(view.results[row.result].model.shown()));
  return text;
}

std::string model_text(const LeaderboardView& view, const FrontierOfModel& model) {
  const ModelChoice& made = model.made;
  const BenchResult& chosen = view.results[made.chosen()];
  const BenchResult& fastest = view.results[made.fastest()];
  FrontierView frontier{made.frontier, made.choice};
  frontier.unit = view.per == EnergyPer::kResponse && chosen.kind == BenchKind::kText
                      ? "response"
                      : std::string(unit_of(chosen.kind));
  frontier.time_name = text_of(model.metric);
  frontier.energy_name = energy_name(chosen.kind, view.per);
  frontier.all = view.all;
  frontier.plot = view.plot;
  std::string text = fmt::format(
      "== {}: {} ({}, {})\n", title_of(model.group.task, model.group.benchmark),
      printable(chosen.model.shown()), parameters_text(chosen.model), word(chosen.model.precision));
  text += frontier_text(frontier);
  if (made.choice.miss)
    return text + fmt::format("Least: {}\n", miss_text(chosen, *made.choice.miss));
  const auto per_unit = unit_saving(chosen, fastest);
  const auto per_response = response_saving(chosen, fastest);
  if (chosen.kind == BenchKind::kText && per_unit && per_response) {
    text += fmt::format(
        "  saves {} per token and {} per response; mean output {} against {} tokens\n",
        percent(*per_unit), percent(*per_response), number_text(chosen.lengths.mean_output, 1),
        number_text(fastest.lengths.mean_output, 1));
  }
  if (view.context) {
    text += fmt::format("  {}, {}, {}, load {}; from {}\n", word(chosen.model.architecture),
                        "engine " + engine_text(chosen.engine), parallel_text(chosen.parallel),
                        load_text(chosen.load), printable(text_of(chosen.origin)));
  }
  if (const auto tdp = tdp_estimate(chosen); view.tdp && tdp) {
    text += fmt::format("  from TDP one would have said {} per {}, {:.2f} x what was measured\n",
                        to_text(tdp->per_unit), unit_of(chosen.kind), tdp->ratio);
  }
  if (chosen.kind == BenchKind::kText) text += spread_text(chosen);
  if (view.validity) text += "\n" + checks_text(view, made.chosen(), "Checks of the choice");
  return text;
}

}  // namespace perjoule::cli
