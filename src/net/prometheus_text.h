// What a `/metrics` page says: Prometheus's text format 0.0.4, and OpenMetrics 1.0 as far as it is
// the same.
//
//   PJ_TRY(const MetricsText text, parse_metrics_text(body));
//   for (const MetricSample* s : text.named("vllm:num_requests_running")) sum += s->value;
//   PJ_TRY(const auto waits, histograms_of(text, "vllm:request_queue_time_seconds"));
//
// Strict, as a figure read wrongly is worse than none: every error names its line. Refused are,
// among others, escapes that the format does not know, a label or a series given twice, a second
// TYPE of one name, and a last line without its end (a page that was cut off inside a number reads
// as a smaller number). Names and labels that are quoted for UTF-8's sake come only to who asks for
// them, and are refused. Exemplars are read over.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace perjoule {

struct MetricLabel {
  std::string name;
  std::string value;  ///< what the escapes stand for put in their place

  bool operator==(const MetricLabel&) const = default;
};

struct MetricSample {
  std::string name;                  ///< as on the page, with its `_total` or `_bucket`
  std::vector<MetricLabel> labels;   ///< in the page's order
  double value = 0;                  ///< may be infinite or not a number
  std::optional<Seconds> timestamp;  ///< since 1970, where the page gives one
  std::size_t line = 0;              ///< 1-based

  /// The label's value; empty where there is no such label, which Prometheus takes to be the same.
  std::string_view label(std::string_view name) const;
};

enum class MetricKind { kUnknown, kCounter, kGauge, kHistogram, kSummary, kInfo, kStateSet };

struct MetricFamily {
  std::string name;  ///< as in its HELP or TYPE line: OpenMetrics leaves a counter's `_total` out
  MetricKind kind = MetricKind::kUnknown;
  std::string help;
};

struct MetricsText {
  std::vector<MetricSample> samples;   ///< in the page's order
  std::vector<MetricFamily> families;  ///< those that have a HELP or a TYPE line

  /// The samples of exactly that name. O(samples).
  std::vector<const MetricSample*> named(std::string_view name) const;
  /// The family of a sample's name, its suffix taken off where need be; null where none was
  /// declared.
  const MetricFamily* family_of(std::string_view sample_name) const;
};

/// O(bytes). data_loss where the last line has no end, else invalid_argument.
Result<MetricsText> parse_metrics_text(std::string_view text);

/// One series of a histogram.
struct MetricHistogram {
  struct Bucket {
    double upper = 0;  ///< the observations at most this large ...
    double count = 0;  ///< ... of which there are so many: cumulative
    bool operator==(const Bucket&) const = default;
  };
  std::vector<MetricLabel> labels;  ///< without `le`
  std::vector<Bucket> buckets;      ///< by rising bounds; the last is infinite
  double sum = 0;                   ///< not a number where the page has none
  double count = 0;                 ///< the infinite bucket's
};

/// The series of the histogram of that name (without `_bucket`), by their labels without `le`, in
/// the page's order; none where it is not on the page. invalid_argument, with the line, where a
/// bound is no number, no bound is infinite, or a count falls from one bound to the next.
Result<std::vector<MetricHistogram>> histograms_of(const MetricsText& text, std::string_view name);

}  // namespace perjoule
