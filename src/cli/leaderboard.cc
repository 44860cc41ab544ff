// perjoule leaderboard: models ranked by the energy of their answers, over everybody's benchmark
// results.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/leaderboard_claims.h"
#include "cli/leaderboard_options.h"
#include "cli/leaderboard_view.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "serving/board/validity.h"
#include "workload/bench_files.h"

namespace perjoule::cli {
namespace {

/// With --valid-only what fails a check, or is not stable, is spoken against like any other.
void judge(std::vector<BenchResult>& results, const std::vector<bool>& largest) {
  const std::vector<std::string> unstable = instabilities(results);
  for (std::size_t i = 0; i < results.size(); ++i) {
    for (const ValidityCheck& check : check_validity(results[i], largest[i])) {
      if (check.state == CheckState::kFailed)
        results[i].validity.push_back(fmt::format("{}: {}", check.rule, check.figure));
    }
    if (!unstable[i].empty()) results[i].validity.push_back(unstable[i]);
  }
}

/// What was read and what is left out, for both outputs.
std::vector<std::string> notes_of(const BenchFiles& files, const ResultSelection& selection) {
  std::vector<std::string> notes = files.notes;
  if (files.passed_over > 0) {
    notes.push_back(fmt::format("passed over {} of no known format",
                                counted(static_cast<double>(files.passed_over), "file")));
  }
  if (!selection.invalid.empty()) {
    const BenchResult& first = files.results[selection.invalid.front()];
    notes.push_back(fmt::format("left out for what speaks against {}: {}; the first, {}: {}",
                                selection.invalid.size() == 1 ? "it" : "them",
                                counted(static_cast<double>(selection.invalid.size()), "result"),
                                text_of(first.origin), first.validity.front()));
  }
  return notes;
}

struct Answer {
  std::string text;
  Json boards = Json::array();
  Json frontiers = Json::array();
  bool feasible = true;
  std::size_t without = 0;  ///< groups that lack the latency or energy asked for
};

Outcome add_board(const LeaderboardView& view, const BoardGroup& group, const BoardQuery& query,
                  bool json, Answer& answer) {
  PJ_TRY(const Board board, make_board(view.results, group, query));
  answer.feasible = answer.feasible && !board.rows.empty();
  if (json) {
    answer.boards.push_back(board_json(view, board));
  } else {
    answer.text += (answer.text.empty() ? "" : "\n") + board_text(view, board);
  }
  return {};
}

/// A frontier for each model that the word fits.
Outcome add_frontiers(const LeaderboardView& view, const BoardGroup& group, const BoardQuery& query,
                      bool json, Answer& answer) {
  std::vector<std::string> models;
  for (const std::size_t row : group.rows) {
    const std::string& id = view.results[row].model.id;
    if (std::find(models.begin(), models.end(), id) == models.end()) models.push_back(id);
  }
  const LatencyMetric metric = query.metric.value_or(default_metric(view.results, group));
  for (const std::string& model : models) {
    std::vector<std::size_t> rows;
    for (const std::size_t row : group.rows) {
      if (view.results[row].model.id == model) rows.push_back(row);
    }
    const Result<ModelChoice> made = choose_for_model(
        view.results, rows, query.per, metric,
        query.deadline.value_or(default_deadline(group.kind)), query.energy_budget);
    if (!made) return fail(made, model);
    answer.feasible = answer.feasible && !made->choice.miss;
    const FrontierOfModel shown{group, metric, *made};
    if (json) {
      answer.frontiers.push_back(model_json(view, shown));
    } else {
      answer.text += (answer.text.empty() ? "" : "\n") + model_text(view, shown);
    }
  }
  return {};
}

Json document_of(const Arguments& arguments, const BenchFiles& files,
                 const ResultSelection& selection, Answer answer) {
  Json document = Json::object();
  document["schema"] = "perjoule.leaderboard.v1";
  Json paths = Json::array();
  for (const std::string& path : arguments.values("RESULTS")) paths.push_back(path);
  document["files"] = std::move(paths);
  document["results"] = static_cast<std::int64_t>(files.results.size());
  document["selected"] = static_cast<std::int64_t>(selection.rows.size());
  document["left_out"] = static_cast<std::int64_t>(selection.invalid.size());
  Json notes = Json::array();
  for (const std::string& note : notes_of(files, selection)) notes.push_back(note);
  document["notes"] = std::move(notes);
  const bool frontier = arguments.has("frontier");
  document[frontier ? "frontiers" : "boards"] =
      frontier ? std::move(answer.frontiers) : std::move(answer.boards);
  return document;
}

Result<int> run_leaderboard(const Arguments& arguments) {
  PJ_TRY(const LeaderboardWords words, leaderboard_words(arguments));
  PJ_TRY(BenchFiles files,
         read_bench_files(arguments.values("RESULTS"), {.skip_bad = arguments.has("skip-bad")}));
  if (arguments.has("claims") || arguments.has("claim"))
    return run_claims(arguments, files.results);
  const std::vector<bool> largest = largest_batches(files.results);
  if (arguments.has("valid-only")) judge(files.results, largest);
  PJ_TRY(const ResultSelection selection, filter_results(files.results, words.filter));
  LeaderboardView view{files.results};
  view.per = words.query.per;
  view.context = arguments.has("context");
  view.tdp = arguments.has("tdp");
  view.validity = arguments.has("validity");
  view.all = arguments.has("all");
  view.plot = output_is_terminal() && !arguments.json();
  view.largest = largest;
  Answer answer;
  const auto groups = board_groups(files.results, selection.rows, arguments.has("together"));
  for (const BoardGroup& group : groups) {
    const auto add = arguments.has("frontier") ? add_frontiers : add_board;
    const Outcome added = add(view, group, words.query, arguments.json(), answer);
    if (added) continue;
    // Not every task has the latency that was named; none having it is an error.
    if (added.error().code != ErrorCode::kNotFound || ++answer.without == groups.size())
      return fail(added);
    files.notes.push_back("left out: " + added.error().message);
  }
  const int status = answer.feasible ? kDone : kAnswerIsNo;
  if (arguments.json()) {
    print(document_of(arguments, files, selection, std::move(answer)).dump(2) + "\n");
    return status;
  }
  for (const std::string& note : notes_of(files, selection)) complain("note: " + note);
  print(answer.text);
  return status;
}

}  // namespace

Verb leaderboard_verb() {
  Verb verb;
  verb.name = "leaderboard";
  verb.summary = "rank models by the energy of their answers, over everybody's results";
  verb.description =
      "Reads benchmark results from files and whole folders: our own, those of the ML.ENERGY\n"
      "leaderboard (v3 JSON, v2 CSV) and its benchmark's results.json, and those of other load\n"
      "generators that bench join gave joules. Of each model the\n"
      "configuration of least energy within the deadline is taken; models are ranked by it.\n"
      "Exit status 1 when nothing meets the deadline; the nearest miss is told.\n\n"
      "Stars: by fifths of the range of energies / by fifths of the models. Saved: against the\n"
      "model's own fastest configuration, per token (image, video) and per response. Results of\n"
      "unlike benchmarks are tables of their own. docs/leaderboard.md has the formulas.";
  verb.options = leaderboard_options();
  verb.positionals = {{"RESULTS", "files of results, or folders of them", true, true}};
  verb.examples = {
      "perjoule leaderboard data/mlenergy_v2_llm.csv --by response --deadline 100ms",
      "perjoule leaderboard results/ --task lm-arena-chat --deadline 50ms",
      "perjoule leaderboard results/ --gpu H100 --metric p95-itl --deadline 100ms --by response",
      "perjoule leaderboard results/ --frontier Llama-3.1-8B --gpu H100 --deadline 20ms",
      "perjoule leaderboard results/ --context --tdp --validity --json",
      "perjoule leaderboard results/ --claims",
  };
  verb.run = run_leaderboard;
  return verb;
}

}  // namespace perjoule::cli
