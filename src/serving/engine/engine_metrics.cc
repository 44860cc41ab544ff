#include "serving/engine/engine_metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "serving/engine/engine_names.h"

namespace perjoule {
namespace {

constexpr auto kUsage = static_cast<std::size_t>(EngineGauge::kCacheUsage);
constexpr auto kSucceeded = static_cast<std::size_t>(EngineCounter::kSucceeded);

/// The label that tells the engines of one model apart.
std::string_view rank_of(const MetricSample& sample) {
  const std::string_view engine = sample.label("engine");
  return engine.empty() ? sample.label("dp_rank") : engine;
}

/// Ranks of one engine tell the same tokens again.
bool is_repeated(const MetricSample& sample) {
  for (const char* name : {"tp_rank", "pp_rank"}) {
    const std::string_view rank = sample.label(name);
    if (!rank.empty() && rank != "0") return true;
  }
  return false;
}

/// Adds the one to the other; false where their bounds differ.
bool add_histogram(std::optional<MetricHistogram>& to, const MetricHistogram& more) {
  if (!to) {
    to = more;
    to->labels.clear();
    return true;
  }
  if (to->buckets.size() != more.buckets.size()) return false;
  for (std::size_t i = 0; i < more.buckets.size(); ++i) {
    if (to->buckets[i].upper != more.buckets[i].upper) return false;
  }
  for (std::size_t i = 0; i < more.buckets.size(); ++i)
    to->buckets[i].count += more.buckets[i].count;
  to->sum += more.sum;
  to->count += more.count;
  return true;
}

/// vLLM counts every request's end as a success and names the reason: a client that went away and
/// an error are none.
bool ended_badly(const MetricSample& sample) {
  const std::string_view reason = sample.label("finished_reason");
  return reason == "abort" || reason == "error";
}

class Reader {
 public:
  Reader(const MetricsText& page, const EngineNames& names) : page_(page), names_(names) {}

  Result<std::vector<Engine>> read() {
    for (std::size_t i = 0; i < kEngineCounters; ++i) PJ_CHECK(read_counter(i));
    for (std::size_t i = 0; i < kEngineGauges; ++i) read_gauge(i);
    for (std::size_t i = 0; i < kEngineHistograms; ++i) PJ_CHECK(read_histogram(i));
    std::sort(engines_.begin(), engines_.end(),
              [](const Engine& a, const Engine& b) { return a.name < b.name; });
    return std::move(engines_);
  }

 private:
  /// The samples of the first of the names that the page has, each with that end.
  std::vector<const MetricSample*> samples_of(const MetricNames& names,
                                              std::initializer_list<std::string_view> ends) const {
    for (const std::string_view name : names) {
      for (const std::string_view end : ends) {
        if (name.empty()) continue;
        auto found = page_.named(std::string(names_.prefix) + std::string(name) + std::string(end));
        if (!found.empty()) return found;
      }
    }
    return {};
  }

  Engine& engine_of(const MetricSample& sample) {
    std::string name(sample.label("model_name"));
    if (const std::string_view rank = rank_of(sample); !rank.empty())
      name += (name.empty() ? "engine " : " engine ") + std::string(rank);
    for (Engine& engine : engines_) {
      if (engine.name == name) return engine;
    }
    engines_.emplace_back().name = name;
    return engines_.back();
  }

  Outcome read_counter(std::size_t which) {
    for (const MetricSample* sample : samples_of(names_.counters[which], {"_total", ""})) {
      if (is_repeated(*sample)) continue;
      if (which == kSucceeded && ended_badly(*sample)) continue;
      if (!(sample->value >= 0) || std::isinf(sample->value)) {
        return Error::invalid_argument("metrics: line " + std::to_string(sample->line) +
                                       ": no count: '" + sample->name + "'");
      }
      auto& counter = engine_of(*sample).counters[which];
      counter = counter.value_or(0) + sample->value;
    }
    return {};
  }

  void read_gauge(std::size_t which) {
    for (const MetricSample* sample : samples_of(names_.gauges[which], {""})) {
      if (is_repeated(*sample) || !std::isfinite(sample->value)) continue;
      auto& gauge = engine_of(*sample).gauges[which];
      gauge = which == kUsage ? std::max(gauge.value_or(0), sample->value)
                              : gauge.value_or(0) + sample->value;
    }
  }

  Outcome read_histogram(std::size_t which) {
    for (const std::string_view name : names_.histograms[which]) {
      if (name.empty()) continue;
      PJ_TRY(const auto histograms,
             histograms_of(page_, std::string(names_.prefix) + std::string(name)));
      for (const MetricHistogram& histogram : histograms) {
        MetricSample labelled;
        labelled.labels = histogram.labels;
        if (is_repeated(labelled)) continue;
        if (!add_histogram(engine_of(labelled).histograms[which], histogram)) {
          return Error::invalid_argument("metrics: two series of one engine with other bounds: '" +
                                         std::string(name) + "'");
        }
      }
      if (!histograms.empty()) break;
    }
    return {};
  }

  const MetricsText& page_;
  const EngineNames& names_;
  std::vector<Engine> engines_;
};

/// The observations between the two; none where any bucket fell or the bounds are others.
std::optional<MetricHistogram> difference(const MetricHistogram& before,
                                          const MetricHistogram& after) {
  if (before.buckets.size() != after.buckets.size()) return std::nullopt;
  MetricHistogram change = after;
  double below = 0;
  for (std::size_t i = 0; i < change.buckets.size(); ++i) {
    if (before.buckets[i].upper != after.buckets[i].upper) return std::nullopt;
    change.buckets[i].count -= before.buckets[i].count;
    if (change.buckets[i].count < below) return std::nullopt;
    below = change.buckets[i].count;
  }
  change.sum -= before.sum;
  change.count = below;
  return change;
}

/// The engine's change in place of its figures; none where it was restarted. What was not on the
/// page before, a label that nothing had happened under, was 0.
std::optional<Engine> change_of(const Engine& before, const Engine& after) {
  Engine change = after;
  for (std::size_t i = 0; i < kEngineCounters; ++i) {
    if (!before.counters[i]) continue;
    if (!after.counters[i] || *after.counters[i] < *before.counters[i]) return std::nullopt;
    change.counters[i] = *after.counters[i] - *before.counters[i];
  }
  for (std::size_t i = 0; i < kEngineHistograms; ++i) {
    if (!before.histograms[i]) continue;
    if (!after.histograms[i]) return std::nullopt;
    change.histograms[i] = difference(*before.histograms[i], *after.histograms[i]);
    if (!change.histograms[i]) return std::nullopt;
  }
  return change;
}

const Engine* engine_named(const std::vector<Engine>& engines, std::string_view name) {
  for (const Engine& engine : engines) {
    if (engine.name == name) return &engine;
  }
  return nullptr;
}

constexpr std::array<std::string_view, kEngineHistograms> kHistogramWords{
    "time to first token", "inter-token latency", "end-to-end latency", "queue time",
    "prefill time",        "decode time",         "prompt length",      "output length"};

void add(const Engine& change, EngineChange& to) {
  ++to.engines;
  for (std::size_t i = 0; i < kEngineCounters; ++i) {
    if (change.counters[i]) to.counters[i] = to.counters[i].value_or(0) + *change.counters[i];
  }
  for (std::size_t i = 0; i < kEngineHistograms; ++i) {
    if (!change.histograms[i] || add_histogram(to.histograms[i], *change.histograms[i])) continue;
    const std::string word(kHistogramWords[i]);
    if (std::find(to.unlike.begin(), to.unlike.end(), word) == to.unlike.end())
      to.unlike.push_back(word);
  }
}

}  // namespace

std::optional<double> EngineScrape::gauge(EngineGauge which) const {
  const auto index = static_cast<std::size_t>(which);
  std::optional<double> all;
  for (const Engine& engine : engines) {
    const auto& gauge = engine.gauges[index];
    if (!gauge) continue;
    all = index == kUsage ? std::max(all.value_or(0), *gauge) : all.value_or(0) + *gauge;
  }
  return all;
}

Result<EngineScrape> read_engines(const MetricsText& page, Instant at) {
  for (const EngineNames& names : kEngineNames) {
    PJ_TRY(std::vector<Engine> engines, Reader(page, names).read());
    if (engines.empty()) continue;
    EngineScrape scrape;
    scrape.at = at;
    scrape.server = names.server;
    scrape.engines = std::move(engines);
    const auto starts = page.named("process_start_time_seconds");
    if (starts.size() == 1) scrape.process_start = starts.front()->value;
    return scrape;
  }
  return Error::not_found(
      "metrics: none of an inference server that is known (vllm:, sglang:, llamacpp:) among " +
          std::to_string(page.samples.size()) + " samples",
      "ask the server itself, and start SGLang with --enable-metrics, llama.cpp with --metrics");
}

Result<EngineChange> engine_change(const EngineScrape& before, const EngineScrape& after) {
  if (after.at < before.at)
    return Error::invalid_argument("metrics: the second page is older than the first");
  if (before.server != after.server) {
    return Error::invalid_argument("metrics: pages of two kinds of server: " + before.server +
                                   " and " + after.server);
  }
  EngineChange change;
  change.duration = after.at - before.at;
  const bool is_new_process =
      before.process_start && after.process_start && *before.process_start != *after.process_start;
  for (const Engine& now : after.engines) {
    const Engine* then = engine_named(before.engines, now.name);
    if (then == nullptr) {
      change.appeared.push_back(now.name);
      continue;
    }
    const auto difference = change_of(*then, now);
    if (is_new_process || !difference) {
      change.restarted.push_back(now.name);
    } else {
      add(*difference, change);
    }
  }
  for (const Engine& then : before.engines) {
    if (engine_named(after.engines, then.name) == nullptr) change.vanished.push_back(then.name);
  }
  // A sum of some of the engines is not the sum.
  for (const std::string& word : change.unlike) {
    const auto at = std::find(kHistogramWords.begin(), kHistogramWords.end(), word);
    change.histograms[static_cast<std::size_t>(at - kHistogramWords.begin())].reset();
  }
  return change;
}

std::optional<HistogramQuantile> quantile(const MetricHistogram& histogram, double share) {
  if (!(histogram.count > 0)) return std::nullopt;
  const double rank = share * histogram.count;
  double lower = 0;
  double below = 0;
  for (const MetricHistogram::Bucket& bucket : histogram.buckets) {
    if (bucket.count >= rank && bucket.count > below) {
      if (std::isinf(bucket.upper)) return HistogramQuantile{lower, true};
      if (bucket.upper <= 0) return HistogramQuantile{bucket.upper, false};
      return HistogramQuantile{
          lower + (bucket.upper - lower) * std::max(0.0, rank - below) / (bucket.count - below),
          false};
    }
    lower = bucket.upper;
    below = bucket.count;
  }
  return HistogramQuantile{lower, true};
}

std::optional<double> mean(const MetricHistogram& histogram) {
  if (!(histogram.count > 0) || !std::isfinite(histogram.sum)) return std::nullopt;
  return histogram.sum / histogram.count;
}

}  // namespace perjoule
