#include "fleet/profile/beam_profile.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "fleet/profile/profile_builder.h"
#include "fleet/profile/profile_cells.h"

namespace perjoule {
namespace {

constexpr std::string_view kBeginning = "dynamo_dvfs_profile_";
// Organisations on Hugging Face whose models the published tables are of, and their like.
constexpr std::array kOrganisations = {"Qwen",        "meta-llama", "mistralai", "google",
                                       "deepseek-ai", "microsoft",  "openai",    "nvidia"};

constexpr std::array kWanted = {"clock", "tp", "pp", "tps", "gpu_power", "ttft_mean", "tbt_mean"};

/// A latency's column, where the table has it.
struct Latency {
  const char* column;
  LatencyFigures ServingPoint::*figures;
  LatencyStatistic statistic;
};
constexpr std::array<Latency, 6> kLatencies = {{
    {"ttft_mean", &ServingPoint::ttft, LatencyStatistic::kMean},
    {"ttft_p90", &ServingPoint::ttft, LatencyStatistic::kP90},
    {"ttft_p99", &ServingPoint::ttft, LatencyStatistic::kP99},
    {"tbt_mean", &ServingPoint::tbt, LatencyStatistic::kMean},
    {"tbt_p90", &ServingPoint::tbt, LatencyStatistic::kP90},
    {"tbt_p99", &ServingPoint::tbt, LatencyStatistic::kP99},
}};

Result<ProfileRow> read_row(const CsvTable& table, std::size_t row) {
  ProfileRow read;
  read.where = fmt::format("{}: line {}", table.name(), table.line(row));
  PJ_TRY(read.curve.clock_mhz, positive_cell(table, row, *table.column("clock")));
  PJ_TRY(read.curve.layout.tensor_parallel, degree_cell(table, row, *table.column("tp")));
  PJ_TRY(read.curve.layout.pipeline_parallel, degree_cell(table, row, *table.column("pp")));
  PJ_TRY(read.point.load, positive_cell(table, row, *table.column("tps"), true));
  PJ_TRY(const double power, positive_cell(table, row, *table.column("gpu_power")));
  read.point.power = Watts(power);
  for (const Latency& latency : kLatencies) {
    const auto column = table.column(latency.column);
    if (!column) continue;
    PJ_TRY((read.point.*latency.figures)[latency.statistic], latency_cell(table, row, *column));
  }
  return read;
}

}  // namespace

BeamNames beam_names(std::string_view path) {
  std::string_view name = path.substr(path.find_last_of('/') + 1);
  if (!name.starts_with(kBeginning)) return {};
  name.remove_prefix(kBeginning.size());
  if (name.ends_with(".csv")) name.remove_suffix(4);
  for (std::size_t at = name.find('_'); at != std::string_view::npos; at = name.find('_', at + 1)) {
    const std::string_view rest = name.substr(at + 1);
    for (const std::string_view organisation : kOrganisations) {
      if (!rest.starts_with(organisation) || rest.size() <= organisation.size() + 1 ||
          rest[organisation.size()] != '_')
        continue;
      return {std::string(name.substr(0, at)),
              fmt::format("{}/{}", organisation, rest.substr(organisation.size() + 1))};
    }
  }
  return {};
}

bool is_beam_profile(const CsvTable& table) {
  for (const char* column : kWanted) {
    if (!table.column(column)) return false;
  }
  return true;
}

Result<ServingProfile> read_beam_profile(const CsvTable& table, const BeamNames& names) {
  for (const char* column : kWanted) PJ_CHECK(table.require_column(column));
  const BeamNames told = beam_names(table.name());
  const std::string gpu = names.gpu.empty() ? told.gpu : names.gpu;
  const std::string model = names.model.empty() ? told.model : names.model;
  if (gpu.empty() || model.empty()) {
    return Error::invalid_argument(
        fmt::format("{}: its name does not tell which GPU and model it is of", table.name()),
        "give both, or name it dynamo_dvfs_profile_<GPU>_<organisation>_<model>.csv");
  }
  if (table.rows() == 0) return Error::invalid_argument(table.name() + ": a profile without rows");
  ProfileBuilder builder;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    PJ_TRY(ProfileRow read, read_row(table, row));
    read.curve.layout.gpu = gpu;
    read.curve.layout.model = model;
    read.curve.status = Status::kReconstructed;
    read.curve.origin = "BEAM artifact 0febb08, measured at locked clocks";
    PJ_CHECK(builder.add(std::move(read)));
  }
  return std::move(builder).finish();
}

}  // namespace perjoule
