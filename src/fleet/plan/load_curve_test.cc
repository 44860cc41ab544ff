#include "fleet/plan/load_curve.h"

#include <gtest/gtest.h>

#include <cmath>

#include "fleet/plan/price_series.h"

namespace perjoule {
namespace {

Result<LoadCurve> read(const std::string& text, const RequestRates& rates = {}) {
  const auto table = parse_csv(text, "l.csv");
  EXPECT_TRUE(table) << table.error().text();
  return read_load_curve(*table, rates);
}

TEST(LoadCurveTest, FullBinsFromTheFirstArrival) {
  // 125 s: two full minutes, whatever order they come in.
  const auto load = load_of_arrivals(
      {{Seconds(165), 9}, {Seconds(40), 60}, {Seconds(99.9), 60}, {Seconds(100), 300}}, Seconds(60),
      10, "t");
  ASSERT_TRUE(load) << load.error().text();
  ASSERT_EQ(load->bins.size(), 2U);
  EXPECT_DOUBLE_EQ(load->bins[0].tokens_per_s.front(), 20);
  EXPECT_DOUBLE_EQ(load->bins[1].tokens_per_s.front(), 50);
  const LoadExtent extent = extent_of(*load, 0);
  EXPECT_DOUBLE_EQ(extent.peak, 50);
  EXPECT_DOUBLE_EQ(extent.mean, 35);
  EXPECT_DOUBLE_EQ(extent.tokens, 4200);
}

TEST(LoadCurveTest, TooFewArrivalsAreNoLoad) {
  EXPECT_EQ(load_of_arrivals({}, Seconds(60), 1, "t").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(load_of_arrivals({{Seconds(1), 1}}, Seconds(60), 1, "t").error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(load_of_arrivals({{Seconds(1), 1}}, Seconds(0), 1, "t").error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(load_of_arrivals({{Seconds(1), 1}}, Seconds(60), std::nan(""), "t").error().code,
            ErrorCode::kInvalidArgument);
  const std::vector<PromptArrival> no_number = {{Seconds(0), std::nan("")}, {Seconds(99), 1}};
  EXPECT_EQ(load_of_arrivals(no_number, Seconds(60), 1, "t").error().code,
            ErrorCode::kInvalidArgument);
}

TEST(LoadCurveTest, OurTableHasAColumnAClass) {
  const auto load = read("start_s,duration_s,prompt_tps:SS,prompt_tps:LL\n0,60,5,100\n60,30,1,2\n");
  ASSERT_TRUE(load) << load.error().text();
  EXPECT_EQ(load->classes, (std::vector<std::string>{"SS", "LL"}));
  EXPECT_EQ(extent_of(*load, 1).tokens, 6060);
  const auto all = read("start_s,duration_s,prompt_tps\n0,60,5\n", {.scale = 3});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->classes, (std::vector<std::string>{""}));
  EXPECT_EQ(all->bins.front().tokens_per_s.front(), 15);
}

TEST(LoadCurveTest, RequestsAMinuteTimesTokens) {
  const std::string text = "bin,minute_start,conv_req_per_min\n0,0,60\n1,10,120\n";
  const auto load = read(text, {"conv_req_per_min", 1000, 1});
  ASSERT_TRUE(load) << load.error().text();
  EXPECT_EQ(load->bins[1].start, Seconds(600));
  EXPECT_EQ(load->bins[1].duration, Seconds(600));
  EXPECT_DOUBLE_EQ(load->bins[1].tokens_per_s.front(), 2000);
  EXPECT_NE(read(text).error().text().find("--tokens-per-request"), std::string::npos);
  EXPECT_NE(read(text, {"code", 1000, 1}).error().text().find("no column 'code'"),
            std::string::npos);
}

TEST(LoadCurveTest, BinsThatMakeNoSenseAreNamed) {
  const std::string header = "start_s,duration_s,prompt_tps\n";
  EXPECT_NE(read(header + "0,60,1\n30,60,1\n").error().text().find("bin 2"), std::string::npos);
  EXPECT_NE(read(header + "0,0,1\n").error().text().find("duration"), std::string::npos);
  EXPECT_NE(read(header + "0,60,-1\n").error().text().find("below 0"), std::string::npos);
  EXPECT_NE(read(header + "0,60,nan\n").error().text().find("line 2, column 'prompt_tps'"),
            std::string::npos);
  EXPECT_NE(read(header).error().text().find("without bins"), std::string::npos);
  EXPECT_FALSE(read("start_s,duration_s\n0,60\n"));
  EXPECT_FALSE(read("start_s,duration_s,prompt_tps,prompt_tps:\n0,60,1,1\n"));
  LoadCurve load{{""}, {{Seconds(0), Seconds(1), {}}}, "t"};
  EXPECT_FALSE(check_load(load));
}

TEST(PriceSeriesTest, EveryBinAtItsPrice) {
  const auto prices = read_prices(
      *parse_csv("time,price_per_kwh,carbon_g_per_kwh\n0,0.10,400\n5400,0.30,\n", "p.csv"));
  ASSERT_TRUE(prices) << prices.error().text();
  // Two hours at 1 kW; the price steps in the middle of the second.
  const std::vector<FluidBin> bins = {{Seconds(0), Seconds(3600), 1, Watts(1000), 0, 0},
                                      {Seconds(3600), Seconds(3600), 1, Watts(1000), 0, 0}};
  const FleetCost cost = cost_of(bins, *prices);
  EXPECT_NEAR(*cost.cost, 0.10 * 1.5 + 0.30 * 0.5, 1e-12);
  EXPECT_FALSE(cost.carbon);
  const FleetCost first = cost_of({bins.front()}, *prices);
  EXPECT_NEAR(first.carbon->value(), 400, 1e-9);
}

TEST(PriceSeriesTest, BeforeTheFirstRowNothingIsKnown) {
  const auto prices = read_prices(*parse_csv("time,price_per_kwh\n10,0.1\n", "p.csv"));
  ASSERT_TRUE(prices);
  EXPECT_FALSE(cost_of({{Seconds(0), Seconds(60), 1, Watts(1), 0, 0}}, *prices).cost);
  EXPECT_TRUE(cost_of({{Seconds(10), Seconds(60), 1, Watts(1), 0, 0}}, *prices).cost);
}

TEST(PriceSeriesTest, TablesThatMakeNoSenseAreNamed) {
  const auto error = [](const std::string& text) {
    const auto prices = read_prices(*parse_csv(text, "p.csv"));
    return prices ? std::string() : prices.error().text();
  };
  EXPECT_NE(error("time,price_per_kwh\n").find("no rows"), std::string::npos);
  EXPECT_NE(error("time,price\n0,1\n").find("price_per_kwh"), std::string::npos);
  EXPECT_NE(error("time,price_per_kwh\n5,1\n5,1\n").find("line 3"), std::string::npos);
  EXPECT_NE(error("time,carbon_g_per_kwh\n0,-1\n").find("below 0"), std::string::npos);
}

}  // namespace
}  // namespace perjoule
