#include "cli/fleet_readings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/parallel.h"

namespace perjoule::cli {
namespace {

constexpr Seconds kConnect{2};
constexpr Seconds kResponse{3};
constexpr Seconds kQuery{5};

/// Prompts' mean length since the last look, else of all there were.
std::optional<double> mean_prompt(const std::optional<MetricHistogram>& lately,
                                  const EngineScrape& all) {
  constexpr auto kLength = static_cast<std::size_t>(EngineHistogram::kPromptLength);
  if (lately) {
    if (const auto of_late = mean(*lately)) return of_late;
  }
  double sum = 0;
  double count = 0;
  for (const Engine& engine : all.engines) {
    if (!engine.histograms[kLength] || !mean(*engine.histograms[kLength])) continue;
    sum += engine.histograms[kLength]->sum;
    count += engine.histograms[kLength]->count;
  }
  if (count > 0) return sum / count;
  return std::nullopt;
}

}  // namespace

InstanceReading reading_of(const std::optional<EngineScrape>& before, const EngineScrape& after) {
  InstanceReading reading;
  reading.is_reachable = true;
  reading.running = after.gauge(EngineGauge::kRunning).value_or(0);
  reading.waiting = after.gauge(EngineGauge::kWaiting).value_or(0);
  reading.mean_prompt = mean_prompt(std::nullopt, after);
  if (!before) return reading;
  const auto change = engine_change(*before, after);
  if (!change) return reading;
  reading.since_last = change->duration;
  reading.was_restarted = !change->restarted.empty();
  if (!change->is_whole()) return reading;
  reading.prompt_tokens = change->counter(EngineCounter::kPromptTokens);
  reading.mean_prompt = mean_prompt(change->histogram(EngineHistogram::kPromptLength), after);
  if (const auto& ttft = change->histogram(EngineHistogram::kTtft)) {
    for (const MetricHistogram::Bucket& bucket : ttft->buckets)
      reading.first_tokens.push_back({Seconds(bucket.upper), bucket.count});
  }
  return reading;
}

Result<std::unique_ptr<FleetReadings>> FleetReadings::create(const FleetControlFile& file,
                                                             const FleetReadingOptions& options,
                                                             const Clock& clock) {
  std::unique_ptr<FleetReadings> readings(new FleetReadings(file, options, clock));
  readings->options_.http.timeouts.connect = kConnect;
  readings->options_.http.timeouts.response = kResponse;
  for (std::size_t s = 0; s < file.servers.size(); ++s) {
    for (std::size_t i = 0; i < file.servers[s].instances.size(); ++i) {
      Source& source = readings->sources_.emplace_back();
      source.server = s;
      source.instance = i;
      if (file.prometheus) continue;
      auto reader = EngineReader::create(clock, file.sources[s][i].url, options.token_variable,
                                         readings->options_.http);
      if (reader) {
        source.reader = std::move(*reader);
      } else if (reader.error().code == ErrorCode::kInvalidArgument) {
        return fail(reader, file.servers[s].instances[i].name);
      }
    }
  }
  if (file.prometheus) {
    readings->prometheus_.emplace(
        PrometheusOptions{
            .url = *file.prometheus, .http = readings->options_.http, .timeout = kQuery},
        clock);
  }
  return readings;
}

Result<EngineScrape> FleetReadings::look_at_page(Source& source) const {
  if (source.reader == nullptr) {
    PJ_TRY(source.reader,
           EngineReader::create(clock_, file_.sources[source.server][source.instance].url,
                                options_.token_variable, options_.http));
  }
  PJ_TRY(EnginePage page, source.reader->read());
  return std::move(page.scrape);
}

/// All series of known engines at once, taken apart by the label that names the instance: each
/// part is what its page would have been at its last scrape.
std::vector<Result<EngineScrape>> FleetReadings::look_at_prometheus() const {
  const std::string query = fmt::format("{{__name__=~\"(vllm|sglang|llamacpp):.*\"{}{}}}",
                                        file_.selector.empty() ? "" : ",", file_.selector);
  const Instant at = clock_.now();
  const auto answer =
      prometheus_->instant(query, Seconds(static_cast<double>(clock_.unix_ns()) * 1e-9));
  std::vector<Result<EngineScrape>> scrapes;
  std::map<std::string, MetricsText, std::less<>> pages;
  if (answer) {
    for (const PromSeries& series : answer->series) {
      MetricSample sample;
      for (const MetricLabel& label : series.labels) {
        if (label.name == "__name__") {
          sample.name = label.value;
        } else {
          sample.labels.push_back(label);
        }
      }
      if (series.points.empty()) continue;
      sample.value = series.points.back().value;
      pages[std::string(series.label(file_.label))].samples.push_back(std::move(sample));
    }
  }
  for (const Source& source : sources_) {
    const std::string& name = file_.sources[source.server][source.instance].series;
    const auto page = pages.find(name);
    if (!answer) {
      scrapes.push_back(fail(answer));
    } else if (page == pages.end()) {
      scrapes.push_back(Error::not_found(fmt::format("{} has no engine's series with {}=\"{}\"",
                                                     file_.prometheus->text(), file_.label, name)));
    } else {
      scrapes.push_back(read_engines(page->second, at));
    }
  }
  return scrapes;
}

std::vector<std::vector<InstanceReading>> FleetReadings::read() {
  std::vector<Result<EngineScrape>> scrapes;
  if (prometheus_) {
    scrapes = look_at_prometheus();
  } else {
    scrapes.assign(sources_.size(), Error::unavailable(""));
    in_parallel(sources_.size(), [&](std::size_t i) { scrapes[i] = look_at_page(sources_[i]); });
  }
  std::vector<std::vector<InstanceReading>> readings;
  for (const FleetServer& server : file_.servers) readings.emplace_back(server.instances.size());
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    Source& source = sources_[i];
    InstanceReading& reading = readings[source.server][source.instance];
    if (scrapes[i]) {
      reading = reading_of(source.last, *scrapes[i]);
      source.last = std::move(*scrapes[i]);
    } else {
      // What it counts when it is back is of all the time that it was away.
      reading.failure = scrapes[i].error().text();
    }
  }
  return readings;
}

}  // namespace perjoule::cli
