// The reader of /metrics pages: whatever it accepts must be the same samples when they are written
// out and read again, its histograms must rise, and between a page and itself no engine changed.
#include <cmath>
#include <cstdlib>

#include "base/text.h"
#include "net/prometheus_text.h"
#include "serving/engine/engine_metrics.h"

namespace {

using namespace perjoule;

std::string written(const MetricSample& sample) {
  std::string text = sample.name + "{";
  for (const MetricLabel& label : sample.labels) {
    text += label.name + "=\"";
    for (const char c : label.value) {
      if (c == '\\' || c == '"') text += '\\';
      text += c == '\n' ? std::string("\\n") : std::string(1, c);
    }
    text += "\",";
  }
  const double value = sample.value;
  text += "} " + (std::isnan(value)   ? "NaN"
                  : std::isinf(value) ? (value < 0 ? "-Inf" : "+Inf")
                                      : exact(value));
  if (sample.timestamp) text += " " + exact(sample.timestamp->value());
  return text + "\n";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto page = parse_metrics_text({reinterpret_cast<const char*>(data), size});
  if (!page) return 0;
  std::string text;
  for (const MetricSample& sample : page->samples) text += written(sample);
  const auto again = parse_metrics_text(text + "# EOF\n");
  if (!again || again->samples.size() != page->samples.size()) std::abort();
  for (std::size_t i = 0; i < page->samples.size(); ++i) {
    const MetricSample& a = page->samples[i];
    const MetricSample& b = again->samples[i];
    const bool same_value = a.value == b.value || (std::isnan(a.value) && std::isnan(b.value));
    if (a.name != b.name || a.labels != b.labels || !same_value || a.timestamp != b.timestamp)
      std::abort();
    (void)page->family_of(a.name);
  }
  for (const MetricFamily& family : page->families) {
    const auto histograms = histograms_of(*page, family.name);
    if (!histograms) continue;
    for (const MetricHistogram& histogram : *histograms) {
      for (std::size_t b = 1; b < histogram.buckets.size(); ++b) {
        if (!(histogram.buckets[b - 1].upper < histogram.buckets[b].upper) ||
            histogram.buckets[b - 1].count > histogram.buckets[b].count)
          std::abort();
      }
    }
  }
  const auto engines = read_engines(*page, Instant{});
  if (!engines) return 0;
  const auto change = engine_change(*engines, *engines);
  const bool has_nan_start = engines->process_start && std::isnan(*engines->process_start);
  if (!change || (!change->is_whole() && !has_nan_start)) std::abort();
  for (const auto& counter : change->counters) {
    if (counter && *counter != 0) std::abort();
  }
  for (const auto& histogram : change->histograms) {
    if (histogram && quantile(*histogram, 0.5)) std::abort();
  }
  return 0;
}
