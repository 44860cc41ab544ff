#include "cli/calibrate.h"

#include <fmt/format.h>

#include "base/csv.h"
#include "base/text.h"
#include "cli/machine.h"
#include "cli/table.h"
#include "meter/calibration.h"

namespace perjoule::cli {
namespace {

/// The first of the names that the table has.
Result<std::size_t> column_of(const CsvTable& table, std::initializer_list<const char*> names) {
  std::string wanted;
  for (const char* name : names) {
    if (const auto column = table.column(name)) return *column;
    wanted += (wanted.empty() ? "" : ", ") + std::string(name);
  }
  return Error::invalid_argument(table.name() + ": no column of these names: " + wanted,
                                 "name the columns so");
}

/// A meter's file may be a course of `run --csv` (a node's meter): then of one source, and of
/// another than the one to be corrected by it.
Outcome check_meter_source(const CsvTable& table, const std::string& corrected) {
  const auto column = table.column("source");
  if (!column || table.rows() == 0) return {};
  const std::string_view first = table.cell(0, *column);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.cell(row, *column) == first) continue;
    return Error::invalid_argument(
        fmt::format("{}: holds several sources, {} and {}: a meter is one", table.name(), first,
                    table.cell(row, *column)),
        "keep the rows of the external meter alone");
  }
  if (first != corrected) return {};
  return Error::invalid_argument(
      fmt::format("{}: is the course of {} itself, not of a meter", table.name(), corrected),
      "give the file of an external meter");
}

Result<std::vector<PowerSample>> read_meter(const std::string& path, const std::string& corrected) {
  PJ_TRY(const CsvTable table, read_csv(path));
  PJ_CHECK(check_meter_source(table, corrected));
  PJ_TRY(const std::size_t time, column_of(table, {"unix_s", "time", "timestamp"}));
  PJ_TRY(const std::size_t power, column_of(table, {"power_w", "watts", "power", "w"}));
  std::vector<PowerSample> samples;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    PJ_TRY(const double when, table.number(row, time));
    PJ_TRY(const double watts, table.number(row, power));
    samples.push_back({when, watts});
  }
  return samples;
}

/// The course of one source out of the file that `run --csv` writes.
Result<std::vector<PowerSample>> read_course(const std::string& path, const std::string& wanted) {
  PJ_TRY(const CsvTable table, read_csv(path));
  PJ_TRY(const std::size_t source, column_of(table, {"source"}));
  PJ_TRY(const std::size_t time, column_of(table, {"unix_s"}));
  PJ_TRY(const std::size_t power, column_of(table, {"power_w", "watts"}));
  std::vector<PowerSample> samples;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.cell(row, source) != wanted) continue;
    PJ_TRY(const double when, table.number(row, time));
    PJ_TRY(const double watts, table.number(row, power));
    samples.push_back({when, watts});
  }
  if (samples.empty()) {
    return Error::not_found(path + ": no samples of source " + wanted,
                            "perjoule devices lists the sources");
  }
  return samples;
}

std::string text_of(const Calibration& c) {
  return fmt::format(
      "{}: true power = {:.4f} x reading {:+.3g} W\n"
      "from {} samples between {} and {}, the meter's clock {:+.2f} s against ours\n"
      "residual {} (one sigma); gain now known to {} (one sigma, the meter's own accuracy "
      "included)\n",
      c.source, c.scale, c.shift.value(), c.samples, to_text(c.lowest, 3), to_text(c.highest, 3),
      c.lag.value(), to_text(c.residual, 3), percent(c.scale_sigma / c.scale, 2));
}

/// What the source states of itself; nothing where it is not there now (recorded on the twin, or a
/// device that was taken out).
Result<SourceInfo> stated_by(const std::string& id) {
  const RealClock clock;
  PJ_TRY(const Inventory machine, look_at_machine(clock));
  for (const Source* source : machine.sources()) {
    if (source->info().id == id) return source->info();
  }
  return SourceInfo{};
}

}  // namespace

std::vector<Option> calibrate_options() {
  return {
      {"calibrate", "METER.CSV",
       "fit a source to an external meter's file (unix_s, power_w) and keep the result"},
      {"course", "RUN.CSV", "with --calibrate: what perjoule run --csv recorded meanwhile"},
      {"source", "ID", "with --calibrate: the source to correct"},
      {"meter-accuracy", "SHARE", "with --calibrate: the meter's own relative accuracy", "0.01"},
  };
}

Result<int> calibrate(const Arguments& arguments) {
  if (!arguments.has("course") || !arguments.has("source")) {
    return Error::invalid_argument(
        "--calibrate needs --course and --source",
        "record both at once: perjoule run --csv course.csv -- CMD, with the meter running");
  }
  const auto accuracy = parse_number(arguments.value("meter-accuracy"));
  if (!accuracy || *accuracy < 0 || *accuracy > 1) {
    return Error::invalid_argument("--meter-accuracy " + arguments.value("meter-accuracy") +
                                   ": outside 0 to 1");
  }
  const std::string source = arguments.value("source");
  PJ_TRY(std::vector<PowerSample> meter, read_meter(arguments.value("calibrate"), source));
  PJ_TRY(std::vector<PowerSample> course, read_course(arguments.value("course"), source));
  PJ_TRY(const Calibration fit,
         fit_calibration(source, std::move(course), std::move(meter), *accuracy));
  PJ_TRY(const SourceInfo stated, stated_by(source));
  PJ_TRY(const std::optional<std::string> warning, check_stated_gain(fit, stated));
  PJ_CHECK(check_narrower(fit, stated));
  PJ_CHECK(save_calibration(calibration_path(), fit));
  if (warning) complain(*warning);
  if (arguments.json()) {
    Json json = to_json(fit);
    json["schema"] = "perjoule.calibration.v1";
    print(json.dump(2) + "\n");
  } else {
    print(text_of(fit) + "kept in " + calibration_path() + "; delete the file to undo\n");
  }
  return kDone;
}

}  // namespace perjoule::cli
