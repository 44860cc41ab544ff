// Energies of a fluid fleet over Azure's loads, as recorded beside BEAM's profiles: to 0.01 %.
#include <gtest/gtest.h>

#include "base/csv.h"
#include "base/json.h"
#include "base/text.h"
#include "fleet/plan/fluid_fleet.h"
#include "fleet/plan/test_profiles.h"

namespace perjoule {
namespace {

/// Seconds of the day of "2023-11-16 18:15:46.6805900".
Seconds time_of(std::string_view stamp) {
  const auto part = [&](std::size_t at, std::size_t size) {
    return *parse_number(stamp.substr(at, size));
  };
  return Seconds(part(11, 2) * 3600 + part(14, 2) * 60 + *parse_number(stamp.substr(17)));
}

LoadCurve load_of_trace(const std::string& name, double scale) {
  const std::string path =
      test_data_folder() + "/azure_llm_2023/AzureLLMInferenceTrace_" + name + ".csv";
  const auto table = read_csv(path);
  EXPECT_TRUE(table) << table.error().text();
  std::vector<PromptArrival> arrivals;
  for (std::size_t row = 0; row < table->rows(); ++row)
    arrivals.push_back({time_of(table->cell(row, 0)), *table->number(row, 1)});
  auto load = load_of_arrivals(arrivals, Seconds(60), scale, path);
  EXPECT_TRUE(load) << load.error().text();
  return *load;
}

LoadCurve load_of_week(const std::string& column, double tokens) {
  const auto table = read_csv(test_data_folder() + "/azure_llm_2024_load/load_10min_digitised.csv");
  EXPECT_TRUE(table) << table.error().text();
  auto load = read_load_curve(*table, {column, tokens, 1});
  EXPECT_TRUE(load) << load.error().text();
  return *load;
}

/// The policy that the file calls by the field's name.
std::string_view policy_of(std::string_view name) {
  if (name == "SinglePool") return "single-pool";
  if (name == "ScaleFreq") return "scale-freq";
  if (name == "ScaleInst") return "scale-inst";
  if (name == "ScaleInst+freq") return "scale-inst-freq";
  return "both";
}

void expect_row(const ServingProfile& profile, const Json& row, const LoadCurve& load) {
  const LoadExtent extent = extent_of(load, 0);
  EXPECT_NEAR(extent.peak, *row.number("peak_tps"), 1e-6 * extent.peak);
  EXPECT_NEAR(extent.mean, *row.number("mean_tps"), 1e-6 * extent.mean);
  FluidOptions options;
  options.target = mean_target(*row.number("slo_ttft_mean_ms"), *row.number("slo_tbt_mean_ms"));
  options.epoch = Seconds(60 * row.number("epoch_min").value_or(0));
  const auto fleet = FluidFleet::make(profile, load, options);
  ASSERT_TRUE(fleet) << fleet.error().text();
  EXPECT_EQ(fleet->most_servers(), *row.integer("servers"));
  for (const auto& [name, kwh] : *row.find("energy_kwh")->as_object()) {
    SCOPED_TRACE(name);
    const FluidReport report = fleet->run(*find_policy(policy_of(name)));
    const double wanted = *kwh.as_number();
    EXPECT_NEAR(in_kilowatt_hours(report.energy.joules), wanted, 1e-4 * wanted);
    EXPECT_NEAR(report.mean_servers, *row.find("mean_servers")->number(name), 6e-4);
    EXPECT_EQ(report.missed_bins, 0U);
    EXPECT_EQ(report.energy.status, Status::kReconstructed);
  }
}

TEST(FluidGolden, SixRows) {
  PJ_TEST_DATA(path, kBeamFolder + "expected_pool_and_cluster.json");
  const auto expected = parse_json(read_file(path).value());
  ASSERT_TRUE(expected);
  const auto profile = read_serving_profile(test_data_folder() + "/" + kBeamLlama, {});
  ASSERT_TRUE(profile);
  const Json::Array& rows = *expected->find("fluid")->as_array();
  ASSERT_EQ(rows.size(), 6U);
  for (const Json& row : rows) {
    const std::string trace = *row.string("trace");
    SCOPED_TRACE(trace);
    const bool week = trace.starts_with("week2024_");
    expect_row(
        *profile, row,
        week ? load_of_week(trace.substr(9) + "_req_per_min", *row.number("tokens_per_request"))
             : load_of_trace(trace, *row.number("scale")));
  }
}

}  // namespace
}  // namespace perjoule
