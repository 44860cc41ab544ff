// Operating points from the tables people have: CSV or JSON with whatever columns, one row a
// configuration (or a repeat of one).
//
//   PointsOptions options;
//   PJ_CHECK(add_mapping("time=avg_tpot_s", options.map));       // or let it be recognised
//   options.where = {{"gpu", "H100"}};
//   options.group_by = {"model"};
//   PJ_TRY(const PointsTable table, read_points({"llm.csv"}, options));
//   for (const PointGroup& group : table.groups) Frontier::make(group.points);
//
// Which column is the time and which the energy is taken from the mapping, or recognised by the
// unit in the name when only one column can be meant (of several, the one plainly named "time" or
// "energy"). An energy that is not in the table is made from power and time when a power column is
// mapped. The unit comes from the mapping, else from the name, else it is taken as seconds or
// joules and a note says so.
//
// Every other column is a setting, except those whose names say that they are figures too (a second
// time, an energy, a throughput) unless `settings` names what counts. Rows that agree in all
// settings are repeats and are averaged (frontier/repeats.h).
//
// A figure read from someone's table is `reconstructed`, unless a column `status` says what it is
// or the table is in our own format (frontier/points_format.h), which keeps everything.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "frontier/points_format.h"

namespace perjoule {

/// Where each figure stands: "COLUMN", "COLUMN:unit", a sum "a+b", or a pattern "gpu*_energy:J"
/// whose matches are added. Empty: recognise it, or go without.
struct ColumnMap {
  std::string time;
  std::string energy;
  std::string power;        ///< mean power: rate = power / energy, or energy = power x time
  std::string rate;         ///< units of work a second
  std::string uncertainty;  ///< of the energy, expanded (k = 2)
  std::string status;
};

/// Adds "time=avg_tpot_s" and the like; fails on an unknown figure or a text without '='.
Outcome add_mapping(std::string_view text, ColumnMap& map);

struct PointsOptions {
  ColumnMap map = {};
  /// Rows to keep: column and value; numbers compare as numbers. Values of one column are
  /// alternatives, different columns must all match.
  std::vector<std::pair<std::string, std::string>> where = {};
  std::vector<std::string> group_by = {};  ///< columns; each combination is a group of its own
  std::vector<std::string> settings = {};  ///< columns that are settings; empty: all that may be
  bool average = true;                     ///< repeats become one point
};

struct PointGroup {
  Config key;  ///< the values of the group-by columns
  std::vector<Point> points;
};

struct PointsTable {
  std::vector<PointGroup> groups;  ///< in order of first appearance; never empty
  std::string unit;                ///< of work, where the file says it
  std::string time_column;         ///< what the files call the time, e.g. "avg_tpot_s"
  std::string energy_column;       ///< and the energy
  std::vector<std::string> files;  ///< the inputs' names; Point::file counts them
  std::vector<std::string> notes;  ///< what was taken for granted, one sentence each
  std::size_t rows = 0;            ///< in the files
  std::size_t selected = 0;        ///< kept by `where`
};

/// Reads and joins the files ("-" is standard input). Errors name file, line and column. Fails with
/// not_found when no row is selected. O(rows x columns used).
Result<PointsTable> read_points(const std::vector<std::string>& paths,
                                const PointsOptions& options);
/// A file, or points that come from elsewhere, such as stored runs.
struct PointsInput {
  std::string name;                  ///< the path, or the name for messages
  std::optional<PointsFile> points;  ///< given: not read from a file
};
/// Reads and joins all of them, in order. Figures per unlike units of work (steps and tokens, or
/// steps and whole runs) are refused with invalid_argument, as far as the inputs say theirs.
Result<PointsTable> join_points(std::vector<PointsInput> inputs, const PointsOptions& options);
/// The same from one text; `name` is for messages and the energies' source.
Result<PointsTable> parse_points(std::string_view text, std::string_view name,
                                 const PointsOptions& options);

}  // namespace perjoule
