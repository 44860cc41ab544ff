// Writes a `/metrics` page: Prometheus's text format 0.0.4, which prometheus_text.h reads.
//
//   MetricsPage page;
//   page.family("perjoule_device_power_watts", MetricKind::kGauge, "Mean power of a device.");
//   page.sample({{"device", "gpu:GPU-1"}}, 312.5);
//   answer(page.take());
//
// Samples are of the family that was begun last. A value that is not known is no sample: leave it
// out.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/prometheus_text.h"

namespace perjoule {

inline constexpr std::string_view kMetricsPageType = "text/plain; version=0.0.4; charset=utf-8";

class MetricsPage {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string_view>>;

  /// Its HELP and TYPE lines. A family without samples is on the page all the same.
  void family(std::string_view name, MetricKind kind, std::string_view help);
  void sample(const Labels& labels, double value);
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  std::string name_;
};

}  // namespace perjoule
