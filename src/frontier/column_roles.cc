#include "frontier/column_roles.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/energy.h"
#include "base/text.h"
#include "frontier/column_units.h"

namespace perjoule {

Result<double> FigureColumns::read(const RowSource& rows, std::size_t row) const {
  double sum = 0;
  for (const auto& [column, factor] : parts) {
    PJ_TRY(const double value, rows.number(row, column));
    sum += value * factor;
  }
  return sum;
}

namespace {

std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (std::size_t i = 0; i < names.size() && i < 24; ++i) list += (i == 0 ? "" : ", ") + names[i];
  return names.size() > 24 ? list + ", ..." : list;
}

/// Whether the text matches a pattern with '*' for any run of characters.
bool matches(std::string_view text, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return text == pattern;
  if (text.substr(0, star) != pattern.substr(0, star)) return false;
  pattern.remove_prefix(star + 1);
  for (std::size_t i = star; i <= text.size(); ++i) {
    if (matches(text.substr(i), pattern)) return true;
  }
  return false;
}

std::string_view si_word(Dimension dimension) {
  switch (dimension) {
    case Dimension::kTime:
      return "seconds";
    case Dimension::kEnergy:
      return "joules";
    case Dimension::kPower:
      return "watts";
    case Dimension::kRate:
      return "units a second";
  }
  return "";
}

class Resolver {
 public:
  Resolver(const RowSource& rows, std::vector<std::string>& notes) : rows_(rows), notes_(notes) {}

  /// A figure from the mapping's words; absent when there are none.
  Result<FigureColumns> mapped(std::string_view spec, Dimension dimension) const {
    FigureColumns figure;
    if (spec.empty()) return figure;
    std::optional<FigureUnit> unit;
    if (!rows_.find(spec)) {
      // "COLUMN:unit", unless a column is really called so.
      const std::size_t colon = spec.rfind(':');
      if (colon != std::string_view::npos) {
        const std::string_view word = trim(spec.substr(colon + 1));
        unit = unit_named(word);
        if (!unit || unit->dimension != dimension) {
          return Error::invalid_argument(
              fmt::format("{}: not a unit of {}: '{}'", rows_.name(), si_word(dimension), word));
        }
        spec = spec.substr(0, colon);
      }
    }
    PJ_TRY(const std::vector<std::size_t> columns, columns_of(spec));
    for (const std::size_t column : columns) {
      PJ_TRY(const double factor, factor_of(column, dimension, unit));
      figure.parts.emplace_back(column, factor);
    }
    figure.label = spec;
    return figure;
  }

  /// The one column that can be meant by its name; an error when there is none or several.
  Result<FigureColumns> recognised(Dimension dimension, std::string_view role) const {
    std::vector<std::string> candidates;
    std::vector<std::string> plain;
    for (const std::string& column : rows_.columns()) {
      if (is_side_figure(column)) continue;
      const auto unit = unit_of_column(column);
      const bool is_plain = is_plain_name(column, dimension);
      if ((unit && unit->dimension == dimension) || (!unit && is_plain)) {
        candidates.push_back(column);
        if (is_plain) plain.push_back(column);
      }
    }
    const auto& meant = plain.size() == 1 ? plain : candidates;
    if (meant.size() == 1) return mapped(meant.front(), dimension);
    const std::string remedy = fmt::format("say which with --map {}=COLUMN[:unit]", role);
    if (meant.empty()) {
      return Error::invalid_argument(fmt::format("{}: no column is recognised as {}; columns: {}",
                                                 rows_.name(), role, list_of(rows_.columns())),
                                     remedy);
    }
    return Error::invalid_argument(fmt::format("{}: more than one column could be the {}: {}",
                                               rows_.name(), role, list_of(meant)),
                                   remedy);
  }

 private:
  Result<std::vector<std::size_t>> columns_of(std::string_view spec) const {
    if (const auto whole = rows_.find(spec)) return std::vector<std::size_t>{*whole};
    std::vector<std::size_t> columns;
    for (const std::string_view part : split(spec, '+')) {
      const std::size_t before = columns.size();
      if (part.find('*') != std::string_view::npos) {
        for (std::size_t i = 0; i < rows_.columns().size(); ++i) {
          if (matches(rows_.columns()[i], trim(part))) columns.push_back(i);
        }
      } else if (const auto column = rows_.find(trim(part))) {
        columns.push_back(*column);
      }
      if (columns.size() == before) PJ_CHECK(column_named(rows_, trim(part)));
    }
    return columns;
  }

  Result<double> factor_of(std::size_t column, Dimension dimension,
                           const std::optional<FigureUnit>& unit) const {
    if (dimension == Dimension::kRate) return 1.0;
    if (unit) return unit->factor;
    const std::string& name = rows_.columns()[column];
    const auto own = unit_of_column(name);
    if (own && own->dimension == dimension) return own->factor;
    if (own && own->dimension != Dimension::kRate) {
      return Error::invalid_argument(fmt::format("{}: column '{}' is not in a unit of {}",
                                                 rows_.name(), name, si_word(dimension)),
                                     "write COLUMN:unit to say what it is in");
    }
    notes_.push_back(fmt::format("{}: column '{}' names no unit and is taken as {}", rows_.name(),
                                 name, si_word(dimension)));
    return 1.0;
  }

  const RowSource& rows_;
  std::vector<std::string>& notes_;
};

/// A column called "status" counts unasked only when it says nothing but known states.
std::optional<std::size_t> status_column(const RowSource& rows) {
  const auto column = rows.find("status");
  if (!column) return std::nullopt;
  std::string scratch;
  Energy any;
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    if (!any.set_status(rows.text(row, *column, scratch))) return std::nullopt;
  }
  return column;
}

bool is_used(const FigureColumns& figure, std::size_t column) {
  return std::any_of(figure.parts.begin(), figure.parts.end(),
                     [&](const auto& part) { return part.first == column; });
}

std::vector<std::size_t> remaining_settings(const RowSource& rows, const ColumnRoles& roles) {
  std::vector<std::size_t> settings;
  for (std::size_t i = 0; i < rows.columns().size(); ++i) {
    if (is_used(roles.time, i) || is_used(roles.energy, i) || is_used(roles.power, i) ||
        is_used(roles.rate, i) || is_used(roles.uncertainty, i) || roles.status == i)
      continue;
    const std::string& name = rows.columns()[i];
    const auto unit = unit_of_column(name);
    // A power may be a setting (its limit); a mean of it is a figure. Times and energies are
    // figures unless they are a limit the job was given.
    const bool mean_power =
        unit && unit->dimension == Dimension::kPower && !is_side_figure(name) &&
        (starts_with_ignoring_case(name, "avg") || starts_with_ignoring_case(name, "mean") ||
         is_plain_name(name, Dimension::kPower));
    const bool figure = unit && unit->dimension != Dimension::kPower;
    if (!mean_power && !figure) settings.push_back(i);
  }
  return settings;
}

}  // namespace

Result<std::size_t> column_named(const RowSource& rows, std::string_view name) {
  if (const auto column = rows.find(name)) return *column;
  return Error::not_found(
      fmt::format("{}: no column '{}'; columns: {}", rows.name(), name, list_of(rows.columns())));
}

Result<ColumnRoles> find_roles(const RowSource& rows, const PointsOptions& options,
                               std::vector<std::string>& notes) {
  const Resolver resolver(rows, notes);
  const ColumnMap& map = options.map;
  ColumnRoles roles;
  PJ_TRY(roles.time, resolver.mapped(map.time, Dimension::kTime));
  PJ_TRY(roles.energy, resolver.mapped(map.energy, Dimension::kEnergy));
  PJ_TRY(roles.power, resolver.mapped(map.power, Dimension::kPower));
  PJ_TRY(roles.rate, resolver.mapped(map.rate, Dimension::kRate));
  PJ_TRY(roles.uncertainty, resolver.mapped(map.uncertainty, Dimension::kEnergy));
  if (!roles.time.present()) {
    PJ_TRY(roles.time, resolver.recognised(Dimension::kTime, "time"));
  }
  if (!roles.energy.present()) {
    Result<FigureColumns> energy = resolver.recognised(Dimension::kEnergy, "energy");
    // Power times time is an energy, but only where the user says that this power is meant.
    if (!energy && !roles.power.present()) return fail(energy);
    if (energy) roles.energy = std::move(*energy);
  }
  if (!map.status.empty()) {
    PJ_TRY(roles.status, column_named(rows, map.status));
  } else {
    roles.status = status_column(rows);
  }
  if (options.settings.empty()) {
    roles.settings = remaining_settings(rows, roles);
  } else {
    for (const std::string& name : options.settings) {
      PJ_TRY(const std::size_t column, column_named(rows, name));
      roles.settings.push_back(column);
    }
  }
  return roles;
}

}  // namespace perjoule
