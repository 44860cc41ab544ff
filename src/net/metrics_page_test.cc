#include "net/metrics_page.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

namespace perjoule {
namespace {

TEST(MetricsPageTest, IsThePageThatPrometheusDescribes) {
  MetricsPage page;
  page.family("a_total", MetricKind::kCounter, "How \\ many\nthere are.");
  page.sample({}, 3);
  page.sample({{"x", "a \"b\" \\ c\nd"}, {"y", ""}}, 0.1);
  page.family("b", MetricKind::kGauge, "None.");
  EXPECT_EQ(page.take(),
            "# HELP a_total How \\\\ many\\nthere are.\n# TYPE a_total counter\na_total 3\n"
            "a_total{x=\"a \\\"b\\\" \\\\ c\\nd\",y=\"\"} 0.1\n# HELP b None.\n# TYPE b gauge\n");
}

TEST(MetricsPageTest, NumbersThatAreNoneAreWritten) {
  MetricsPage page;
  page.family("a", MetricKind::kGauge, "h");
  page.sample({}, std::numeric_limits<double>::infinity());
  page.sample({{"x", "1"}}, -std::numeric_limits<double>::infinity());
  page.sample({{"x", "2"}}, NAN);
  const auto text = parse_metrics_text(page.take());
  ASSERT_TRUE(text) << text.error().text();
  EXPECT_TRUE(std::isinf(text->samples[0].value));
  EXPECT_LT(text->samples[1].value, 0);
  EXPECT_TRUE(std::isnan(text->samples[2].value));
}

RC_GTEST_PROP(MetricsPageTest, ReadsBack, (const std::string& label, double value)) {
  std::string shown;
  for (const char c : label) {
    if (c == '\n' || (c >= ' ' && c < 0x7f)) shown += c;
  }
  MetricsPage page;
  page.family("a", MetricKind::kGauge, shown);
  page.sample({{"x", shown}}, value);
  const auto text = parse_metrics_text(page.take());
  RC_ASSERT(text.has_value());
  RC_ASSERT(text->samples.at(0).label("x") == shown);
  RC_ASSERT(text->samples.at(0).value == value);
}

}  // namespace
}  // namespace perjoule
