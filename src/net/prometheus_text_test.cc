#include "net/prometheus_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace perjoule {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string refusal_of(std::string_view text) {
  const auto page = parse_metrics_text(text);
  return page ? "accepted" : page.error().message;
}

TEST(PrometheusText, ReadsWhatServersWrite) {
  const auto page = parse_metrics_text(
      "# HELP vllm:num_requests_running Number of requests in model execution batches.\n"
      "# TYPE vllm:num_requests_running gauge\n"
      "vllm:num_requests_running{engine=\"0\",model_name=\"meta-llama/Llama-3.1-8B\"} 12.0\n"
      "\n"
      "# a remark\n"
      "  # TYPE  vllm:generation_tokens_total\tcounter\n"
      "vllm:generation_tokens_total { engine = \"0\" , } 7.557572e+06 1395066363000\n"
      "plain 3\n"
      "no_labels{} -Inf\n");
  ASSERT_TRUE(page) << page.error().text();
  ASSERT_EQ(page->samples.size(), 4U);
  const MetricSample& running = page->samples[0];
  EXPECT_EQ(running.name, "vllm:num_requests_running");
  EXPECT_EQ(running.labels,
            (std::vector<MetricLabel>{{"engine", "0"}, {"model_name", "meta-llama/Llama-3.1-8B"}}));
  EXPECT_EQ(running.label("engine"), "0");
  EXPECT_EQ(running.label("none"), "");
  EXPECT_EQ(running.value, 12);
  EXPECT_EQ(running.line, 3U);
  EXPECT_FALSE(running.timestamp);
  EXPECT_EQ(page->samples[1].value, 7557572);
  EXPECT_EQ(page->samples[1].timestamp, Seconds(1395066363));
  EXPECT_EQ(page->samples[3].value, -kInfinity);
  EXPECT_EQ(page->family_of("vllm:num_requests_running")->kind, MetricKind::kGauge);
  EXPECT_EQ(page->family_of("vllm:num_requests_running")->help,
            "Number of requests in model execution batches.");
  EXPECT_EQ(page->family_of("vllm:generation_tokens_total")->kind, MetricKind::kCounter);
  EXPECT_EQ(page->family_of("plain"), nullptr);
  EXPECT_EQ(page->named("plain").size(), 1U);
  EXPECT_TRUE(parse_metrics_text("")->samples.empty());
}

TEST(PrometheusText, EscapesStandForWhatTheyStandFor) {
  const auto page = parse_metrics_text(
      "# HELP a a\\\\b\\nc\n"
      "a{path=\"C:\\\\DIR\\\\\",text=\"say \\\"hi\\\"\\nthen {go}, =\",utf=\"\xC3\xA9\"} 1\n");
  ASSERT_TRUE(page) << page.error().text();
  EXPECT_EQ(page->samples[0].label("path"), "C:\\DIR\\");
  EXPECT_EQ(page->samples[0].label("text"), "say \"hi\"\nthen {go}, =");
  EXPECT_EQ(page->samples[0].label("utf"), "\xC3\xA9");
  EXPECT_EQ(page->families[0].help, "a\\b\nc");
}

TEST(PrometheusText, NumbersThatAreNone) {
  const auto page = parse_metrics_text("a NaN\nb +Inf\nc inf\nd -Inf\ne +1.5E3\nf -nan\n");
  ASSERT_TRUE(page) << page.error().text();
  EXPECT_TRUE(std::isnan(page->samples[0].value));
  EXPECT_EQ(page->samples[1].value, kInfinity);
  EXPECT_EQ(page->samples[2].value, kInfinity);
  EXPECT_EQ(page->samples[3].value, -kInfinity);
  EXPECT_EQ(page->samples[4].value, 1500);
  EXPECT_TRUE(std::isnan(page->samples[5].value));
}

TEST(PrometheusText, OpenMetricsStampsInSecondsAndMayHaveExemplars) {
  const auto page = parse_metrics_text(
      "# TYPE tokens counter\n"
      "# UNIT tokens tokens\n"
      "tokens_total 17 1520879607.789 # {trace_id=\"a b\"} 0.5 1520879607.7\n"
      "tokens_created 1520430000.123\n"
      "# TYPE build info\n"
      "build_info{version=\"1\"} 1 # {} 1\n"
      "# EOF");
  ASSERT_TRUE(page) << page.error().text();
  ASSERT_EQ(page->samples.size(), 3U);
  EXPECT_EQ(page->samples[0].value, 17);
  EXPECT_EQ(page->samples[0].timestamp, Seconds(1520879607.789));
  EXPECT_EQ(page->family_of("tokens_total")->kind, MetricKind::kCounter);
  EXPECT_EQ(page->family_of("build_info")->kind, MetricKind::kInfo);
  EXPECT_EQ(page->family_of("tokens_created")->name, "tokens");
}

TEST(PrometheusText, RefusalsNameTheLine) {
  EXPECT_EQ(refusal_of("a 1\nb 2"), "metrics: line 2: the page ends inside a line");
  EXPECT_EQ(parse_metrics_text("a 1").error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(refusal_of("a\n"), "metrics: line 1: the value of 'a' is not a number: ''");
  EXPECT_EQ(refusal_of("\na 1x\n"), "metrics: line 2: the value of 'a' is not a number: '1x'");
  EXPECT_EQ(refusal_of("a 1\r\n"), "metrics: line 1: the value of 'a' is not a number: '1\r'");
  EXPECT_EQ(refusal_of("a 1 2 3\n"), "metrics: line 1: more behind the timestamp");
  EXPECT_EQ(refusal_of("a 1 # x\n"), "metrics: line 1: no exemplar behind the '#'");
  EXPECT_EQ(refusal_of("a 1 soon\n"), "metrics: line 1: not a timestamp: 'soon'");
  EXPECT_EQ(refusal_of("a 1 2.5\n"),
            "metrics: line 1: a timestamp that is not in whole milliseconds");
  EXPECT_EQ(refusal_of("1a 1\n"),
            "metrics: line 1: a metric's name begins with a letter, '_' or ':'");
  EXPECT_EQ(refusal_of("a.b 1\n"), "metrics: line 1: not a metric's name: it goes on behind 'a'");
  EXPECT_EQ(refusal_of("{\"a.b\"} 1\n"),
            "metrics: line 1: a metric's name begins with a letter, '_' or ':'");
  EXPECT_EQ(refusal_of("a{b:c=\"1\"} 1\n"), "metrics: line 1: no '=' behind the label 'b'");
  EXPECT_EQ(refusal_of("a{b=1} 1\n"), "metrics: line 1: the value of label 'b' is not in quotes");
  EXPECT_EQ(refusal_of("a{b=\"1} 1\n"), "metrics: line 1: the quote of label 'b' is not closed");
  EXPECT_EQ(refusal_of("a{b=\"\\t\"} 1\n"),
            "metrics: line 1: an unknown escape in the value of label 'b'");
  EXPECT_EQ(refusal_of("a{b=\"\\\n"),
            "metrics: line 1: an unknown escape in the value of label 'b'");
  EXPECT_EQ(refusal_of("a{b=\"1\" c=\"2\"} 1\n"),
            "metrics: line 1: neither ',' nor '}' behind the label 'b'");
  EXPECT_EQ(refusal_of("a{b=\"1\",b=\"2\"} 1\n"), "metrics: line 1: the label 'b' twice");
  EXPECT_EQ(refusal_of("a{,} 1\n"), "metrics: line 1: a label's name begins with a letter or '_'");
  EXPECT_EQ(refusal_of("# TYPE a counter\n# TYPE a counter\n"),
            "metrics: line 2: a second TYPE of 'a'");
  EXPECT_EQ(refusal_of("# HELP a\n# HELP a x\n"), "metrics: line 2: a second HELP of 'a'");
  EXPECT_EQ(refusal_of("a 1\n# TYPE a counter\n"),
            "metrics: line 2: TYPE of 'a' behind its samples");
  EXPECT_EQ(refusal_of("# TYPE a quark\n"), "metrics: line 1: not a metric's type: 'quark'");
  EXPECT_EQ(refusal_of("# TYPE\n"), "metrics: line 1: not a metric's name behind HELP or TYPE");
  EXPECT_EQ(refusal_of("a 1\n# EOF\nb 2\n"), "metrics: line 3: more behind '# EOF'");
  EXPECT_EQ(refusal_of("a 1 # {} x\n"), "metrics: line 1: the exemplar's value is not a number");
}

TEST(PrometheusText, ASeriesTwiceWouldCountTwice) {
  EXPECT_EQ(refusal_of("a{b=\"1\",c=\"2\"} 1\na{c=\"2\",b=\"1\"} 1\n"),
            "metrics: line 2: a series of 'a' a second time");
  EXPECT_EQ(refusal_of("a{b=\"\"} 1\na 2\n"), "metrics: line 2: a series of 'a' a second time");
  EXPECT_EQ(refusal_of("a{b=\"1\"} 1\na{b=\"2\"} 1\n"), "accepted");
  EXPECT_EQ(refusal_of("a{b=\"1{c=1:2\"} 1\na{b=\"1\",c=\"2\"} 1\n"), "accepted");
}

TEST(PrometheusText, HistogramsAreTheirBuckets) {
  const auto page = parse_metrics_text(
      "# TYPE wait histogram\n"
      "wait_bucket{engine=\"0\",le=\"+Inf\"} 9\n"
      "wait_bucket{engine=\"0\",le=\"0.5\"} 4.0\n"
      "wait_bucket{engine=\"0\",le=\"1e+0\"} 6\n"
      "wait_bucket{le=\"+Inf\",engine=\"1\"} 0\n"
      "wait_sum{engine=\"0\"} 7.25\n"
      "wait_count{engine=\"0\"} 9\n");
  ASSERT_TRUE(page) << page.error().text();
  const auto histograms = histograms_of(*page, "wait");
  ASSERT_TRUE(histograms) << histograms.error().text();
  ASSERT_EQ(histograms->size(), 2U);
  const MetricHistogram& first = (*histograms)[0];
  EXPECT_EQ(first.labels, (std::vector<MetricLabel>{{"engine", "0"}}));
  EXPECT_EQ(first.buckets,
            (std::vector<MetricHistogram::Bucket>{{0.5, 4}, {1, 6}, {kInfinity, 9}}));
  EXPECT_EQ(first.sum, 7.25);
  EXPECT_EQ(first.count, 9);
  EXPECT_TRUE(std::isnan((*histograms)[1].sum));
  EXPECT_TRUE(histograms_of(*page, "absent")->empty());
  EXPECT_EQ(page->family_of("wait_bucket")->kind, MetricKind::kHistogram);
}

TEST(PrometheusText, HistogramsThatAreNone) {
  const auto refused = [](std::string_view text) {
    return histograms_of(*parse_metrics_text(text), "h").error().message;
  };
  EXPECT_EQ(refused("h_bucket{le=\"1\"} 1\n"),
            "metrics: line 1: histogram 'h': it has no bucket of le=\"+Inf\"");
  EXPECT_EQ(refused("h_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 1\n"),
            "metrics: line 1: histogram 'h': its counts fall from one bound to the next");
  EXPECT_EQ(refused("h_bucket{le=\"+Inf\"} NaN\n"),
            "metrics: line 1: histogram 'h': its counts fall from one bound to the next");
  EXPECT_EQ(refused("\nh_bucket{le=\"x\"} 1\n"),
            "metrics: line 2: histogram 'h': the bound 'le' is not a number");
  EXPECT_EQ(refused("h_bucket{le=\"1\"} 1\nh_bucket{le=\"1.0\"} 1\nh_bucket{le=\"+Inf\"} 1\n"),
            "metrics: line 1: histogram 'h': it has one bound twice");
}

}  // namespace
}  // namespace perjoule
