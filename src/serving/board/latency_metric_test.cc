#include "serving/board/latency_metric.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

TEST(LatencyMetric, WordsAreRead) {
  const auto metric = parse_latency_metric("P95-itl");
  ASSERT_TRUE(metric);
  EXPECT_EQ(text_of(*metric), "P95 ITL");
  EXPECT_EQ(text_of(*parse_latency_metric("p50-ttft")), "median TTFT");
  EXPECT_EQ(text_of(*parse_latency_metric("mean-e2el")), "mean end-to-end latency");
  EXPECT_EQ(text_of(*parse_latency_metric("batch")), "batch latency");
  for (const char* bad : {"", "itl", "p42-itl", "median-", "median-xyz", "-itl"})
    EXPECT_FALSE(parse_latency_metric(bad)) << bad;
}

TEST(LatencyMetric, EachIsTakenFromItsPlace) {
  BenchResult r;
  r.latency.itl.p95 = Seconds(1);
  r.latency.ttft.mean = Seconds(2);
  r.latency.tpot.p50 = Seconds(3);
  r.latency.e2el.p99 = Seconds(4);
  r.latency.batch = Seconds(5);
  const auto of = [&](const char* word) { return latency_of(r, *parse_latency_metric(word)); };
  EXPECT_EQ(of("p95-itl"), Seconds(1));
  EXPECT_EQ(of("mean-ttft"), Seconds(2));
  EXPECT_EQ(of("median-tpot"), Seconds(3));
  EXPECT_EQ(of("p99-e2el"), Seconds(4));
  EXPECT_EQ(of("batch"), Seconds(5));
  EXPECT_FALSE(of("p90-itl"));
}

}  // namespace
}  // namespace perjoule
