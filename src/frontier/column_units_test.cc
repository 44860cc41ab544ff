#include "frontier/column_units.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

void expect(std::string_view column, Dimension dimension, double factor) {
  const auto unit = unit_of_column(column);
  ASSERT_TRUE(unit) << column;
  EXPECT_EQ(unit->dimension, dimension) << column;
  EXPECT_DOUBLE_EQ(unit->factor, factor) << column;
}

TEST(ColumnUnits, ReadsWhatPeopleWrite) {
  expect("avg_tpot_s", Dimension::kTime, 1);
  expect("median_itl_ms", Dimension::kTime, 1e-3);
  expect("step time [us]", Dimension::kTime, 1e-6);
  expect("Latency (seconds)", Dimension::kTime, 1);
  expect("energy_per_req_j", Dimension::kEnergy, 1);
  expect("energy_per_token_joules", Dimension::kEnergy, 1);
  expect("energy_j_per_token", Dimension::kEnergy, 1);
  expect("energy_mj", Dimension::kEnergy, 1e-3);
  expect("energy_MJ", Dimension::kEnergy, 1e6);
  expect("Energy (kWh)", Dimension::kEnergy, 3.6e6);
  expect("total_wh", Dimension::kEnergy, 3600);
  expect("avg_power_watts", Dimension::kPower, 1);
  expect("power_limit_w", Dimension::kPower, 1);
  expect("throughput_images_per_sec", Dimension::kRate, 1);
  expect("token_tput_tok_s", Dimension::kRate, 1);
  expect("tokens_per_second", Dimension::kRate, 1);
}

TEST(ColumnUnits, SaysNothingWhereTheNameDoesNot) {
  for (const char* column :
       {"batch", "model", "tokens_per_joule", "energy_mwh", "h", "", "tp", "mass"})
    EXPECT_FALSE(unit_of_column(column)) << column;
}

TEST(ColumnUnits, TellsTheFigureFromItsSurroundings) {
  EXPECT_TRUE(is_plain_name("time_s", Dimension::kTime));
  EXPECT_TRUE(is_plain_name("elapsed_time", Dimension::kTime));
  EXPECT_TRUE(is_plain_name("Energy (J)", Dimension::kEnergy));
  EXPECT_FALSE(is_plain_name("energy_per_token_j", Dimension::kEnergy));
  EXPECT_TRUE(is_side_figure("start_time"));
  EXPECT_TRUE(is_side_figure("energy_std_j"));
  EXPECT_FALSE(is_side_figure("time_s"));
}
}  // namespace
}  // namespace perjoule
