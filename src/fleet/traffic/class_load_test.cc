#include "fleet/traffic/class_load.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

TEST(ClassLoadTest, AStreamIsSummedByClassAndBin) {
  const std::vector<TokenLengths> lengths = {{100, 10, {}}, {300, 200, {}}};
  const auto stream = drawn({{Seconds(0), Seconds(1000), Hertz(50)}}, lengths, 1);
  const auto load = class_load_of(*stream, Seconds(100), *oracle_predictor());
  ASSERT_TRUE(load) << load.error().text();
  ASSERT_EQ(load->bins.size(), 10U);
  EXPECT_EQ(load->classes[4], "MM");
  double all = 0;
  for (const LoadBin& bin : load->bins) {
    EXPECT_NEAR(bin.tokens_per_s[0], 2500, 400);
    EXPECT_NEAR(bin.tokens_per_s[4], 7500, 1200);
    all += bin.tokens_per_s[0] + bin.tokens_per_s[4];
  }
  EXPECT_NEAR(all / 10, 10'000, 300);
  EXPECT_LE(peak_of(*load)[0] + peak_of(*load)[4], 1.1 * peak_of_all(*load));
  EXPECT_GE(peak_of(*load)[0] + peak_of(*load)[4], peak_of_all(*load));
  EXPECT_FALSE(class_load_of(*stream, Seconds(100), *oracle_predictor()));  // at its end
}

TEST(ClassLoadTest, ClassesAreThosePredicted) {
  const std::vector<TokenLengths> lengths = {{300, 200, {}}};
  const auto wrong = confused_predictor(even_confusion(1), 1).value();
  const auto stream = drawn({{Seconds(0), Seconds(100), Hertz(50)}}, lengths, 1);
  const auto load = class_load_of(*stream, Seconds(100), *wrong);
  ASSERT_TRUE(load);
  EXPECT_EQ(load->bins[0].tokens_per_s[4], 0);
  EXPECT_NEAR(load->bins[0].tokens_per_s[3], load->bins[0].tokens_per_s[5], 1500);
}

TEST(ClassLoadTest, RatesTimesWhatARequestHas) {
  const std::vector<TokenLengths> lengths = {{100, 10, {}}, {300, 200, {}}};
  const LoadCurve load =
      class_load_of({{Seconds(0), Seconds(10), Hertz(2)}, {Seconds(10), Seconds(30), Hertz(4)}},
                    lengths, *oracle_predictor());
  EXPECT_DOUBLE_EQ(load.bins[1].tokens_per_s[0], 200);
  EXPECT_DOUBLE_EQ(load.bins[1].tokens_per_s[4], 600);
  EXPECT_EQ(load.bins[1].duration, Seconds(20));
  EXPECT_DOUBLE_EQ(peak_of_all(load), 800);
}

}  // namespace
}  // namespace perjoule
