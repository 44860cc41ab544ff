#include "train/limit_recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/csv.h"
#include "base/energy_json.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

namespace perjoule {
namespace {

std::string limit_text(double limit) { return fmt::format("{:g} W", limit); }

/// The columns gpu0_energy, gpu1_energy, ...
std::vector<std::size_t> energy_columns(const CsvTable& table) {
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < table.columns().size(); ++i) {
    const std::string& name = table.columns()[i];
    if (name.starts_with("gpu") && name.ends_with("_energy")) columns.push_back(i);
  }
  return columns;
}

/// Columns that are no measurement: what they say of one limit must be the same in all its rows.
std::vector<std::size_t> fixed_columns(const CsvTable& table) {
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < table.columns().size(); ++i) {
    const std::string& name = table.columns()[i];
    const bool measured =
        name == "start_time" || name == "elapsed_time" || name.ends_with("_energy");
    if (name != "window_name" && !measured) columns.push_back(i);
  }
  return columns;
}

/// "x_300": what was done, and under which limit.
struct WindowName {
  std::string_view prefix;
  double limit;
};

Result<WindowName> window_of(const CsvTable& table, std::size_t row, std::size_t column) {
  const std::string_view window = table.cell(row, column);
  const std::size_t last = window.rfind('_');
  const auto limit =
      last == std::string_view::npos ? std::nullopt : parse_number(window.substr(last + 1));
  if (limit && *limit > 0) return WindowName{window.substr(0, last), *limit};
  return Error::invalid_argument(
      fmt::format("{}:{}: window_name '{}' does not end in _ and a limit "
                  "in W",
                  table.name(), table.line(row), window));
}

/// All windows of one limit.
struct Windows {
  std::size_t first_row = 0;
  std::string_view prefix;
  std::vector<double> seconds;
  std::vector<double> joules;
};

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// From the lowest to the highest, as a share of the mean.
double spread_of(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double mean = mean_of(values);
  return mean > 0 ? (*high - *low) / mean : 0;
}

/// Windows of one limit that were of different jobs are told apart by what else their rows say.
Outcome check_alike(const CsvTable& table, std::size_t row, std::string_view prefix,
                    const Windows& windows) {
  const auto differs = [&](std::string_view column, std::string_view here, std::string_view there) {
    return Error::invalid_argument(
        fmt::format("{}:{}: {} '{}' where line {} has '{}' for the same limit", table.name(),
                    table.line(row), column, here, table.line(windows.first_row), there),
        "windows of one limit must be of the same work: give a file for each");
  };
  if (prefix != windows.prefix)
    return differs("window_name before the limit", prefix, windows.prefix);
  for (const std::size_t column : fixed_columns(table)) {
    const std::string_view here = trim(table.cell(row, column));
    const std::string_view there = trim(table.cell(windows.first_row, column));
    if (here != there) return differs(table.columns()[column], here, there);
  }
  return {};
}

Result<LimitRecording> from_windows(const CsvTable& table) {
  PJ_TRY(const std::size_t name, table.require_column("window_name"));
  PJ_TRY(const std::size_t elapsed, table.require_column("elapsed_time"));
  const std::vector<std::size_t> gpus = energy_columns(table);
  if (gpus.empty()) {
    return Error::invalid_argument(
        fmt::format("{}: no column gpu0_energy, gpu1_energy, ...", table.name()),
        "give windows as ZeusMonitor logs them, or JSON of train power-limit");
  }
  std::map<double, Windows, std::greater<>> by_limit;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    PJ_TRY(const WindowName window, window_of(table, row, name));
    PJ_TRY(const double seconds, table.number(row, elapsed));
    const auto [at, first] = by_limit.try_emplace(window.limit);
    Windows& windows = at->second;
    if (first) {
      windows.first_row = row;
      windows.prefix = window.prefix;
    }
    PJ_CHECK(check_alike(table, row, window.prefix, windows));
    double energy = 0;
    for (const std::size_t gpu : gpus) {
      PJ_TRY(const double joules, table.number(row, gpu));
      energy += joules;
    }
    windows.seconds.push_back(seconds);
    windows.joules.push_back(energy);
  }
  LimitRecording recording;
  recording.unit = "window";
  for (const auto& [limit, windows] : by_limit) {
    Point point;
    point.config.set("power limit", limit_text(limit));
    point.time = Seconds(mean_of(windows.seconds));
    point.energy.joules = Joules(mean_of(windows.joules));
    point.energy.status = Status::kReconstructed;  // somebody else's figures
    point.energy.source = table.name();
    recording.points.push_back(std::move(point));
    const double times = spread_of(windows.seconds);
    const double energies = spread_of(windows.joules);
    if (times > 0 || energies > 0) {
      recording.notes.push_back(fmt::format(
          "{}: the mean of {} is taken; from lowest to highest they differ by {} in time and {} in "
          "energy",
          limit_text(limit), counted(static_cast<double>(windows.seconds.size()), "window"),
          percent(times), percent(energies)));
    }
  }
  if (!by_limit.empty()) {
    recording.max_power = Watts(by_limit.begin()->first) * static_cast<double>(gpus.size());
  }
  return recording;
}

/// The setting of a point, from either document.
std::optional<std::string> limit_of(const Json& point) {
  if (const Json* settings = point.find("settings")) return settings->string("power limit");
  const auto limit = point.number("power_limit_w");
  return limit ? std::optional<std::string>(limit_text(*limit)) : std::nullopt;
}

Result<Point> point_of(const Json& json, const std::string& where) {
  const auto limit = limit_of(json);
  const auto time = json.number("time_s");
  const Json* energy = json.find("energy");
  if (!limit || !time || energy == nullptr) {
    return Error::invalid_argument(where + ": a power limit, time_s and energy are not all there");
  }
  auto read = energy_from_json(*energy);
  if (!read) return fail(read, where);
  Point point;
  point.config.set("power limit", *limit);
  point.time = Seconds(*time);
  point.time_random = Seconds(json.number("time_expanded_s").value_or(0) / 2);
  point.energy = std::move(*read);
  return point;
}

Result<LimitRecording> from_document(const Json& document, const std::string& name) {
  const std::string schema = document.string("schema").value_or("");
  const bool verb = schema == "perjoule.train-power-limit.v1";
  if (!verb && schema != "perjoule.train-steps.v1") {
    return Error::invalid_argument(
        fmt::format("{}: schema '{}' is no recording of power limits", name, schema),
        "give what train power-limit --json or pj_steps_json gave");
  }
  const Json* holder = verb ? document.find("result") : &document;
  const Json* points = holder != nullptr ? holder->find("points") : nullptr;
  const Json::Array* array = points != nullptr ? points->as_array() : nullptr;
  const auto max_power = document.number("max_power_w");
  if (array == nullptr || !max_power) {
    return Error::invalid_argument(name + ": points or max_power_w is missing",
                                   "take a run that settled, of this version of perjoule");
  }
  LimitRecording recording;
  recording.unit = document.string("steps_are") == "activity" ? "period" : "step";
  recording.max_power = Watts(*max_power);
  for (std::size_t i = 0; i < array->size(); ++i) {
    PJ_TRY(Point point, point_of((*array)[i], fmt::format("{}: point {}", name, i + 1)));
    recording.points.push_back(std::move(point));
  }
  return recording;
}

}  // namespace

Rule LimitRecording::with_max_power(Rule rule) const {
  if (auto* eta = std::get_if<EtaCost>(&rule); eta != nullptr && !eta->max_power)
    eta->max_power = max_power;
  return rule;
}

Result<LimitRecording> parse_limit_recording(std::string_view text, std::string_view name) {
  LimitRecording recording;
  if (trim(text).starts_with("{")) {
    const auto document = parse_json(text);
    if (!document) return fail(document, std::string(name));
    PJ_TRY(recording, from_document(*document, std::string(name)));
  } else {
    PJ_TRY(const CsvTable table, parse_csv(text, name));
    PJ_TRY(recording, from_windows(table));
  }
  if (recording.points.empty())
    return Error::invalid_argument(fmt::format("{}: no power limit was measured", name));
  return recording;
}

Result<LimitRecording> read_limit_recording(const std::string& path) {
  PJ_TRY(const std::string text, read_file(path));
  return parse_limit_recording(text, path);
}

}  // namespace perjoule
