// The points table of our own, perjoule.points.v1, in CSV and JSON: what sweeps write, written and
// read back exactly. docs/formats.md describes it for other writers.
//
//   PointsFile file{"token", points};
//   PJ_CHECK(write_file_atomically("points.csv", points_csv(file)));
//   PJ_TRY(const PointsFile again, parse_points_file(text, "points.csv"));
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/json.h"
#include "base/result.h"

namespace perjoule {

struct PointsFile {
  std::string unit;  ///< of work, singular: "token", "step"; may be empty
  std::vector<Point> points;
};

/// CSV, the first line a comment that names the format. Exact for every finite figure and every
/// setting whose name has no blanks around it; in CSV the settings of a point come back in the
/// order of the columns.
std::string points_csv(const PointsFile& file);
Json points_json(const PointsFile& file);

/// Whether a text says that it is in our format, of whatever version.
bool is_points_file(std::string_view text);

/// Reads either. `name` is for messages, which carry line or element. Fails with invalid_argument
/// on a malformed file and with not_supported on a version other than 1.
Result<PointsFile> parse_points_file(std::string_view text, std::string_view name);

}  // namespace perjoule
