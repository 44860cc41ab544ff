// perjoule frontier: the time-energy frontier of a table of measured configurations, and the point
// to run at.
#include <fmt/format.h>

#include "base/text.h"
#include "cli/frontier_inputs.h"
#include "cli/frontier_view.h"
#include "cli/rule_options.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "frontier/column_units.h"
#include "frontier/interpolate.h"

namespace perjoule::cli {

namespace {

Result<PointsOptions> options_from(const Arguments& arguments) {
  PointsOptions options;
  for (const std::string& mapping : arguments.values("map"))
    PJ_CHECK(add_mapping(mapping, options.map));
  for (const std::string& condition : arguments.values("where")) {
    const std::size_t equals = condition.find('=');
    if (equals == std::string::npos) {
      return Error::invalid_argument(fmt::format("--where: no '=' in '{}'", condition),
                                     "write --where COLUMN=VALUE");
    }
    options.where.emplace_back(trim(std::string_view(condition).substr(0, equals)),
                               trim(std::string_view(condition).substr(equals + 1)));
  }
  PJ_TRY(options.group_by, arguments.list("group-by"));
  PJ_TRY(options.settings, arguments.list("settings"));
  return options;
}

/// A rule of power divides energy by time; that the two are of the same work is the table's to say.
void note_power(const Rule& rule, PointsTable& table) {
  const auto* eta = std::get_if<EtaCost>(&rule);
  const bool divides =
      std::holds_alternative<PowerBudget>(rule) || (eta != nullptr && !eta->max_power);
  if (!divides || table.time_column.empty()) return;
  if (is_plain_name(table.time_column, Dimension::kTime)) return;
  if (table.groups.front().points.front().rate > 0) return;
  table.notes.push_back(
      fmt::format("mean power is taken as {} / {}, right only when both are of the same work; "
                  "--map power=COLUMN or rate=COLUMN says it better",
                  table.energy_column, table.time_column));
}

struct Answer {
  std::string text;
  Json groups = Json::array();
  bool feasible = true;
};

/// Takes the group's points: a million of them are not copied.
Outcome answer_group(PointGroup& group, const PointsTable& table, const Rule& rule,
                     const Arguments& arguments, Answer& answer) {
  PJ_TRY(const Frontier frontier, Frontier::make(std::move(group.points)));
  PJ_TRY(const Choice choice, frontier.choose(rule));
  FrontierView view{frontier, choice};
  view.key = group.key;
  view.unit = arguments.has("per") ? arguments.value("per") : table.unit;
  if (!table.time_column.empty()) view.time_name = table.time_column;
  if (!table.energy_column.empty()) view.energy_name = table.energy_column;
  view.files = table.files;
  view.all = arguments.has("all");
  view.plot = arguments.has("plot") || (output_is_terminal() && !arguments.json());
  if (arguments.has("interpolate") && !choice.miss) {
    // A deadline beyond the slowest point leaves nothing to gain by going between points.
    const Seconds deadline = std::get<Deadline>(rule).at_most;
    const std::string setting = arguments.value("interpolate");
    Result<Point> between = interpolate_at_time(frontier, setting, deadline);
    if (!between && between.error().code != ErrorCode::kOutOfRange)
      return fail(between, "--interpolate");
    if (between) view.between = std::move(*between);
  }
  answer.feasible = answer.feasible && !choice.miss;
  if (arguments.json()) {
    answer.groups.push_back(frontier_json(view));
  } else {
    answer.text += (answer.text.empty() ? "" : "\n") + frontier_text(view);
  }
  return {};
}

Json document_of(const PointsTable& table, const Arguments& arguments, Answer answer) {
  Json document = Json::object();
  document["schema"] = "perjoule.frontier.v1";
  Json files = Json::array();
  for (const std::string& file : arguments.values("POINTS")) files.push_back(file);
  document["files"] = std::move(files);
  document["rows"] = static_cast<std::int64_t>(table.rows);
  document["selected"] = static_cast<std::int64_t>(table.selected);
  document["unit"] = arguments.has("per") ? arguments.value("per") : table.unit;
  document["time_column"] = table.time_column;
  document["energy_column"] = table.energy_column;
  Json notes = Json::array();
  for (const std::string& note : table.notes) notes.push_back(note);
  document["notes"] = std::move(notes);
  document["groups"] = std::move(answer.groups);
  return document;
}

Result<int> run_frontier(const Arguments& arguments) {
  PJ_TRY(const Rule rule, rule_from(arguments));
  if (arguments.has("interpolate") && !std::holds_alternative<Deadline>(rule))
    return Error::invalid_argument("--interpolate belongs to --deadline");
  PJ_TRY(const PointsOptions options, options_from(arguments));
  PJ_TRY(PointsTable table, load_points(arguments.values("POINTS"), options));
  note_power(rule, table);
  Answer answer;
  for (PointGroup& group : table.groups)
    PJ_CHECK(answer_group(group, table, rule, arguments, answer));
  const int status = answer.feasible ? kDone : kAnswerIsNo;
  if (arguments.json()) {
    print(document_of(table, arguments, std::move(answer)).dump(2) + "\n");
    return status;
  }
  for (const std::string& note : table.notes) complain("note: " + note);
  print(answer.text);
  return status;
}

std::vector<Option> frontier_options() {
  std::vector<Option> options = {
      {"map", "FIGURE=COL[:unit]",
       "where a figure stands: time, energy, power, rate, uncertainty or status; COL may be a sum "
       "a+b or a pattern gpu*_energy",
       "", true},
      {"where", "COL=VALUE", "keep rows with this value; of one column several are alternatives",
       "", true},
      {"group-by", "COL,...", "one frontier for each value", "", true},
      {"settings", "COL,...", "the columns that are settings; rows equal in them are repeats", "",
       true},
      {"per", "UNIT", "what the energy is for: token, step, image"},
      {"interpolate", "SETTING", "with --deadline: also the value of SETTING that just meets it"},
      {"all", "", "show dominated points too"},
      {"plot", "", "draw a scatter plot, as on a terminal"},
  };
  for (Option& option : rule_options()) options.push_back(std::move(option));
  return options;
}

}  // namespace

Verb frontier_verb() {
  Verb verb;
  verb.name = "frontier";
  verb.summary = "find the time-energy frontier of measured points and choose one";
  verb.description =
      "Reads operating points from CSV or JSON of any shape, and stored runs by their ids: a word\n"
      "that is a file is that file, any other a run as `perjoule runs show` takes it. A run is a\n"
      "point per unit of work where it counted units, else as a whole; runs of unlike units are\n"
      "refused. `--settings tag` makes runs of one tag repeats of one point.\n\n"
      "A point is dropped only if another is strictly lower in both time and energy; ties stay.\n"
      "Marks: o on the frontier, . dominated, * recommended, ! nearest where nothing meets the\n"
      "constraint (exit status 1). Where the frontier has but two points there is no knee, and "
      "the\n"
      "least energy-delay product is recommended.\n\n"
      "Columns are recognised by the unit their name ends in (_s, _ms, _j, _kwh, ...); --map says "
      "it\n"
      "where that is not enough. A figure from a table is reconstructed unless the table says "
      "what\n"
      "it is.";
  verb.options = frontier_options();
  verb.positionals = {{"POINTS",
                       "CSV or JSON table of points (- is standard input), or a stored run's id",
                       true, true}};
  verb.examples = {
      "perjoule frontier sweep.csv --deadline 50ms",
      // Longer than a line here.
      std::string("perjoule frontier data/mlenergy_v2_llm.csv --where ") +
          "model=meta-llama/Meta-Llama-3.1-8B-Instruct --per request --deadline 100ms",
      std::string("perjoule frontier profile.csv --map time=elapsed_time:s ") +
          "--map 'energy=gpu*_energy:J' --eta 0.5",
      "perjoule frontier results.json --group-by gpu,model --slowdown 10% --json",
      "perjoule frontier 3jwzv0c1x8e 3jx last --edp",
  };
  verb.run = run_frontier;
  return verb;
}

}  // namespace perjoule::cli
