#include "serving/board/latency_metric.h"

#include <fmt/format.h>

#include <array>

#include "base/text.h"

namespace perjoule {
namespace {

using Of = LatencyMetric::Of;
using At = LatencyMetric::At;

struct OfName {
  Of of;
  std::string_view word;
  std::string_view shown;
};
constexpr std::array<OfName, 4> kOf{{{Of::kItl, "itl", "ITL"},
                                     {Of::kTtft, "ttft", "TTFT"},
                                     {Of::kTpot, "tpot", "TPOT"},
                                     {Of::kEndToEnd, "e2el", "end-to-end latency"}}};

struct AtName {
  At at;
  std::string_view word;
  std::string_view shown;
};
constexpr std::array<AtName, 6> kAt{{{At::kMean, "mean", "mean"},
                                     {At::kMedian, "median", "median"},
                                     {At::kMedian, "p50", "median"},
                                     {At::kP90, "p90", "P90"},
                                     {At::kP95, "p95", "P95"},
                                     {At::kP99, "p99", "P99"}}};

}  // namespace

Result<LatencyMetric> parse_latency_metric(std::string_view text) {
  if (equals_ignoring_case(text, "batch")) return LatencyMetric{Of::kBatch, At::kMean};
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    for (const AtName& at : kAt) {
      if (!equals_ignoring_case(text.substr(0, dash), at.word)) continue;
      for (const OfName& of : kOf) {
        if (equals_ignoring_case(text.substr(dash + 1), of.word))
          return LatencyMetric{of.of, at.at};
      }
    }
  }
  return Error::invalid_argument(
      fmt::format("no such latency: '{}'", text),
      "batch, or mean, median, p90, p95 or p99 of itl, ttft, tpot or e2el: p95-itl");
}

std::string text_of(const LatencyMetric& metric) {
  if (metric.of == Of::kBatch) return "batch latency";
  std::string text;
  for (const AtName& at : kAt) {
    if (at.at == metric.at && text.empty()) text = at.shown;
  }
  for (const OfName& of : kOf) {
    if (of.of == metric.of) text += fmt::format(" {}", of.shown);
  }
  return text;
}

std::optional<Seconds> latency_of(const BenchResult& result, const LatencyMetric& metric) {
  if (metric.of == Of::kBatch) return result.latency.batch;
  const BenchLatency& latency = result.latency;
  const LatencySummary& summary = metric.of == Of::kItl    ? latency.itl
                                  : metric.of == Of::kTtft ? latency.ttft
                                  : metric.of == Of::kTpot ? latency.tpot
                                                           : latency.e2el;
  switch (metric.at) {
    case At::kMean:
      return summary.mean;
    case At::kMedian:
      return summary.p50;
    case At::kP90:
      return summary.p90;
    case At::kP95:
      return summary.p95;
    case At::kP99:
      return summary.p99;
  }
  return std::nullopt;
}

}  // namespace perjoule
