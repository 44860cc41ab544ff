// What an inference server counts itself: one /metrics page into figures by engine, and the change
// between two pages.
//
//   PJ_TRY(const EngineScrape before, read_engines(*parse_metrics_text(page), clock.now()));
//   ...                                                     // the window
//   PJ_TRY(const EngineChange change, engine_change(before, after));
//   change.counter(EngineCounter::kGenerationTokens);       // tokens in the window
//   quantile(*change.histogram(EngineHistogram::kTtft), 0.99);
//
// Names: vLLM's of today and those they replaced (where a page has both, it is the same figure
// twice, and the new one is read), SGLang's and llama.cpp's. An engine is a model and, of several
// that share the load, its `engine` (vLLM) or `dp_rank` (SGLang). Of ranks that work on the same
// tokens (`tp_rank`, `pp_rank`) only the first is read.
//
// Histograms on a page hold all that happened since the server began: percentiles of a window are
// of the difference of two pages, taken for each engine and then summed. An engine whose counters
// fell, or whose process began anew, was restarted: how much it counted is not known, so it is
// named and left out; so is one that is on one page only. Known traps: with several API server
// processes vLLM's iteration metrics can be wrong (they are not read), and SGLang counts a
// response's tokens when it ends.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "net/prometheus_text.h"

namespace perjoule {

enum class EngineCounter {
  kPromptTokens,
  kGenerationTokens,
  kSucceeded,  ///< requests that ended well
  kPreemptions,
  kPrefixQueries,  ///< tokens looked up in the prefix cache
  kPrefixHits,
};
inline constexpr std::size_t kEngineCounters = 6;

enum class EngineGauge {
  kRunning,
  kWaiting,
  kCacheUsage,  ///< of the KV cache, 0 to 1; over several engines the fullest
};
inline constexpr std::size_t kEngineGauges = 3;

enum class EngineHistogram {
  kTtft,
  kItl,
  kE2el,
  kQueueTime,
  kPrefillTime,
  kDecodeTime,
  kPromptLength,
  kOutputLength,
};
inline constexpr std::size_t kEngineHistograms = 8;

struct Engine {
  std::string name;  ///< "meta-llama/Llama-3.1-8B", with " engine 1" where it is one of several
  std::array<std::optional<double>, kEngineCounters> counters;
  std::array<std::optional<double>, kEngineGauges> gauges;
  std::array<std::optional<MetricHistogram>, kEngineHistograms> histograms;
};

struct EngineScrape {
  Instant at;
  std::string server;                   ///< "vllm", "sglang" or "llamacpp"
  std::vector<Engine> engines;          ///< by name
  std::optional<double> process_start;  ///< since 1970, where the page tells it

  /// Over all engines; none where no engine has it.
  std::optional<double> gauge(EngineGauge which) const;
};
/// not_found where the page has no metrics of a server that is known; invalid_argument where one of
/// them cannot be what it is named (a counter below 0, a histogram that falls).
Result<EngineScrape> read_engines(const MetricsText& page, Instant at);

struct EngineChange {
  Seconds duration;
  std::size_t engines = 0;  ///< that the sums are of
  std::array<std::optional<double>, kEngineCounters> counters;
  std::array<std::optional<MetricHistogram>, kEngineHistograms> histograms;
  // Engines that the sums are not of.
  std::vector<std::string> restarted;
  std::vector<std::string> appeared;
  std::vector<std::string> vanished;
  /// Histograms whose bounds are not the same everywhere, and so cannot be summed.
  std::vector<std::string> unlike;

  std::optional<double> counter(EngineCounter which) const {
    return counters[static_cast<std::size_t>(which)];
  }
  const std::optional<MetricHistogram>& histogram(EngineHistogram which) const {
    return histograms[static_cast<std::size_t>(which)];
  }
  /// The sums are of all engines.
  bool is_whole() const { return restarted.empty() && appeared.empty() && vanished.empty(); }
};
/// invalid_argument where the pages are in the wrong order, or of servers of two kinds.
Result<EngineChange> engine_change(const EngineScrape& before, const EngineScrape& after);

struct HistogramQuantile {
  double value = 0;
  bool is_beyond = false;  ///< it lies above the last bound, which `value` is
};
/// On the line through the bounds of the bucket it lies in, the first of which begins at 0, as
/// Prometheus's histogram_quantile has it. None of a histogram of nothing.
std::optional<HistogramQuantile> quantile(const MetricHistogram& histogram, double share);
/// None of a histogram of nothing, or without a sum.
std::optional<double> mean(const MetricHistogram& histogram);

}  // namespace perjoule
