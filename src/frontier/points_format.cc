#include "frontier/points_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/csv.h"
#include "base/energy_json.h"
#include "base/text.h"
#include "frontier/row_source.h"

namespace perjoule {

namespace {

constexpr std::string_view kSchema = "perjoule.points.v1";
constexpr std::string_view kFamily = "perjoule.points.v";
constexpr std::string_view kSettingPrefix = "setting.";
constexpr std::string_view kFigureColumns =
    "time_s,energy_j,random_j,systematic,lower_j,upper_j,rate_per_s,status,boundary,source,origin";

/// An empty cell means that the point has no such setting; an empty value is written as "%", and a
/// value that begins with "%" gets another one.
std::string setting_cell(std::string_view value) {
  return (value.empty() || value.front() == '%' ? "%" : "") + std::string(value);
}
std::string setting_value(std::string_view cell) {
  return std::string(cell.substr(cell.front() == '%' ? 1 : 0));
}

/// On which sides the figure is a bound; only a table that has such a point has the column.
constexpr std::string_view kBoundColumn = "bound";
std::string_view bound_cell(const Energy& energy) {
  if (energy.lower_bound) return energy.upper_bound ? "both" : "lower";
  return energy.upper_bound ? "upper" : "";
}

std::string finite_or_empty(double value) { return std::isfinite(value) ? exact(value) : ""; }

std::string systematic_cell(const std::vector<SystematicPart>& parts) {
  if (parts.empty()) return {};
  Json object = Json::object();
  for (const SystematicPart& part : parts) object[part.sensor] = part.sigma.value();
  return object.dump();
}

std::vector<std::string> setting_names(const std::vector<Point>& points) {
  std::vector<std::string> names;
  for (const Point& point : points) {
    for (const Setting setting : point.config.settings()) {
      if (std::find(names.begin(), names.end(), setting.name) == names.end())
        names.emplace_back(setting.name);
    }
  }
  return names;
}

}  // namespace

std::string points_csv(const PointsFile& file) {
  std::string out = fmt::format("# {}\n# unit: {}\n", kSchema, Json(file.unit).dump());
  const std::vector<std::string> names = setting_names(file.points);
  for (const std::string& name : names) out += csv_field(std::string(kSettingPrefix) + name) + ",";
  const bool bounds = std::any_of(file.points.begin(), file.points.end(),
                                  [](const Point& point) { return point.energy.one_sided(); });
  out += std::string(kFigureColumns) + (bounds ? "," + std::string(kBoundColumn) : "") + "\n";
  for (const Point& point : file.points) {
    for (const std::string& name : names) {
      const auto value = point.config.find(name);
      if (value) out += csv_field(setting_cell(*value));
      out += ",";
    }
    const Energy& energy = point.energy;
    const bool missing = energy.status == Status::kMissing;
    out += fmt::format(
        "{},{},{},{},{},{},{},{},{},{},{}", exact(point.time.value()),
        missing ? "" : exact(energy.joules.value()), missing ? "" : exact(energy.random.value()),
        csv_field(systematic_cell(energy.systematic)), finite_or_empty(energy.lower.value()),
        finite_or_empty(energy.upper.value()), exact(point.rate), energy.status_text(),
        name_of(energy.boundary), csv_field(energy.source), point.origin);
    if (bounds) (out += ',') += bound_cell(energy);
    out += '\n';
  }
  return out;
}

Json points_json(const PointsFile& file) {
  Json document = Json::object();
  document["schema"] = kSchema;
  document["unit"] = file.unit;
  Json points = Json::array();
  for (const Point& point : file.points) {
    Json entry = Json::object();
    Json::Object settings;
    for (const Setting setting : point.config.settings())
      settings.emplace_back(setting.name, setting.value);
    entry["settings"] = Json::of(std::move(settings));
    entry["time_s"] = point.time.value();
    entry["energy"] = to_json(point.energy);
    entry["rate_per_s"] = point.rate;
    entry["origin"] = static_cast<std::int64_t>(point.origin);
    points.push_back(std::move(entry));
  }
  document["points"] = std::move(points);
  return document;
}

namespace {

/// The schema a CSV text names in its first line, or a JSON text in its first member.
std::string_view schema_of(std::string_view text) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  if (looks_like_json(text)) {
    // Our writers put the schema first; a document that has it elsewhere is asked when parsed.
    const std::size_t at = text.substr(0, 512).find(kFamily);
    if (at == std::string_view::npos) return {};
    return text.substr(at, text.find('"', at) - at);
  }
  const std::string_view line = trim(text.substr(0, text.find('\n')));
  if (line.empty() || line.front() != '#') return {};
  const std::string_view schema = trim(line.substr(1));
  return schema.substr(0, kFamily.size()) == kFamily ? schema : std::string_view();
}

/// The unit from the comment "# unit: "token"" among the first lines.
std::string unit_of_csv(std::string_view text) {
  for (int line = 0; line < 8 && !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view comment = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    constexpr std::string_view kUnit = "# unit:";
    if (comment.substr(0, kUnit.size()) != kUnit) continue;
    const auto unit = parse_json(trim(comment.substr(kUnit.size())));
    if (unit && unit->as_string() != nullptr) return *unit->as_string();
  }
  return {};
}

/// The figures of one row of our CSV, found by name, so that columns may stand in any order.
class RowReader {
 public:
  explicit RowReader(const CsvTable& table) : table_(table) {
    for (std::size_t i = 0; i < table.columns().size(); ++i) {
      const std::string_view column = table.columns()[i];
      if (column.substr(0, kSettingPrefix.size()) == kSettingPrefix)
        settings_.emplace_back(column.substr(kSettingPrefix.size()), i);
    }
  }

  Result<Point> read(std::size_t row) const {
    Point point;
    for (const auto& [name, column] : settings_) {
      const std::string_view cell = table_.cell(row, column);
      if (!cell.empty()) point.config.set(name, setting_value(cell));
    }
    PJ_TRY(const double time, number(row, "time_s", std::nullopt));
    PJ_TRY(point.rate, number(row, "rate_per_s", 0));
    PJ_TRY(const double origin, number(row, "origin", 0));
    point.time = Seconds(time);
    if (!(origin >= 0 && origin < 9e15)) return bad(row, "origin", "not a row number");
    point.origin = static_cast<std::size_t>(origin);
    PJ_TRY(point.energy, energy(row));
    return point;
  }

 private:
  std::string_view text(std::size_t row, std::string_view column) const {
    const auto at = table_.column(column);
    return at ? table_.cell(row, *at) : std::string_view();
  }
  tl::unexpected<Error> bad(std::size_t row, std::string_view column, std::string_view why) const {
    return Error::invalid_argument(fmt::format("{}: line {}, column '{}': {}: '{}'", table_.name(),
                                               table_.line(row), column, why, text(row, column)));
  }
  Result<double> number(std::size_t row, std::string_view column,
                        std::optional<double> otherwise) const {
    const auto at = table_.column(column);
    if (otherwise && (!at || trim(table_.cell(row, *at)).empty())) return *otherwise;
    if (!at)
      return Error::invalid_argument(fmt::format("{}: no column '{}'", table_.name(), column));
    return table_.number(row, *at);
  }

  Result<Energy> energy(std::size_t row) const {
    Energy energy;
    if (!energy.set_status(trim(text(row, "status")))) return bad(row, "status", "unknown status");
    const std::string_view boundary_text = trim(text(row, "boundary"));
    const auto boundary = boundary_named(boundary_text.empty() ? "B0" : boundary_text);
    if (!boundary) return bad(row, "boundary", "unknown boundary");
    energy.boundary = *boundary;
    energy.source = text(row, "source");
    if (energy.status == Status::kMissing) return energy;
    const std::string_view bound = trim(text(row, kBoundColumn));
    energy.lower_bound = bound == "lower" || bound == "both";
    energy.upper_bound = bound == "upper" || bound == "both";
    if (!bound.empty() && !energy.one_sided())
      return bad(row, kBoundColumn, "not lower, upper or both");
    PJ_TRY(const double joules, number(row, "energy_j", std::nullopt));
    PJ_TRY(const double random, number(row, "random_j", 0));
    PJ_TRY(const double lower, number(row, "lower_j", energy.lower.value()));
    PJ_TRY(const double upper, number(row, "upper_j", energy.upper.value()));
    energy.joules = Joules(joules);
    energy.random = Joules(random);
    energy.lower = Joules(lower);
    energy.upper = Joules(upper);
    const std::string_view systematic = trim(text(row, "systematic"));
    if (systematic.empty()) return energy;
    const auto parts = parse_json(systematic);
    if (!parts || parts->as_object() == nullptr)
      return bad(row, "systematic", "not a JSON object of sensors and joules");
    for (const auto& [sensor, sigma] : *parts->as_object()) {
      const auto value = sigma.as_number();
      if (!value) return bad(row, "systematic", "not a JSON object of sensors and joules");
      energy.systematic.push_back(SystematicPart{sensor, Joules(*value)});
    }
    std::sort(energy.systematic.begin(), energy.systematic.end(),
              [](const auto& a, const auto& b) { return a.sensor < b.sensor; });
    return energy;
  }

  const CsvTable& table_;
  std::vector<std::pair<std::string, std::size_t>> settings_;
};

Result<Point> point_from_json(const Json& entry) {
  Point point;
  const auto time = entry.number("time_s");
  if (!time) return Error::invalid_argument("'time_s' is missing or not a number");
  point.time = Seconds(*time);
  point.rate = entry.number("rate_per_s").value_or(0);
  const std::int64_t origin = entry.integer("origin").value_or(0);
  point.origin = origin > 0 ? static_cast<std::size_t>(origin) : 0;
  if (const Json* settings = entry.find("settings")) {
    if (settings->as_object() == nullptr)
      return Error::invalid_argument("'settings' is not an object");
    for (const auto& [name, value] : *settings->as_object()) {
      const std::string* text = value.as_string();
      point.config.set(name, text != nullptr ? *text : value.dump());
    }
  }
  const Json* energy = entry.find("energy");
  if (energy == nullptr) return Error::invalid_argument("'energy' is missing");
  PJ_TRY(point.energy, energy_from_json(*energy));
  return point;
}

Result<PointsFile> parse_json_file(std::string_view text, std::string_view name) {
  Result<Json> document = parse_json(text);
  if (!document) return fail(document, name);
  const Json* root = &*document;
  const Json* points = root->find("points");
  // What `sweep --json` prints holds the file as its member of that name.
  if (points != nullptr && points->is_object()) {
    root = points;
    points = root->find("points");
  }
  if (points == nullptr || points->as_array() == nullptr)
    return Error::invalid_argument(fmt::format("{}: no array 'points'", name));
  PointsFile file{root->string("unit").value_or(""), {}};
  for (const Json& entry : *points->as_array()) {
    Result<Point> point = point_from_json(entry);
    if (!point) return fail(point, fmt::format("{}: point {}", name, file.points.size() + 1));
    file.points.push_back(std::move(*point));
  }
  return file;
}

}  // namespace

bool is_points_file(std::string_view text) { return !schema_of(text).empty(); }

Result<PointsFile> parse_points_file(std::string_view text, std::string_view name) {
  const std::string_view schema = schema_of(text);
  if (schema.empty()) {
    return Error::invalid_argument(fmt::format("{}: does not say that it is a {}", name, kSchema));
  }
  if (schema != kSchema) {
    return Error::not_supported(
        fmt::format("{}: written as {}, this perjoule reads {}", name, schema, kSchema),
        "read it with the perjoule that wrote it, or a newer one");
  }
  if (looks_like_json(text)) return parse_json_file(text, name);
  PJ_TRY(const CsvTable table, parse_csv(text, name));
  PointsFile file{unit_of_csv(text), {}};
  const RowReader reader(table);
  file.points.reserve(table.rows());
  for (std::size_t row = 0; row < table.rows(); ++row) {
    PJ_TRY(Point point, reader.read(row));
    file.points.push_back(std::move(point));
  }
  return file;
}

}  // namespace perjoule
