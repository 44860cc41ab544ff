#include "serving/engine/engine_metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace perjoule {
namespace {

using Names = std::vector<std::string>;

EngineScrape scrape(const std::string& page, double at = 0) {
  const auto text = parse_metrics_text(page);
  EXPECT_TRUE(text) << text.error().text();
  const auto engines = read_engines(*text, Instant{} + Seconds(at));
  EXPECT_TRUE(engines) << engines.error().text();
  return engines.value_or(EngineScrape{});
}

EngineChange change(const std::string& before, const std::string& after) {
  const auto changed = engine_change(scrape(before, 10), scrape(after, 15));
  EXPECT_TRUE(changed) << changed.error().text();
  return changed.value_or(EngineChange{});
}

double counter(const Engine& engine, EngineCounter which) {
  return engine.counters[static_cast<std::size_t>(which)].value_or(-1);
}

/// A histogram of vLLM's with bounds 1, 2 and infinity.
std::string histogram(const std::string& name, const std::string& engine, double one, double two,
                      double all, double sum) {
  const std::string labels = "engine=\"" + engine + "\",model_name=\"m\"";
  const auto bucket = [&](const std::string& bound, double count) {
    return "vllm:" + name + "_bucket{" + labels + ",le=\"" + bound + "\"} " +
           std::to_string(count) + "\n";
  };
  return bucket("1.0", one) + bucket("2.0", two) + bucket("+Inf", all) + "vllm:" + name + "_sum{" +
         labels + "} " + std::to_string(sum) + "\n" + "vllm:" + name + "_count{" + labels + "} " +
         std::to_string(all) + "\n";
}

TEST(EngineMetrics, VllmNowAndBefore) {
  const EngineScrape now = scrape(
      "process_start_time_seconds 1.7e9\n"
      "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 12\n"
      "vllm:num_requests_running{engine=\"1\",model_name=\"m\"} 8\n"
      "vllm:num_requests_waiting{engine=\"0\",model_name=\"m\"} 3\n"
      "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.25\n"
      "vllm:kv_cache_usage_perc{engine=\"1\",model_name=\"m\"} 0.5\n"
      "vllm:generation_tokens_total{engine=\"0\",model_name=\"m\"} 1000\n"
      "vllm:generation_tokens_total{engine=\"1\",model_name=\"m\"} 500\n"
      "vllm:generation_tokens_created{engine=\"0\",model_name=\"m\"} 1.7e9\n"
      "vllm:request_success_total{engine=\"0\",finished_reason=\"stop\",model_name=\"m\"} 7\n"
      "vllm:request_success_total{engine=\"0\",finished_reason=\"length\",model_name=\"m\"} 2\n"
      // A client that went away is an end, and no good one.
      "vllm:request_success_total{engine=\"0\",finished_reason=\"abort\",model_name=\"m\"} 4\n"
      "vllm:request_success_total{engine=\"0\",finished_reason=\"error\",model_name=\"m\"} 1\n"
      "vllm:prefix_cache_queries_total{engine=\"0\",model_name=\"m\"} 90\n"
      "vllm:gpu_prefix_cache_queries_total{engine=\"0\",model_name=\"m\"} 90\n");
  EXPECT_EQ(now.server, "vllm");
  ASSERT_EQ(now.engines.size(), 2U);
  EXPECT_EQ(now.engines[0].name, "m engine 0");
  EXPECT_EQ(now.gauge(EngineGauge::kRunning), 20);
  EXPECT_EQ(now.gauge(EngineGauge::kWaiting), 3);
  EXPECT_EQ(now.gauge(EngineGauge::kCacheUsage), 0.5);
  EXPECT_EQ(now.process_start, 1.7e9);
  EXPECT_EQ(counter(now.engines[0], EngineCounter::kGenerationTokens), 1000);
  EXPECT_EQ(counter(now.engines[0], EngineCounter::kSucceeded), 9);
  EXPECT_EQ(counter(now.engines[0], EngineCounter::kPrefixQueries), 90);  // not twice
  EXPECT_EQ(counter(now.engines[1], EngineCounter::kSucceeded), -1);

  const EngineScrape before = scrape(
      "vllm:gpu_cache_usage_perc{model_name=\"m\"} 0.125\n"
      "vllm:gpu_prefix_cache_hits{model_name=\"m\"} 4\n"
      "vllm:generation_tokens{model_name=\"m\"} 10\n"
      "vllm:time_per_output_token_seconds_bucket{le=\"0.01\",model_name=\"m\"} 3\n"
      "vllm:time_per_output_token_seconds_bucket{le=\"+Inf\",model_name=\"m\"} 4\n");
  ASSERT_EQ(before.engines.size(), 1U);
  EXPECT_EQ(before.engines[0].name, "m");
  EXPECT_EQ(before.gauge(EngineGauge::kCacheUsage), 0.125);
  EXPECT_FALSE(before.gauge(EngineGauge::kRunning));
  EXPECT_EQ(counter(before.engines[0], EngineCounter::kPrefixHits), 4);
  EXPECT_EQ(counter(before.engines[0], EngineCounter::kGenerationTokens), 10);
  EXPECT_EQ(before.engines[0].histograms[static_cast<std::size_t>(EngineHistogram::kItl)]->count,
            4);
}

TEST(EngineMetrics, SglangAndLlamaCpp) {
  const EngineScrape sglang = scrape(
      "sglang:num_running_reqs{engine_type=\"unified\",model_name=\"m\",tp_rank=\"0\"} 4.0\n"
      "sglang:num_running_reqs{engine_type=\"unified\",model_name=\"m\",tp_rank=\"1\"} 4.0\n"
      "sglang:num_queue_reqs{model_name=\"m\"} 3.0\n"
      "sglang:token_usage{model_name=\"m\"} 0.28\n"
      "sglang:prompt_tokens_total{model_name=\"m\"} 8.128902e+06\n"
      "sglang:generation_tokens_total{model_name=\"m\"} 7.557572e+06\n"
      "sglang:num_requests_total{model_name=\"m\"} 337\n");
  EXPECT_EQ(sglang.server, "sglang");
  EXPECT_EQ(sglang.gauge(EngineGauge::kRunning), 4);  // the ranks tell of the same requests
  EXPECT_EQ(sglang.gauge(EngineGauge::kWaiting), 3);
  EXPECT_EQ(sglang.gauge(EngineGauge::kCacheUsage), 0.28);
  EXPECT_EQ(counter(sglang.engines[0], EngineCounter::kGenerationTokens), 7557572);
  const EngineScrape ranks = scrape(
      "sglang:num_running_reqs{dp_rank=\"0\"} 1\nsglang:num_running_reqs{dp_rank=\"1\"} 2\n");
  EXPECT_EQ(ranks.engines.size(), 2U);
  EXPECT_EQ(ranks.engines[1].name, "engine 1");
  EXPECT_EQ(ranks.gauge(EngineGauge::kRunning), 3);

  const EngineScrape llama = scrape(
      "llamacpp:prompt_tokens_total 900\nllamacpp:tokens_predicted_total 42\n"
      "llamacpp:requests_processing 2\nllamacpp:requests_deferred 1\n"
      "llamacpp:predicted_tokens_seconds 33.5\n");
  EXPECT_EQ(llama.server, "llamacpp");
  EXPECT_EQ(llama.engines[0].name, "");
  EXPECT_EQ(llama.gauge(EngineGauge::kRunning), 2);
  EXPECT_EQ(counter(llama.engines[0], EngineCounter::kGenerationTokens), 42);
}

TEST(EngineMetrics, PagesThatTellNothingOrNonsense) {
  const auto none = read_engines(*parse_metrics_text("go_goroutines 7\n"), Instant{});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  const auto negative =
      read_engines(*parse_metrics_text("\nvllm:prompt_tokens_total -1\n"), Instant{});
  ASSERT_FALSE(negative);
  EXPECT_EQ(negative.error().message, "metrics: line 2: no count: 'vllm:prompt_tokens_total'");
  EXPECT_FALSE(read_engines(*parse_metrics_text("vllm:prompt_tokens_total NaN\n"), Instant{}));
  EXPECT_FALSE(read_engines(
      *parse_metrics_text("vllm:time_to_first_token_seconds_bucket{le=\"1\"} 1\n"), Instant{}));
}

TEST(EngineMetrics, ChangesAreOfEachEngineAndThenSummed) {
  const auto page = [](int first, int second) {
    return "vllm:generation_tokens_total{engine=\"0\",model_name=\"m\"} " + std::to_string(first) +
           "\nvllm:generation_tokens_total{engine=\"1\",model_name=\"m\"} " +
           std::to_string(second) + "\n";
  };
  const EngineChange changed = change(page(1000, 50), page(1300, 70));
  EXPECT_EQ(changed.duration, Seconds(5));
  EXPECT_EQ(changed.engines, 2U);
  EXPECT_EQ(changed.counter(EngineCounter::kGenerationTokens), 320);
  EXPECT_FALSE(changed.counter(EngineCounter::kPromptTokens));
  EXPECT_TRUE(changed.is_whole());
  // In the sum the restart would be hidden: 1050 before, 1310 after.
  const EngineChange restarted = change(page(1000, 50), page(1300, 10));
  EXPECT_EQ(restarted.counter(EngineCounter::kGenerationTokens), 300);
  EXPECT_EQ(restarted.restarted, Names{"m engine 1"});
  EXPECT_FALSE(restarted.is_whole());
}

TEST(EngineMetrics, ARestartThatOvertookIsSeenByTheProcess) {
  const std::string tokens = "vllm:generation_tokens_total{model_name=\"m\"} ";
  const EngineChange changed = change("process_start_time_seconds 100\n" + tokens + "5\n",
                                      "process_start_time_seconds 200\n" + tokens + "900\n");
  EXPECT_EQ(changed.restarted, Names{"m"});
  EXPECT_FALSE(changed.counter(EngineCounter::kGenerationTokens));
}

TEST(EngineMetrics, EnginesThatCameOrWentAreNamed) {
  const auto page = [](const std::string& model) {
    return "vllm:generation_tokens_total{model_name=\"" + model + "\"} 7\n";
  };
  const EngineChange changed = change(page("a") + page("b"), page("b") + page("c"));
  EXPECT_EQ(changed.engines, 1U);
  EXPECT_EQ(changed.appeared, Names{"c"});
  EXPECT_EQ(changed.vanished, Names{"a"});
  EXPECT_EQ(changed.counter(EngineCounter::kGenerationTokens), 0);
  // A counter that is new on an engine that was there was 0: labels appear with their first event.
  const EngineChange first = change(
      page("a"),
      page("a") + "vllm:request_success_total{finished_reason=\"stop\",model_name=\"a\"} 3\n");
  EXPECT_EQ(first.counter(EngineCounter::kSucceeded), 3);
  // One that is gone is a restart.
  EXPECT_EQ(change(page("a"), "vllm:num_requests_running{model_name=\"a\"} 1\n").restarted,
            Names{"a"});
}

TEST(EngineMetrics, PagesInTheWrongOrderAreRefused) {
  const EngineScrape one = scrape("vllm:prompt_tokens_total 1\n", 1);
  EXPECT_FALSE(engine_change(one, scrape("vllm:prompt_tokens_total 1\n", 0)));
  EXPECT_FALSE(engine_change(one, scrape("llamacpp:prompt_tokens_total 1\n", 2)));
}

TEST(EngineMetrics, QuantilesAreOfTheWindowAndNotOfAllThatWas) {
  const std::string name = "time_to_first_token_seconds";
  // 1000 fast ones before the window, in it 4 of which the half takes longer than a second.
  const EngineChange changed = change(histogram(name, "0", 1000, 1000, 1000, 100),
                                      histogram(name, "0", 1002, 1004, 1004, 105));
  const auto& ttft = changed.histogram(EngineHistogram::kTtft);
  ASSERT_TRUE(ttft);
  EXPECT_EQ(ttft->count, 4);
  EXPECT_DOUBLE_EQ(quantile(*ttft, 0.75)->value, 1.5);
  EXPECT_DOUBLE_EQ(*mean(*ttft), 1.25);
  // Two engines, differenced each and then summed.
  const EngineChange both =
      change(histogram(name, "0", 1000, 1000, 1000, 100) + histogram(name, "1", 0, 0, 0, 0),
             histogram(name, "0", 1002, 1004, 1004, 105) + histogram(name, "1", 4, 4, 6, 20));
  EXPECT_EQ(both.histogram(EngineHistogram::kTtft)->count, 10);
  EXPECT_DOUBLE_EQ(quantile(*both.histogram(EngineHistogram::kTtft), 0.3)->value, 0.5);
  EXPECT_TRUE(quantile(*both.histogram(EngineHistogram::kTtft), 0.9)->is_beyond);
  // A bucket that fell is a restart, though the count rose.
  EXPECT_EQ(
      change(histogram(name, "0", 10, 10, 10, 1), histogram(name, "0", 3, 12, 12, 9)).restarted,
      Names{"m engine 0"});
}

TEST(EngineMetrics, HistogramsOfOtherBoundsAreNotSummed) {
  const std::string other =
      "vllm:time_to_first_token_seconds_bucket{engine=\"1\",model_name=\"m\",le=\"3\"} 1\n"
      "vllm:time_to_first_token_seconds_bucket{engine=\"1\",model_name=\"m\",le=\"+Inf\"} 1\n";
  const std::string page = histogram("time_to_first_token_seconds", "0", 1, 1, 1, 1) + other;
  const EngineChange changed = change(page, page);
  EXPECT_EQ(changed.unlike, Names{"time to first token"});
  EXPECT_FALSE(changed.histogram(EngineHistogram::kTtft));
  EXPECT_EQ(changed.engines, 2U);
}

TEST(EngineMetrics, QuantilesAsPrometheusHasThem) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  MetricHistogram h;
  h.buckets = {{0.1, 2}, {0.2, 2}, {0.5, 8}, {kInfinity, 10}};
  h.count = 10;
  EXPECT_DOUBLE_EQ(quantile(h, 0)->value, 0);
  EXPECT_DOUBLE_EQ(quantile(h, 0.1)->value, 0.05);
  EXPECT_DOUBLE_EQ(quantile(h, 0.2)->value, 0.1);
  EXPECT_DOUBLE_EQ(quantile(h, 0.5)->value, 0.2 + 0.3 * 3 / 6);
  EXPECT_DOUBLE_EQ(quantile(h, 0.8)->value, 0.5);
  EXPECT_FALSE(quantile(h, 0.8)->is_beyond);
  EXPECT_DOUBLE_EQ(quantile(h, 0.9)->value, 0.5);
  EXPECT_TRUE(quantile(h, 0.9)->is_beyond);
  EXPECT_FALSE(quantile(MetricHistogram{}, 0.5));
  EXPECT_FALSE(mean(MetricHistogram{}));
  h.sum = std::nan("");
  EXPECT_FALSE(mean(h));
}

}  // namespace
}  // namespace perjoule
