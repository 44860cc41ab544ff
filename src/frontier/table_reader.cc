#include "frontier/table_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>

#include "frontier/column_roles.h"
#include "frontier/row_groups.h"

namespace perjoule {

namespace {

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

/// Makes the configs of a table's rows; rows that have the same settings share their names. An
/// empty cell is no setting.
class ConfigMaker {
 public:
  ConfigMaker(const RowSource& rows, const std::vector<std::size_t>& columns)
      : rows_(rows), columns_(columns), scratch_(columns.size()) {}

  Config make(std::size_t row) {
    present_.assign(columns_.size(), '1');
    values_.clear();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string_view value = rows_.text(row, columns_[i], scratch_[i]);
      if (value.empty()) {
        present_[i] = '0';
      } else {
        values_.push_back(value);
      }
    }
    if (values_.empty()) return {};
    if (present_ != last_present_) {
      last_present_ = present_;
      last_names_ = names();
    }
    return Config(last_names_, values_);
  }

 private:
  /// Those of the columns that are there.
  const Config::Names& names() {
    Config::Names& known = known_[present_];
    if (known) return known;
    std::vector<std::string> made;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (present_[i] == '1') made.push_back(rows_.columns()[columns_[i]]);
    }
    known = std::make_shared<const std::vector<std::string>>(std::move(made));
    return known;
  }

  const RowSource& rows_;
  const std::vector<std::size_t>& columns_;
  std::vector<std::string> scratch_;  ///< one a column: the values of a row are held together
  std::vector<std::string_view> values_;
  std::string present_;  ///< '1' for each column that has a value in the row
  std::string last_present_;
  Config::Names last_names_;
  std::unordered_map<std::string, Config::Names> known_;
};

/// Reads the rows of one table of anyone's.
class TableReader {
 public:
  TableReader(const RowSource& rows, const PointsOptions& options, std::uint32_t file,
              Grouper& groups, PointsTable& table)
      : rows_(rows),
        options_(options),
        file_(file),
        selection_(options),
        table_(table),
        groups_(groups) {}

  Outcome read() {
    PJ_TRY(roles_, find_roles(rows_, options_, table_.notes));
    configs_.emplace(rows_, roles_.settings);
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
    const std::size_t expected = group_.empty() && where_.empty() ? rows_.rows() : 0;
    for (std::size_t row = 0; row < rows_.rows(); ++row) {
      if (!selection_.keeps([&](std::size_t i) { return rows_.text(row, where_[i], scratch_); }))
        continue;
      ++table_.selected;
      PJ_TRY(Point point, read(row));
      groups_.add(key_of(row), std::move(point), expected);
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
    point.config = configs_->make(row);
    point.file = file_;
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
      if (!energy.set_status(name)) {
        return Error::invalid_argument(
            fmt::format("{}: unknown status: '{}'", rows_.where(row, *roles_.status), name));
      }
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
  std::uint32_t file_;
  RowSelection selection_;
  PointsTable& table_;
  Grouper& groups_;
  ColumnRoles roles_;
  std::optional<ConfigMaker> configs_;
  std::vector<std::size_t> where_;
  std::vector<std::size_t> group_;
  std::string source_;
  std::string scratch_;
};

}  // namespace

Outcome read_table(const RowSource& rows, const PointsOptions& options, std::uint32_t file,
                   Grouper& groups, PointsTable& table) {
  return TableReader(rows, options, file, groups, table).read();
}

}  // namespace perjoule
