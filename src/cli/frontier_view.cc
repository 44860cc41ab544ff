#include "cli/frontier_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/energy_json.h"
#include "base/energy_text.h"
#include "base/text.h"
#include "cli/scatter.h"
#include "cli/table.h"
#include "frontier/column_units.h"

namespace perjoule::cli {

namespace {

/// The settings worth a column among the rows shown, and what is the same in all of them.
struct ShownSettings {
  std::vector<std::string> columns;
  std::string common;
  bool by_row = false;  ///< nothing tells the points apart but where they came from
};

std::string value_of(const Point& point, const std::string& name) {
  return std::string(point.config.find(name).value_or("-"));
}

/// A value as it is shown: a command line may be long and hold anything.
std::string shown_value(const std::string& value) {
  constexpr std::size_t kWidest = 60;
  return shortened(printable(value), kWidest);
}

/// Takes settings from left to right as long as each tells more rows apart than those before it: a
/// table with twenty columns of results beside its two settings then shows the two.
ShownSettings choose_settings(const std::vector<const Point*>& rows) {
  std::vector<std::string> names;
  for (const Point* point : rows) {
    for (const Setting setting : point->config.settings()) {
      if (std::find(names.begin(), names.end(), setting.name) == names.end())
        names.emplace_back(setting.name);
    }
  }
  ShownSettings shown;
  std::vector<std::string> told(rows.size());
  std::size_t distinct = 1;
  for (const std::string& name : names) {
    std::set<std::string> values;
    std::vector<std::string> longer = told;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      values.insert(value_of(*rows[i], name));
      longer[i] += '\0' + value_of(*rows[i], name);
    }
    if (values.size() == 1) {
      if (rows.size() > 1)
        shown.common +=
            (shown.common.empty() ? "" : ", ") + name + " " + shown_value(*values.begin());
      else
        shown.columns.push_back(name);
      continue;
    }
    const std::size_t more = std::set<std::string>(longer.begin(), longer.end()).size();
    if (more == distinct) continue;
    distinct = more;
    told = std::move(longer);
    shown.columns.push_back(name);
  }
  return shown;
}

/// Those for the rows of a view. A point that is shown alone is told apart from those that are not.
ShownSettings choose_settings(const FrontierView& view, const std::vector<std::size_t>& rows) {
  constexpr std::size_t kEnough = 1000;  // of a million points, to see which settings differ
  const auto& points = view.frontier.points();
  std::vector<const Point*> compared;
  compared.reserve(rows.size());
  for (const std::size_t i : rows) compared.push_back(&points[i]);
  if (rows.size() == 1) {
    for (std::size_t i = 0; i < std::min(points.size(), kEnough); ++i)
      compared.push_back(&points[i]);
  }
  ShownSettings shown = choose_settings(compared);
  shown.by_row = shown.columns.empty() && view.frontier.candidates() > 1;
  return shown;
}

/// Where the i-th point came from: "3", "b.csv:3" among several files.
std::string row_of(const FrontierView& view, std::size_t i) {
  const Point& point = view.frontier.points()[i];
  const std::string row = std::to_string(point.origin != 0 ? point.origin : i + 1);
  return view.files.size() > 1 && point.file < view.files.size()
             ? printable(view.files[point.file]) + ":" + row
             : row;
}

std::string settings_text(const Point& point, const ShownSettings& shown) {
  Config config;
  for (const std::string& name : shown.columns)
    config.set(name, shown_value(value_of(point, name)));
  return config.text();
}

std::string name_of(const FrontierView& view, std::size_t i, const ShownSettings& shown) {
  if (shown.by_row) return "row " + row_of(view, i);
  const std::string settings = settings_text(view.frontier.points()[i], shown);
  return settings.empty() ? "the only configuration" : settings;
}

std::string per_unit(const FrontierView& view) {
  return view.unit.empty() ? "" : " per " + view.unit;
}

/// "58.2 J per request (reconstructed, no uncertainty stated)".
std::string energy_text(const Energy& energy, const FrontierView& view) {
  const bool stated = energy.expanded_uncertainty().value() > 0;
  return fmt::format("{}{} ({}{})", with_uncertainty(energy), per_unit(view), energy.status_text(),
                     stated ? ", k=2" : ", no uncertainty stated");
}

/// "79.3 ms (avg_tpot_s)": the column's name where it is more than "time".
std::string time_text(const Point& point, const FrontierView& view) {
  const std::string time = to_text(point.time);
  return is_plain_name(view.time_name, Dimension::kTime)
             ? time
             : fmt::format("{} ({})", time, view.time_name);
}

/// Points whose energy is a mere bound.
std::vector<std::size_t> bounds_of(const FrontierView& view) {
  const auto& points = view.frontier.points();
  std::vector<std::size_t> bounds;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].energy.status != Status::kMissing && !is_candidate(points[i]))
      bounds.push_back(i);
  }
  return bounds;
}

/// Bounds are shown whether or not all is: that they are left out must not go unseen.
std::vector<std::size_t> rows_to_show(const FrontierView& view) {
  const auto& points = view.frontier.points();
  std::vector<std::size_t> rows = view.frontier.indices();
  const auto add = [&](std::size_t i) {
    if (std::find(rows.begin(), rows.end(), i) == rows.end()) rows.push_back(i);
  };
  if (view.all) {
    const std::set<std::size_t> there(rows.begin(), rows.end());
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (there.count(i) == 0 && is_candidate(points[i])) rows.push_back(i);
    }
  }
  const std::vector<std::size_t> bounds = bounds_of(view);
  rows.insert(rows.end(), bounds.begin(), bounds.end());
  add(view.choice.chosen);
  std::stable_sort(rows.begin(), rows.end(),
                   [&](std::size_t a, std::size_t b) { return points[a].time < points[b].time; });
  return rows;
}

char mark_of(const FrontierView& view, std::size_t i) {
  if (i == view.choice.chosen) return view.choice.miss ? '!' : '*';
  if (!is_candidate(view.frontier.points()[i])) return '?';
  const auto& on = view.frontier.indices();
  return std::find(on.begin(), on.end(), i) != on.end() ? 'o' : '.';
}

/// Whether energy / time is a power: a time per token and an energy per request do not divide into
/// one; where the table calls the column simply its time, they are those of the same work.
bool has_power(const FrontierView& view, const Point& point) {
  return point.rate > 0 || is_plain_name(view.time_name, Dimension::kTime);
}

std::string table_text(const FrontierView& view, const std::vector<std::size_t>& rows,
                       const ShownSettings& shown) {
  const auto& points = view.frontier.points();
  const bool powers = std::any_of(rows.begin(), rows.end(),
                                  [&](std::size_t i) { return has_power(view, points[i]); });
  std::vector<Table::Column> columns{{""}};
  if (shown.by_row) columns.push_back({"row"});
  for (const std::string& name : shown.columns) columns.push_back({name});
  columns.push_back({view.time_name, Table::Align::kRight});
  columns.push_back({view.energy_name, Table::Align::kRight});
  if (powers) columns.push_back({"mean power", Table::Align::kRight});
  columns.push_back({"saved", Table::Align::kRight});
  columns.push_back({"status"});
  Table table(columns);
  const Joules baseline = points[view.choice.baseline].energy.joules;
  for (const std::size_t i : rows) {
    const Point& point = points[i];
    std::vector<std::string> cells{std::string(1, mark_of(view, i))};
    if (shown.by_row) cells.push_back(row_of(view, i));
    for (const std::string& name : shown.columns)
      cells.push_back(shown_value(value_of(point, name)));
    cells.push_back(to_text(point.time));
    cells.push_back(with_uncertainty(point.energy));
    const bool known = is_candidate(point);
    if (powers) cells.push_back(known && has_power(view, point) ? to_text(mean_power(point)) : "-");
    cells.push_back(known && baseline.value() > 0 ? percent(1 - point.energy.joules / baseline)
                                                  : "-");
    cells.push_back(point.energy.status_text());
    table.add(std::move(cells));
  }
  return table.text();
}

std::string plot_text(const FrontierView& view) {
  const auto& points = view.frontier.points();
  std::vector<Dot> dots;
  Seconds t_low = points[view.frontier.fastest()].time;
  Seconds t_high = t_low;
  Joules e_low = points[view.frontier.fastest()].energy.joules;
  Joules e_high = e_low;
  const std::set<std::size_t> on(view.frontier.indices().begin(), view.frontier.indices().end());
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!is_candidate(points[i])) continue;
    const bool chosen = i == view.choice.chosen;
    const char mark = chosen ? mark_of(view, i) : (on.count(i) > 0 ? 'o' : '.');
    dots.push_back(Dot{points[i].time.value(), points[i].energy.joules.value(), mark,
                       chosen ? 2 : (mark == 'o' ? 1 : 0)});
    t_low = std::min(t_low, points[i].time);
    t_high = std::max(t_high, points[i].time);
    e_low = std::min(e_low, points[i].energy.joules);
    e_high = std::max(e_high, points[i].energy.joules);
  }
  return scatter(dots,
                 {view.time_name, view.energy_name, to_text(t_low), to_text(t_high), to_text(e_low),
                  to_text(e_high)},
                 60, 14) +
         "\n";
}

std::string in_quantity(double value, const std::string& quantity) {
  if (quantity == "time") return to_text(Seconds(value));
  if (quantity == "energy") return to_text(Joules(value));
  return to_text(Watts(value));
}

std::string recommendation_text(const FrontierView& view, const ShownSettings& shown) {
  const auto& points = view.frontier.points();
  const Choice& choice = view.choice;
  const Point& chosen = points[choice.chosen];
  if (choice.miss) {
    const Miss& miss = *choice.miss;
    return fmt::format(
        "Infeasible ({}): none of {} meets it.\n"
        "  nearest: {}: {} of {}, {} above the limit of {}\n",
        choice.rule, counted(static_cast<double>(choice.candidates), "point"),
        name_of(view, choice.chosen, shown), miss.quantity,
        in_quantity(miss.reached, miss.quantity), percent(miss.over),
        in_quantity(miss.limit, miss.quantity));
  }
  std::string text = fmt::format(
      "Recommended ({}; {} of {} feasible): {}\n  {}, {}\n", choice.rule, choice.feasible,
      counted(static_cast<double>(choice.candidates), "point"), name_of(view, choice.chosen, shown),
      time_text(chosen, view), energy_text(chosen.energy, view));
  if (!choice.note.empty()) text += "  " + choice.note + "\n";
  if (choice.chosen == choice.baseline) return text + "  which is the fastest point\n";
  const Point& baseline = points[choice.baseline];
  const double saved = choice.energy_saved;
  return text + fmt::format(
                    "  {} {} of the energy at {:.3g} x the time of the fastest point "
                    "({}: {}, {})\n",
                    saved >= 0 ? "saves" : "spends another", percent(std::abs(saved)),
                    choice.slowdown, name_of(view, choice.baseline, shown), to_text(baseline.time),
                    energy_text(baseline.energy, view));
}

Json point_json(const Point& point, const FrontierView& view) {
  Json json = Json::object();
  Json::Object settings;
  for (const Setting setting : point.config.settings())
    settings.emplace_back(setting.name, setting.value);
  json["settings"] = Json::of(std::move(settings));
  json["time_s"] = point.time.value();
  if (point.time_random.value() > 0) json["time_expanded_s"] = 2 * point.time_random.value();
  json["energy"] = to_json(point.energy);
  // A table without a column of uncertainty says nothing of it; zero would say that it is exact.
  if (point.energy.status != Status::kZero && point.energy.standard_uncertainty().value() == 0)
    json["energy"]["expanded_j"] = Json();
  json["rate_per_s"] = point.rate > 0 ? Json(point.rate) : Json();
  json["origin"] = static_cast<std::int64_t>(point.origin);
  if (view.files.size() > 1 && point.file < view.files.size())
    json["file"] = view.files[point.file];
  return json;
}

std::string bounds_text(const FrontierView& view, const ShownSettings& shown) {
  std::string text;
  for (const std::size_t i : bounds_of(view)) {
    text +=
        fmt::format("Left out of the choice (?): {}: {}, of which part went unseen\n",
                    name_of(view, i, shown), with_uncertainty(view.frontier.points()[i].energy));
  }
  return text;
}

}  // namespace

std::string frontier_text(const FrontierView& view) {
  const std::vector<std::size_t> rows = rows_to_show(view);
  const ShownSettings shown = choose_settings(view, rows);
  std::string out;
  if (!view.key.empty()) out += "== " + view.key.text() + "\n";
  const std::size_t on = view.frontier.indices().size();
  out += fmt::format("{} of {} {} on the frontier{}\n", on,
                     counted(static_cast<double>(view.frontier.candidates()), "point"),
                     on == 1 ? "is" : "are",
                     shown.common.empty() ? "" : "; all shown have " + shown.common);
  out += "\n" + table_text(view, rows, shown) + "\n";
  if (view.plot) out += plot_text(view);
  out += recommendation_text(view, shown);
  out += bounds_text(view, shown);
  if (view.between) {
    out += fmt::format("  between the points: {}: {}, {}\n", settings_text(*view.between, shown),
                       time_text(*view.between, view), energy_text(view.between->energy, view));
  }
  return out;
}

Json frontier_json(const FrontierView& view) {
  const auto& points = view.frontier.points();
  const Choice& choice = view.choice;
  Json group = Json::object();
  Json key = Json::object();
  for (const Setting setting : view.key.settings()) key[setting.name] = setting.value;
  group["group"] = std::move(key);
  Json frontier = Json::array();
  const std::set<std::size_t> on(view.frontier.indices().begin(), view.frontier.indices().end());
  for (const std::size_t i : view.all ? rows_to_show(view) : view.frontier.indices()) {
    Json point = point_json(points[i], view);
    if (view.all) point["on_frontier"] = on.count(i) > 0;
    frontier.push_back(std::move(point));
  }
  group[view.all ? "points" : "frontier"] = std::move(frontier);
  if (const std::vector<std::size_t> bounds = bounds_of(view); !bounds.empty()) {
    group["left_out"] = Json::array();
    for (const std::size_t i : bounds) group["left_out"].push_back(point_json(points[i], view));
  }
  group["rule"] = choice.rule;
  group["note"] = choice.note;
  group["candidates"] = static_cast<std::int64_t>(choice.candidates);
  group["feasible"] = static_cast<std::int64_t>(choice.feasible);
  group["fastest"] = point_json(points[choice.baseline], view);
  group["chosen"] = choice.miss ? Json() : point_json(points[choice.chosen], view);
  group["energy_saved"] = choice.miss ? Json() : Json(choice.energy_saved);
  group["slowdown"] = choice.miss ? Json() : Json(choice.slowdown);
  if (choice.miss) {
    Json miss = Json::object();
    miss["quantity"] = choice.miss->quantity;
    miss["limit"] = choice.miss->limit;
    miss["reached"] = choice.miss->reached;
    miss["over"] = choice.miss->over;
    miss["nearest"] = point_json(points[choice.miss->nearest], view);
    group["miss"] = std::move(miss);
  }
  if (view.between) group["between"] = point_json(*view.between, view);
  return group;
}

}  // namespace perjoule::cli
