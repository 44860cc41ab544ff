#include "cli/fleet_readings.h"

#include <gtest/gtest.h>

#include <limits>

namespace perjoule::cli {
namespace {

EngineScrape scrape(double at, double prompts, double first_tokens, double length_sum) {
  const std::string text =
      "vllm:prompt_tokens_total{model_name=\"m\"} " + std::to_string(prompts) +
      "\nvllm:num_requests_running{model_name=\"m\"} 3\n"
      "vllm:num_requests_waiting{model_name=\"m\"} 2\n"
      "vllm:time_to_first_token_seconds_bucket{model_name=\"m\",le=\"0.5\"} " +
      std::to_string(first_tokens) +
      "\nvllm:time_to_first_token_seconds_bucket{model_name=\"m\",le=\"+Inf\"} " +
      std::to_string(first_tokens + 1) +
      "\nvllm:request_prompt_tokens_bucket{model_name=\"m\",le=\"+Inf\"} 10\n"
      "vllm:request_prompt_tokens_sum{model_name=\"m\"} " +
      std::to_string(length_sum) + "\n";
  const auto page = parse_metrics_text(text);
  EXPECT_TRUE(page) << page.error().text();
  return *read_engines(*page, Instant{} + Seconds(at));
}

TEST(FleetReadings, AreWhatLiesBetweenTwoLooks) {
  const InstanceReading first = reading_of(std::nullopt, scrape(10, 1000, 5, 4000));
  EXPECT_TRUE(first.is_reachable);
  EXPECT_FALSE(first.prompt_tokens);
  EXPECT_EQ(first.running, 3);
  EXPECT_EQ(first.waiting, 2);
  EXPECT_EQ(first.mean_prompt, 400);
  const InstanceReading second = reading_of(scrape(10, 1000, 5, 4000), scrape(15, 3500, 8, 4000));
  EXPECT_EQ(second.prompt_tokens, 2500);
  EXPECT_EQ(second.since_last, Seconds(5));
  EXPECT_EQ(second.mean_prompt, 400);  // none came to an end since: the mean of all
  ASSERT_EQ(second.first_tokens.size(), 2u);
  EXPECT_EQ(second.first_tokens[0].count, 3);
  EXPECT_EQ(second.first_tokens[1].upper, Seconds(std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(second.was_restarted);
}

TEST(FleetReadings, OfARestartKnowNothingOfTheTimeBetween) {
  const InstanceReading reading = reading_of(scrape(10, 1000, 5, 4000), scrape(15, 200, 1, 100));
  EXPECT_TRUE(reading.was_restarted);
  EXPECT_FALSE(reading.prompt_tokens);
  EXPECT_TRUE(reading.first_tokens.empty());
  EXPECT_EQ(reading.running, 3);
}

}  // namespace
}  // namespace perjoule::cli
