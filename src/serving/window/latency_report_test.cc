#include "serving/window/latency_report.h"

#include <gtest/gtest.h>

#include "serving/stream/test_stream.h"

namespace perjoule {
namespace {

using namespace test_stream;

/// First token after `ttft`, two more 10 ms apart.
RequestRecord answered(double ttft) {
  return record_of({{ttft, chunk("content", "a")},
                    {ttft + 10, chunk("content", "b")},
                    {ttft + 20, chunk("content", "c")},
                    {ttft + 21, finish()}});
}

RequestRecord failed(Failure failure) {
  RequestRecord record = answered(5000);
  record.failure = failure;
  return record;
}

TEST(LatencyReport, SeriesAreOfSuccessfulRequestsAndFailuresAreCounted) {
  std::vector<RequestRecord> records{answered(10),
                                     answered(20),
                                     answered(40),
                                     failed(Failure::kTruncated),
                                     failed(Failure::kRefused),
                                     failed(Failure::kRefused),
                                     failed(Failure::kCancelledAtEnd)};
  records[0].retries = 2;
  for (RequestRecord& record : records) record.scheduled = ms(-3);
  const LatencyReport report = latency_report(records);
  EXPECT_EQ(report.requests, 7U);
  EXPECT_EQ(report.succeeded, 3U);
  EXPECT_EQ(report.cancelled, 1U);
  EXPECT_EQ(report.failed(), 3U);
  EXPECT_EQ(report.failures[static_cast<std::size_t>(Failure::kRefused)], 2U);
  EXPECT_EQ(report.failures[static_cast<std::size_t>(Failure::kTruncated)], 1U);
  EXPECT_DOUBLE_EQ(report.failed_share(), 0.5);
  EXPECT_EQ(report.retries, 2U);
  EXPECT_EQ(report.ttft.count, 3U);
  EXPECT_NEAR(report.ttft.mean.value(), 70e-3 / 3, 1e-12);
  EXPECT_NEAR(report.ttft.p50.value(), 20e-3, 1e-12);
  EXPECT_NEAR(report.ttft.p90.value(), 36e-3, 1e-12);
  EXPECT_NEAR(report.ttft.p95.value(), 38e-3, 1e-12);
  EXPECT_NEAR(report.ttft.p99.value(), 39.6e-3, 1e-12);
  EXPECT_NEAR(report.ttft.most.value(), 40e-3, 1e-12);
  EXPECT_EQ(report.itl.count, 6U);
  EXPECT_NEAR(report.itl.p99.value(), 10e-3, 1e-12);
  EXPECT_EQ(report.first_reasoning.count, 0U);
  EXPECT_DOUBLE_EQ(report.first_chunk_tokens, 1);
  EXPECT_EQ(report.send_delay.count, 7U);
  EXPECT_NEAR(report.send_delay.p50.value(), 3e-3, 1e-12);
}

TEST(LatencyReport, NothingIsNothing) {
  const LatencyReport report = latency_report({});
  EXPECT_EQ(report.ttft.count, 0U);
  EXPECT_EQ(report.failed_share(), 0);
  EXPECT_EQ(latency_report({failed(Failure::kConnect)}).e2el.count, 0U);
}

TEST(LatencyReport, GoodputIsOfRequestsThatKeptAllLimits) {
  const std::vector<RequestRecord> records{answered(10), answered(30), failed(Failure::kTruncated),
                                           failed(Failure::kCancelledAtEnd)};
  const Goodput none = goodput(records, {}, Seconds(2));
  EXPECT_EQ(none.judged, 3U);
  EXPECT_EQ(none.met, 2U);
  EXPECT_DOUBLE_EQ(none.share, 2.0 / 3);
  EXPECT_EQ(none.tokens, 6);
  EXPECT_DOUBLE_EQ(none.token_rate.value(), 3);
  EXPECT_DOUBLE_EQ(none.requests.value(), 1);
  const auto met = [&](const LatencyLimits& limits) {
    return goodput(records, limits, Seconds(1)).met;
  };
  EXPECT_EQ(met({.ttft = Seconds(0.02)}), 1U);
  EXPECT_EQ(met({.ttft = Seconds(0.01)}), 1U);
  EXPECT_EQ(met({.tpot = Seconds(0.0101)}), 2U);
  EXPECT_EQ(met({.tpot = Seconds(0.0099)}), 0U);
  EXPECT_EQ(met({.itl = Seconds(0.0099)}), 0U);
  EXPECT_EQ(met({.e2el = Seconds(0.04)}), 1U);
  EXPECT_EQ(met({.ttft = Seconds(1), .e2el = Seconds(0.01)}), 0U);
}

TEST(LatencyReport, WhatCouldNotBeMeasuredIsNotKept) {
  RequestRecord whole;
  whole.response.is_streamed = false;
  whole.response.first_token = whole.response.last_chunk = ms(8);
  EXPECT_TRUE(meets(whole, {.e2el = Seconds(1)}));
  EXPECT_FALSE(meets(whole, {.ttft = Seconds(1)}));
  EXPECT_FALSE(meets(whole, {.tpot = Seconds(1)}));
  // One token has no gap that could be too long.
  EXPECT_TRUE(meets(record_of({{1, chunk("content", "a")}, {2, finish()}}),
                    {.tpot = Seconds(1e-9), .itl = Seconds(1e-9)}));
}

TEST(LatencyReport, FailuresHaveNames) {
  EXPECT_EQ(name_of(Failure::kNone), "none");
  EXPECT_EQ(name_of(Failure::kRefused), "refused");
  EXPECT_EQ(name_of(Failure::kInterTokenTimeout), "inter_token_timeout");
  EXPECT_EQ(name_of(Failure::kCancelledAtEnd), "cancelled_at_end");
  EXPECT_EQ(name_of(CountSource::kTokenizer), "tokenizer");
}

}  // namespace
}  // namespace perjoule
