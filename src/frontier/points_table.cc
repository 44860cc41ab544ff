#include "frontier/points_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/energy_json.h"
#include "base/file.h"
#include "base/text.h"
#include "frontier/column_roles.h"
#include "frontier/points_format.h"
#include "frontier/repeats.h"
#include "frontier/row_source.h"

namespace perjoule {

Outcome add_mapping(std::string_view text, ColumnMap& map) {
  const std::size_t equals = text.find('=');
  const std::string_view figure = trim(text.substr(0, equals));
  const std::pair<std::string_view, std::string*> known[] = {
      {"time", &map.time}, {"energy", &map.energy}, {"power", &map.power},
      {"rate", &map.rate}, {"status", &map.status}, {"uncertainty", &map.uncertainty}};
  for (const auto& [name, column] : known) {
    if (name != figure || equals == std::string_view::npos) continue;
    *column = trim(text.substr(equals + 1));
    if (!column->empty()) return {};
  }
  return Error::invalid_argument(
      fmt::format("not a mapping: '{}'", text),
      "write FIGURE=COLUMN[:unit] with time, energy, power, rate, uncertainty or status");
}

namespace {

/// "8" and "8.0" are the same value, "8" and "08b" are not.
bool same_value(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const auto x = parse_number(a);
  const auto y = parse_number(b);
  return x && y && *x == *y;
}

/// The `where` conditions, gathered by column.
class Selection {
 public:
  explicit Selection(const PointsOptions& options) {
    for (const auto& wanted : options.where) {
      auto at = std::find_if(conditions_.begin(), conditions_.end(),
                             [&](const Condition& c) { return c.name == wanted.first; });
      if (at == conditions_.end()) at = conditions_.insert(at, Condition{wanted.first, {}});
      at->values.push_back(wanted.second);
    }
  }
  /// Whether all columns match; `value_of(i)` gives the i-th condition's cell.
  template <typename F>
  bool keeps(F&& value_of) const {
    for (std::size_t i = 0; i < conditions_.size(); ++i) {
      const std::string_view cell = value_of(i);
      const auto& values = conditions_[i].values;
      if (std::none_of(values.begin(), values.end(),
                       [&](const std::string& value) { return same_value(cell, value); }))
        return false;
    }
    return true;
  }
  std::size_t size() const { return conditions_.size(); }
  const std::string& name(std::size_t i) const { return conditions_[i].name; }

 private:
  struct Condition {
    std::string name;
    std::vector<std::string> values;
  };
  std::vector<Condition> conditions_;
};

/// Puts points into the group of their key.
class Grouper {
 public:
  /// Groups that an earlier file brought are continued.
  explicit Grouper(PointsTable& table) : table_(table) {
    for (std::size_t i = 0; i < table.groups.size(); ++i)
      known_.try_emplace(text_of_key(table.groups[i].key), i);
  }
  PointGroup& group(const Config& key) {
    const auto [at, is_new] = known_.try_emplace(text_of_key(key), table_.groups.size());
    if (is_new) table_.groups.push_back(PointGroup{key, {}});
    return table_.groups[at->second];
  }

 private:
  static std::string text_of_key(const Config& key) {
    std::string text;
    for (const Setting& setting : key.settings()) (text += setting.value) += '\0';
    return text;
  }
  PointsTable& table_;
  std::unordered_map<std::string, std::size_t> known_;
};

/// The values a column has, for the message when none of them is the one asked for.
std::string values_of(const RowSource& rows, std::size_t column) {
  std::vector<std::string> seen;
  std::string scratch;
  for (std::size_t row = 0; row < rows.rows() && seen.size() <= 8; ++row) {
    std::string value(rows.text(row, column, scratch));
    if (std::find(seen.begin(), seen.end(), value) == seen.end()) seen.push_back(std::move(value));
  }
  std::string list;
  for (std::size_t i = 0; i < std::min<std::size_t>(seen.size(), 8); ++i)
    list += (i == 0 ? "'" : ", '") + seen[i] + "'";
  return seen.size() > 8 ? list + ", ..." : list;
}

/// Reads the rows of one table of anyone's.
class TableReader {
 public:
  TableReader(const RowSource& rows, const PointsOptions& options, PointsTable& table)
      : rows_(rows), options_(options), selection_(options), table_(table), grouper_(table) {}

  Outcome read() {
    PJ_TRY(roles_, find_roles(rows_, options_, table_.notes));
    for (std::size_t i = 0; i < selection_.size(); ++i) {
      PJ_TRY(const std::size_t column, column_named(rows_, selection_.name(i)));
      where_.push_back(column);
    }
    for (const std::string& name : options_.group_by) {
      PJ_TRY(const std::size_t column, column_named(rows_, name));
      group_.push_back(column);
    }
    const std::string energy = roles_.energy.present()
                                   ? roles_.energy.label
                                   : roles_.power.label + " x " + roles_.time.label;
    source_ = rows_.name() + ":" + energy;
    if (table_.time_column.empty()) table_.time_column = roles_.time.label;
    if (table_.energy_column.empty()) table_.energy_column = energy;
    table_.rows += rows_.rows();
    const std::size_t before = table_.selected;
    for (std::size_t row = 0; row < rows_.rows(); ++row) {
      if (!selection_.keeps([&](std::size_t i) { return rows_.text(row, where_[i], scratch_); }))
        continue;
      ++table_.selected;
      PJ_TRY(Point point, read(row));
      std::vector<Point>& points = grouper_.group(key_of(row)).points;
      if (points.empty() && group_.empty() && where_.empty()) points.reserve(rows_.rows());
      points.push_back(std::move(point));
    }
    if (table_.selected == before && rows_.rows() > 0) explain_empty();
    return {};
  }

 private:
  Config key_of(std::size_t row) {
    Config key;
    for (const std::size_t column : group_)
      key.set(rows_.columns()[column], rows_.text(row, column, scratch_));
    return key;
  }

  Result<Point> read(std::size_t row) {
    Point point;
    std::vector<Setting> settings;
    settings.reserve(roles_.settings.size());
    for (const std::size_t column : roles_.settings) {
      const std::string_view value = rows_.text(row, column, scratch_);
      if (!value.empty()) settings.push_back(Setting{rows_.columns()[column], std::string(value)});
    }
    point.config = Config(std::move(settings));
    point.origin = rows_.origin(row);
    PJ_TRY(const double time, roles_.time.read(rows_, row));
    if (!(time > 0)) return bad(row, roles_.time, "time is not above zero", time);
    point.time = Seconds(time);
    PJ_TRY(point.energy, read_energy(row, point));
    if (roles_.rate.present()) {
      PJ_TRY(point.rate, roles_.rate.read(rows_, row));
      if (point.rate < 0) return bad(row, roles_.rate, "rate is below zero", point.rate);
    }
    return point;
  }

  Result<Energy> read_energy(std::size_t row, Point& point) {
    Energy energy;
    energy.source = source_;
    energy.status = Status::kReconstructed;
    if (roles_.status) {
      const std::string_view name = rows_.text(row, *roles_.status, scratch_);
      const auto status = status_named(name);
      if (!status) {
        return Error::invalid_argument(
            fmt::format("{}: unknown status: '{}'", rows_.where(row, *roles_.status), name));
      }
      energy.status = *status;
      if (energy.status == Status::kMissing) return energy;
    }
    double power = 0;
    if (roles_.power.present()) {
      PJ_TRY(power, roles_.power.read(rows_, row));
      if (power < 0) return bad(row, roles_.power, "power is below zero", power);
    }
    if (roles_.energy.present()) {
      PJ_TRY(const double joules, roles_.energy.read(rows_, row));
      if (joules < 0) return bad(row, roles_.energy, "energy is below zero", joules);
      energy.joules = Joules(joules);
      // What draws P and uses E for a unit of work does P / E units a second.
      if (joules > 0) point.rate = power / joules;
    } else {
      energy.joules = Watts(power) * point.time;
    }
    if (roles_.uncertainty.present()) {
      PJ_TRY(const double expanded, roles_.uncertainty.read(rows_, row));
      if (expanded < 0) return bad(row, roles_.uncertainty, "uncertainty is below zero", expanded);
      energy.random = Joules(expanded / 2);
    }
    return energy;
  }

  tl::unexpected<Error> bad(std::size_t row, const FigureColumns& figure, std::string_view why,
                            double value) const {
    return Error::invalid_argument(
        fmt::format("{}: {}: {}", rows_.where(row, figure.parts.front().first), why, value));
  }

  void explain_empty() {
    for (std::size_t i = 0; i < where_.size(); ++i) {
      table_.notes.push_back(fmt::format("{}: column '{}' holds {}", rows_.name(),
                                         selection_.name(i), values_of(rows_, where_[i])));
    }
  }

  const RowSource& rows_;
  const PointsOptions& options_;
  Selection selection_;
  PointsTable& table_;
  Grouper grouper_;
  ColumnRoles roles_;
  std::vector<std::size_t> where_;
  std::vector<std::size_t> group_;
  std::string source_;
  std::string scratch_;
};

/// Our own format: the settings are the columns.
Outcome add_points_file(PointsFile file, const PointsOptions& options, PointsTable& table) {
  const Selection selection(options);
  Grouper grouper(table);
  if (table.unit.empty()) table.unit = file.unit;
  table.rows += file.points.size();
  for (Point& point : file.points) {
    const auto value = [&](const std::string& name) -> std::string_view {
      const std::string* found = point.config.find(name);
      return found != nullptr ? std::string_view(*found) : std::string_view();
    };
    if (!selection.keeps([&](std::size_t i) { return value(selection.name(i)); })) continue;
    ++table.selected;
    Config key;
    for (const std::string& name : options.group_by) key.set(name, value(name));
    if (!options.settings.empty()) {
      Config narrowed;
      for (const std::string& name : options.settings) narrowed.set(name, value(name));
      point.config = std::move(narrowed);
    }
    grouper.group(key).points.push_back(std::move(point));
  }
  return {};
}

Outcome add_text(std::string_view text, std::string_view name, const PointsOptions& options,
                 PointsTable& table) {
  if (is_points_file(text)) {
    PJ_TRY(PointsFile file, parse_points_file(text, name));
    return add_points_file(std::move(file), options, table);
  }
  PJ_TRY(const std::unique_ptr<RowSource> rows, parse_rows(text, name));
  return TableReader(*rows, options, table).read();
}

/// Averages repeats and refuses an empty answer.
Result<PointsTable> finish(PointsTable table, std::string_view names,
                           const PointsOptions& options) {
  if (table.selected == 0) {
    std::string why = fmt::format("{}: {}", names, table.rows == 0 ? "no rows" : "no row matches");
    for (const std::string& note : table.notes) why += "; " + note;
    return Error::not_found(why);
  }
  if (!options.average) return table;
  std::size_t left = 0;
  for (PointGroup& group : table.groups) {
    group.points = average_repeats(std::move(group.points));
    left += group.points.size();
  }
  if (left < table.selected) {
    table.notes.push_back(fmt::format("{} rows are repeats of {} configurations and are averaged",
                                      table.selected, left));
  }
  return table;
}

}  // namespace

Result<PointsTable> parse_points(std::string_view text, std::string_view name,
                                 const PointsOptions& options) {
  PointsTable table;
  PJ_CHECK(add_text(text, name, options, table));
  return finish(std::move(table), name, options);
}

Result<PointsTable> read_points(const std::vector<std::string>& paths,
                                const PointsOptions& options) {
  PointsTable joined;
  std::string names;
  for (const std::string& path : paths) {
    const std::string name = path == "-" ? "standard input" : path;
    names += (names.empty() ? "" : ", ") + name;
    PJ_TRY(const std::string text, read_file(path));
    PJ_CHECK(add_text(text, name, options, joined));
  }
  return finish(std::move(joined), names, options);
}

}  // namespace perjoule
