#include "serving/engine/live_energy.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

EnginePage page(double at, const std::string& text) {
  EnginePage made;
  made.page = parse_metrics_text(text).value();
  made.scrape = read_engines(made.page, Instant{} + Seconds(at)).value();
  return made;
}

std::string counters(double prompts, double outputs, const std::string& labels) {
  return "vllm:prompt_tokens_total{" + labels + "} " + std::to_string(prompts) +
         "\nvllm:generation_tokens_total{" + labels + "} " + std::to_string(outputs) + "\n";
}

Energy measured(double joules) {
  Energy energy;
  energy.joules = Joules(joules);
  energy.random = Joules(joules * 0.01);
  energy.source = "gpu:a";
  energy.status = Status::kMeasured;
  return energy;
}

const std::string kA = R"(model_name="m",tenant="a")";
const std::string kB = R"(model_name="m",tenant="b")";

TEST(LiveEnergy, ATokenBetweenTwoPages) {
  const auto before = page(10, counters(1000, 500, kA));
  const auto after =
      page(20, counters(1600, 900, kA) + "vllm:num_requests_running{" + kA + "} 7\n");
  const auto figures = live_figures(before, after, measured(200), {});
  ASSERT_TRUE(figures) << figures.error().text();
  EXPECT_EQ(figures->output_tokens, 400);
  EXPECT_EQ(figures->prompt_tokens, 600);
  EXPECT_DOUBLE_EQ(figures->output_token.joules.value(), 0.5);
  EXPECT_DOUBLE_EQ(figures->total_token.joules.value(), 0.2);
  EXPECT_DOUBLE_EQ(figures->tokens_per_joule(), 2);
  EXPECT_DOUBLE_EQ(figures->power.value(), 20);
  EXPECT_EQ(figures->running, 7);
  EXPECT_FALSE(figures->waiting);
  EXPECT_EQ(figures->output_token.status, Status::kMeasured);
}

TEST(LiveEnergy, WithoutATokenThereIsPowerAndNoMore) {
  const auto figures =
      live_figures(page(10, counters(5, 5, kA)), page(20, counters(5, 5, kA)), measured(200), {});
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->output_token.status, Status::kMissing);
  EXPECT_EQ(figures->tokens_per_joule(), 0);
  EXPECT_DOUBLE_EQ(figures->power.value(), 20);
}

TEST(LiveEnergy, AServerThatWasRestartedHasNoFiguresForThatWhile) {
  const auto figures = live_figures(page(10, counters(900, 500, kA)), page(20, counters(5, 5, kA)),
                                    measured(200), {});
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->output_token.status, Status::kMissing);
  ASSERT_EQ(figures->notes.size(), 1u);
  EXPECT_NE(figures->notes[0].find("restarted"), std::string::npos);
}

TEST(LiveEnergy, PartsByALabelSumToTheWhole) {
  const auto before = page(10, counters(0, 0, kA) + counters(0, 0, kB));
  // The format wants a family's samples; the parser takes them in any order.
  const auto after = page(20, counters(100, 90, kA) + counters(900, 10, kB));
  const auto figures =
      live_figures(before, after, measured(200), {.split_by = "tenant", .output_weight = 10});
  ASSERT_TRUE(figures) << figures.error().text();
  ASSERT_EQ(figures->shares.size(), 2u);
  double share = 0, joules = 0;
  for (const LiveShare& one : figures->shares) {
    share += one.share;
    joules += one.energy.joules.value();
    EXPECT_EQ(one.energy.status, Status::kEstimated);
    EXPECT_TRUE(one.energy.mixed_with.contains(Status::kMeasured));
  }
  EXPECT_NEAR(share, 1, 1e-12);
  EXPECT_NEAR(joules, 200, 1e-9);
  // 100 + 900 and 900 + 100 prompt tokens' worth: equal, so by name.
  EXPECT_EQ(figures->shares[0].value, "a");
  EXPECT_DOUBLE_EQ(figures->shares[0].share, 0.5);
  const auto unweighted =
      live_figures(before, after, measured(200), {.split_by = "tenant", .output_weight = 1});
  EXPECT_EQ(unweighted->shares[0].value, "b");
}

TEST(LiveEnergy, ALabelThatIsNotThereIsSaidWithThoseThatAre) {
  const auto text = parse_metrics_text(counters(1, 1, kA)).value();
  const auto none = tokens_by_label(text, "pod");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_NE(none.error().text().find("model_name, tenant"), std::string::npos)
      << none.error().text();
}

}  // namespace
}  // namespace perjoule
