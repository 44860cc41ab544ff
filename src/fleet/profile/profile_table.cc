#include "fleet/profile/profile_table.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "base/text.h"
#include "fleet/profile/profile_builder.h"
#include "fleet/profile/profile_cells.h"

namespace perjoule {
namespace {

constexpr std::array kColumns = {"model",        "gpu",         "tp",          "pp",
                                 "clock_mhz",    "class",       "load_tps",    "power_w",
                                 "ttft_mean_ms", "ttft_p90_ms", "ttft_p99_ms", "tbt_mean_ms",
                                 "tbt_p90_ms",   "tbt_p99_ms",  "status",      "origin"};
constexpr std::size_t kModel = 0;
constexpr std::size_t kGpu = 1;
constexpr std::size_t kTp = 2;
constexpr std::size_t kPp = 3;
constexpr std::size_t kClock = 4;
constexpr std::size_t kClass = 5;
constexpr std::size_t kLoad = 6;
constexpr std::size_t kPower = 7;
constexpr std::size_t kTtft = 8;  // kLatencyStatistics of them
constexpr std::size_t kTbt = 11;
constexpr std::size_t kStatus = 14;
constexpr std::size_t kOrigin = 15;
/// A share from 0 to 1; the column may be missing, and a cell be empty: not counted.
constexpr std::string_view kAttainment = "attainment";

/// Where each of kColumns stands in the table.
using Places = std::array<std::size_t, kColumns.size()>;

std::string word(const CsvTable& table, std::size_t row, std::size_t column) {
  return std::string(trim(table.cell(row, column)));
}

Result<LatencyFigures> latencies(const CsvTable& table, std::size_t row, const Places& places,
                                 std::size_t first) {
  LatencyFigures figures;
  for (std::size_t i = 0; i < kLatencyStatistics; ++i) {
    PJ_TRY(figures[static_cast<LatencyStatistic>(i)], latency_cell(table, row, places[first + i]));
  }
  return figures;
}

Result<Status> status_cell(const CsvTable& table, std::size_t row, std::size_t column) {
  const std::string text = word(table, row, column);
  for (const Status status :
       {Status::kMeasured, Status::kReconstructed, Status::kEstimated, Status::kSimulated}) {
    if (text == name_of(status)) return status;
  }
  return Error::invalid_argument(
      fmt::format("{}: '{}' is no status", text_of_cell(table, row, column), text),
      "measured, reconstructed, estimated or simulated");
}

Result<double> attainment_cell(const CsvTable& table, std::size_t row, std::size_t column) {
  if (word(table, row, column).empty()) return std::numeric_limits<double>::quiet_NaN();
  PJ_TRY(const double share, positive_cell(table, row, column, true));
  if (share <= 1) return share;
  return Error::invalid_argument(
      fmt::format("{}: {} is above 1", text_of_cell(table, row, column), exact(share)));
}

Result<ProfileRow> read_row(const CsvTable& table, std::size_t row, const Places& places) {
  ProfileRow read;
  read.where = fmt::format("{}: line {}", table.name(), table.line(row));
  InstanceLayout& layout = read.curve.layout;
  layout.model = word(table, row, places[kModel]);
  layout.gpu = word(table, row, places[kGpu]);
  for (const std::size_t column : {kModel, kGpu}) {
    if (word(table, row, places[column]).empty())
      return Error::invalid_argument(text_of_cell(table, row, places[column]) + ": empty");
  }
  PJ_TRY(layout.tensor_parallel, degree_cell(table, row, places[kTp]));
  PJ_TRY(layout.pipeline_parallel, degree_cell(table, row, places[kPp]));
  PJ_TRY(read.curve.clock_mhz, positive_cell(table, row, places[kClock]));
  read.curve.load_class = word(table, row, places[kClass]);
  PJ_TRY(read.curve.status, status_cell(table, row, places[kStatus]));
  read.curve.origin = word(table, row, places[kOrigin]);
  PJ_TRY(read.point.load, positive_cell(table, row, places[kLoad], true));
  PJ_TRY(const double power, positive_cell(table, row, places[kPower]));
  read.point.power = Watts(power);
  PJ_TRY(read.point.ttft, latencies(table, row, places, kTtft));
  PJ_TRY(read.point.tbt, latencies(table, row, places, kTbt));
  if (const auto column = table.column(kAttainment)) {
    PJ_TRY(read.point.attainment, attainment_cell(table, row, *column));
  }
  return read;
}

void add_latencies(const LatencyFigures& figures, std::string& line) {
  for (std::size_t i = 0; i < kLatencyStatistics; ++i) {
    const double value = figures[static_cast<LatencyStatistic>(i)].value();
    line += ',';
    if (!std::isnan(value)) line += exact(value * 1000);
  }
}

}  // namespace

bool is_profile_table(const CsvTable& table) {
  return table.column(kColumns[kLoad]) && table.column(kColumns[kPower]) &&
         table.column(kColumns[kClock]);
}

Result<ServingProfile> read_profile_table(const CsvTable& table) {
  Places places = {};
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    PJ_TRY(places[i], table.require_column(kColumns[i]));
  }
  if (table.rows() == 0) return Error::invalid_argument(table.name() + ": a profile without rows");
  ProfileBuilder builder;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    PJ_TRY(ProfileRow read, read_row(table, row, places));
    PJ_CHECK(builder.add(std::move(read)));
  }
  return std::move(builder).finish();
}

std::string profile_csv(const ServingProfile& profile) {
  std::string text;
  for (const char* column : kColumns) (text += text.empty() ? "" : ",") += column;
  text += fmt::format(",{}\n", kAttainment);
  for (const ProfileCurve& curve : profile.curves) {
    const std::string begin =
        fmt::format("{},{},{},{},{},{}", csv_field(curve.layout.model), csv_field(curve.layout.gpu),
                    curve.layout.tensor_parallel, curve.layout.pipeline_parallel,
                    exact(curve.clock_mhz), csv_field(curve.load_class));
    const std::string end = fmt::format(",{},{},", name_of(curve.status), csv_field(curve.origin));
    for (const ServingPoint& point : curve.points) {
      text += begin + fmt::format(",{},{}", exact(point.load), exact(point.power.value()));
      add_latencies(point.ttft, text);
      add_latencies(point.tbt, text);
      text += end;
      if (!std::isnan(point.attainment)) text += exact(point.attainment);
      text += '\n';
    }
  }
  return text;
}

}  // namespace perjoule
