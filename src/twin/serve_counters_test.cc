#include "twin/serve_counters.h"

#include <gtest/gtest.h>

#include "net/prometheus_text.h"
#include "serving/engine/engine_metrics.h"

namespace perjoule::twin {
namespace {

ServeCounters some_counters() {
  ServeCounters counters;
  counters.prompt_tokens = 300;
  counters.generation_tokens = 1000;
  counters.preemptions = 2;
  counters.prefix_queries = 300;
  counters.prefix_hits = 64;
  counters.finished = {3, 4, 1};
  counters.ttft.add(Seconds(0.05));
  counters.ttft.add(Seconds(0.001));
  counters.ttft.add(Seconds(9999));
  counters.itl.add(Seconds(0.0073));
  counters.answer_length.add(250);
  return counters;
}

TEST(ServeCounters, AnObservationOnABoundIsBelowIt) {
  const ServeCounters counters = some_counters();
  EXPECT_EQ(counters.ttft.counts().front(), 1u);  // 0.001, and the bound is 0.001
  EXPECT_EQ(counters.ttft.counts().back(), 1u);   // beyond the last
  EXPECT_EQ(counters.ttft.count(), 3u);
  EXPECT_DOUBLE_EQ(counters.ttft.sum(), 9999.051);
}

TEST(ServeCounters, ThePageIsReadAsARealServersIs) {
  const std::string text = metrics_page(
      some_counters(), {.running = 5, .waiting = 7, .cache_usage = 0.25}, "a \"b\"\\c");
  const auto page = parse_metrics_text(text);
  ASSERT_TRUE(page) << page.error().text();
  const auto scrape = read_engines(*page, Instant{});
  ASSERT_TRUE(scrape) << scrape.error().text();
  EXPECT_EQ(scrape->server, "vllm");
  ASSERT_EQ(scrape->engines.size(), 1u);
  const Engine& engine = scrape->engines[0];
  EXPECT_EQ(engine.name, "a \"b\"\\c engine 0");
  // Of the eight that ended one was aborted.
  const double counters[] = {300, 1000, 7, 2, 300, 64};
  for (std::size_t i = 0; i < kEngineCounters; ++i) {
    ASSERT_TRUE(engine.counters[i]) << i;
    EXPECT_EQ(*engine.counters[i], counters[i]) << i;
  }
  const double gauges[] = {5, 7, 0.25};
  for (std::size_t i = 0; i < kEngineGauges; ++i) EXPECT_EQ(engine.gauges[i], gauges[i]) << i;
  for (std::size_t i = 0; i < kEngineHistograms; ++i) {
    EXPECT_TRUE(engine.histograms[i]) << i;
  }
  EXPECT_EQ(engine.histograms[static_cast<std::size_t>(EngineHistogram::kTtft)]->count, 3);
}

TEST(ServeCounters, StepsCarryWhatTheTablesSay) {
  const std::string text =
      metrics_page(some_counters(), {.step_time = Seconds(2.5), .step_energy = Joules(1500)}, "m");
  EXPECT_NE(text.find("perjoule_twin_step_joules_total{engine=\"0\",model_name=\"m\"} 1500\n"),
            std::string::npos);
  EXPECT_NE(text.find("synthetic"), std::string::npos);
}

}  // namespace
}  // namespace perjoule::twin
