#include "frontier/points_table.h"

#include <fmt/format.h>

#include <memory>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "frontier/points_format.h"
#include "frontier/row_groups.h"
#include "frontier/row_source.h"
#include "frontier/table_reader.h"

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

std::string per_unit(const std::string& unit) {
  return unit.empty() ? "whole runs, not per unit of work" : "per " + unit;
}

/// The words of those that are there, "B0 and B1"; empty for fewer than two.
template <typename Kind, std::size_t N>
std::string unlike(const Kind (&all)[N], const std::set<Kind>& there) {
  std::string text;
  if (there.size() < 2) return text;
  for (const Kind kind : all) {
    if (there.count(kind) > 0) text += (text.empty() ? "" : " and ") + std::string(name_of(kind));
  }
  return text;
}

/// What must be told of energies that are held against each other though they are not alike.
void note_unlike(const std::vector<PointGroup>& groups, std::vector<std::string>& notes) {
  constexpr Boundary kBoundaries[] = {Boundary::kDevice, Boundary::kNode, Boundary::kCluster,
                                      Boundary::kFacility, Boundary::kLifecycle};
  constexpr Status kStatuses[] = {Status::kMeasured, Status::kSimulated, Status::kEstimated,
                                  Status::kReconstructed};
  std::string boundaries;
  std::string statuses;
  for (const PointGroup& group : groups) {
    std::set<Boundary> borders;
    std::set<Status> kinds;
    for (const Point& point : group.points) {
      const Status status = point.energy.status;
      if (status == Status::kMissing || status == Status::kZero) continue;
      borders.insert(point.energy.boundary);
      kinds.insert(status);
    }
    if (boundaries.empty()) boundaries = unlike(kBoundaries, borders);
    if (statuses.empty()) statuses = unlike(kStatuses, kinds);
  }
  if (!boundaries.empty()) {
    notes.push_back("energies of unlike boundaries are held against each other: " + boundaries);
  }
  if (!statuses.empty()) {
    notes.push_back("energies of unlike status are held against each other: " + statuses);
  }
}

/// Puts the inputs into one table.
class Joiner {
 public:
  explicit Joiner(const PointsOptions& options) : options_(options), groups_(options.average) {}

  Outcome add(std::string text, const std::string& name) {
    const std::uint32_t file = next(name);
    if (is_points_file(text)) {
      PJ_TRY(PointsFile points, parse_points_file(text, name));
      text = {};
      return add_points(std::move(points), name, file);
    }
    PJ_TRY(const std::unique_ptr<RowSource> rows, parse_rows(std::move(text), name));
    silent_.push_back(name);
    return read_table(*rows, options_, file, groups_, table_);
  }
  Outcome add(PointsFile points, const std::string& name) {
    return add_points(std::move(points), name, next(name));
  }

  /// Averages repeats and refuses an empty answer.
  Result<PointsTable> finish() &&;

 private:
  std::uint32_t next(const std::string& name) {
    table_.files.push_back(name);
    return static_cast<std::uint32_t>(table_.files.size() - 1);
  }

  /// Our own format: the settings are the columns.
  Outcome add_points(PointsFile file, const std::string& name, std::uint32_t number) {
    if (says_unit_.empty()) {
      says_unit_ = name;
      table_.unit = file.unit;
    } else if (file.unit != table_.unit) {
      return Error::invalid_argument(
          fmt::format("figures of unlike work: {} in {}, {} in {}", per_unit(table_.unit),
                      says_unit_, per_unit(file.unit), name),
          "give points that count the same unit of work");
    }
    const RowSelection selection(options_);
    table_.rows += file.points.size();
    for (Point& point : file.points) {
      point.file = number;
      const auto value = [&](const std::string& setting) {
        return point.config.find(setting).value_or(std::string_view());
      };
      if (!selection.keeps([&](std::size_t i) { return value(selection.name(i)); })) continue;
      ++table_.selected;
      Config key;
      for (const std::string& setting : options_.group_by) key.set(setting, value(setting));
      if (!options_.settings.empty()) {
        Config narrowed;
        for (const std::string& setting : options_.settings) narrowed.set(setting, value(setting));
        point.config = std::move(narrowed);
      }
      groups_.add(key, std::move(point));
    }
    return {};
  }

  const PointsOptions& options_;
  PointsTable table_;
  Grouper groups_;
  std::string says_unit_;            ///< the input that the unit is taken from
  std::vector<std::string> silent_;  ///< those that say nothing of their unit
};

Result<PointsTable> Joiner::finish() && {
  if (table_.selected == 0) {
    std::string why;
    for (const std::string& name : table_.files) why += (why.empty() ? "" : ", ") + name;
    why += table_.rows == 0 ? ": no rows" : ": no row matches";
    for (const std::string& note : table_.notes) why += "; " + note;
    return Error::not_found(why);
  }
  if (!says_unit_.empty()) {
    for (const std::string& name : silent_) {
      table_.notes.push_back(
          fmt::format("{} does not say what its figures are for; they are taken "
                      "as {}, as those of {} are",
                      name, per_unit(table_.unit), says_unit_));
    }
  }
  table_.groups = std::move(groups_).take();
  note_unlike(table_.groups, table_.notes);
  std::size_t left = 0;
  for (const PointGroup& group : table_.groups) left += group.points.size();
  if (left < table_.selected) {
    table_.notes.push_back(fmt::format("{} are repeats of {} and are averaged",
                                       counted(static_cast<double>(table_.selected), "row"),
                                       counted(static_cast<double>(left), "configuration")));
  }
  return std::move(table_);
}

}  // namespace

Result<PointsTable> parse_points(std::string_view text, std::string_view name,
                                 const PointsOptions& options) {
  Joiner joiner(options);
  PJ_CHECK(joiner.add(std::string(text), std::string(name)));
  return std::move(joiner).finish();
}

Result<PointsTable> join_points(std::vector<PointsInput> inputs, const PointsOptions& options) {
  Joiner joiner(options);
  for (PointsInput& input : inputs) {
    if (input.points) {
      PJ_CHECK(joiner.add(std::move(*input.points), input.name));
      continue;
    }
    PJ_TRY(std::string text, read_file(input.name));
    PJ_CHECK(joiner.add(std::move(text), input.name == "-" ? "standard input" : input.name));
  }
  return std::move(joiner).finish();
}

Result<PointsTable> read_points(const std::vector<std::string>& paths,
                                const PointsOptions& options) {
  std::vector<PointsInput> inputs;
  inputs.reserve(paths.size());
  for (const std::string& path : paths) inputs.push_back({path, std::nullopt});
  return join_points(std::move(inputs), options);
}

}  // namespace perjoule
