#include "serving/bench/bench_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/energy_json.h"
#include "meter/power_course.h"
#include "serving/board/gpu_tdp.h"
#include "workload/bench_result_json.h"

namespace perjoule {
namespace {

constexpr std::size_t kLengthBins = 50;

std::optional<Energy> known(const Energy& energy) {
  if (energy.status == Status::kMissing) return std::nullopt;
  return energy;
}

LatencySummary summary_of(const LatencySeries& series) {
  if (series.count == 0) return {};
  return {series.mean, series.p50, series.p90, series.p95, series.p99};
}

std::optional<LengthHistogram> lengths_of(const std::vector<RequestRecord>& records) {
  std::int64_t most = 0;
  for (const RequestRecord& record : records) {
    if (record.succeeded()) most = std::max(most, record.response.tokens.output);
  }
  if (most == 0) return std::nullopt;
  LengthHistogram histogram;
  const double width = static_cast<double>(most) / kLengthBins;
  for (std::size_t i = 0; i <= kLengthBins; ++i)
    histogram.edges.push_back(width * static_cast<double>(i));
  histogram.counts.assign(kLengthBins, 0);
  for (const RequestRecord& record : records) {
    if (!record.succeeded()) continue;
    const auto bin =
        static_cast<std::size_t>(static_cast<double>(record.response.tokens.output) / width);
    ++histogram.counts[std::min(bin, kLengthBins - 1)];
  }
  return histogram;
}

/// The least and the most power of one GPU, over a tick of its counter, within the window.
void power_range(const BenchRun& run, const SteadyWindow& window, BenchEvidence& evidence) {
  for (const Course& course : run.courses) {
    if (course.info.device.rfind("gpu:", 0) != 0 || !course.info.overlaps.empty() ||
        course.info.kind != SourceKind::kEnergyCounter)
      continue;
    const EvenPower power =
        even_power({course.timeline.get()}, std::max(course.info.tick, Seconds(0.1)));
    for (std::size_t i = 0; i < power.watts.size(); ++i) {
      const Instant from = power.begin + power.step * static_cast<double>(i);
      if (from < window.from || from + power.step > window.until) continue;
      const Watts watts(static_cast<double>(power.watts[i]));
      evidence.average_low = std::min(evidence.average_low.value_or(watts), watts);
      evidence.average_high = std::max(evidence.average_high.value_or(watts), watts);
    }
  }
}

double share_cut(const std::vector<RequestRecord>& records) {
  double cut = 0, all = 0;
  for (const RequestRecord& record : records) {
    if (!record.succeeded()) continue;
    ++all;
    if (record.response.finish_reason == "length") ++cut;
  }
  return all > 0 ? cut / all : 0;
}

Json series_json(const LatencySeries& series) {
  Json json = Json::object();
  json["count"] = static_cast<std::int64_t>(series.count);
  if (series.count == 0) return json;
  json["mean_s"] = series.mean.value();
  json["p50_s"] = series.p50.value();
  json["p90_s"] = series.p90.value();
  json["p95_s"] = series.p95.value();
  json["p99_s"] = series.p99.value();
  json["most_s"] = series.most.value();
  return json;
}

Json delay_json(const DelaySummary& delay) {
  Json json = Json::object();
  json["median_s"] = delay.median.value();
  json["p99_s"] = delay.p99.value();
  json["longest_s"] = delay.longest.value();
  return json;
}

Json rule_json(const RuleFigures& rule, Instant begun) {
  Json json = Json::object();
  json["rule"] = rule.rule;
  if (!rule.window) {
    json["absent"] = rule.absent;
    return json;
  }
  json["from_s"] = (rule.window->from - begun).value();
  json["until_s"] = (rule.window->until - begun).value();
  json["output_tokens"] = rule.totals.output_tokens;
  json["prompt_tokens"] = rule.totals.prompt_tokens;
  json["responses"] = static_cast<std::int64_t>(rule.totals.responses);
  json["failures"] = static_cast<std::int64_t>(rule.totals.failures);
  json["mean_open"] = rule.totals.mean_open;
  json["mean_running"] = rule.totals.mean_running;
  json["output_token"] = to_json(rule.output_token);
  if (!rule.window->warning.empty()) json["warning"] = rule.window->warning;
  return json;
}

Json latency_json(const LatencyReport& report) {
  Json json = Json::object();
  json["first_byte"] = series_json(report.first_byte);
  json["first_chunk"] = series_json(report.first_chunk);
  json["ttft"] = series_json(report.ttft);
  json["first_reasoning"] = series_json(report.first_reasoning);
  json["first_answer"] = series_json(report.first_answer);
  json["second_token"] = series_json(report.second_token);
  json["itl"] = series_json(report.itl);
  json["chunk_gap"] = series_json(report.chunk_gap);
  json["tpot"] = series_json(report.tpot);
  json["e2el"] = series_json(report.e2el);
  json["first_chunk_tokens"] = report.first_chunk_tokens;
  json["in_bursts"] = report.bursts.any();
  return json;
}

Json requests_json(const LatencyReport& report) {
  Json json = Json::object();
  json["sent"] = static_cast<std::int64_t>(report.requests);
  json["succeeded"] = static_cast<std::int64_t>(report.succeeded);
  json["failed"] = static_cast<std::int64_t>(report.failed());
  json["cancelled_at_end"] = static_cast<std::int64_t>(report.cancelled);
  json["retries"] = static_cast<std::int64_t>(report.retries);
  Json failures = Json::object();
  for (std::size_t i = 0; i < report.failures.size(); ++i) {
    if (report.failures[i] > 0)
      failures[std::string(name_of(static_cast<Failure>(i)))] =
          static_cast<std::int64_t>(report.failures[i]);
  }
  json["failures"] = std::move(failures);
  return json;
}

Json counts_json(const std::vector<RequestRecord>& records) {
  Json json = Json::object();
  for (const RequestRecord& record : records) {
    if (!record.succeeded()) continue;
    const std::string source(name_of(record.response.tokens.source));
    json[source] = json.find(source) == nullptr ? 1 : *json.find(source)->as_integer() + 1;
  }
  return json;
}

Json texts(const std::vector<std::string>& lines) {
  Json json = Json::array();
  for (const std::string& line : lines) json.push_back(line);
  return json;
}

Json phases_json(const BenchFigures& figures) {
  Json json = Json::object();
  if (!figures.phases) {
    json["absent"] = figures.phases_absent;
    return json;
  }
  const PhaseEnergy& phases = *figures.phases;
  json["status"] = figures.used.total().status_text();
  json["boundary"] = name_of(figures.used.total().boundary);
  json["by"] = phases.rule == PhaseRule::kGpus ? "gpus" : "regression";
  json["prompt_token_j"] = phases.prompt_token.value();
  json["prompt_token_expanded_j"] = 2 * phases.prompt_sigma.value();
  json["output_token_j"] = phases.output_token.value();
  json["output_token_expanded_j"] = 2 * phases.output_sigma.value();
  json["prefill_share"] = phases.prefill_share;
  json["batches"] = static_cast<std::int64_t>(phases.batches);
  return json;
}

Json engine_json(const BenchFigures& figures) {
  Json json = Json::object();
  if (!figures.engine) {
    json["absent"] = figures.engine_absent;
    return json;
  }
  const EngineChange& change = *figures.engine;
  json["duration_s"] = change.duration.value();
  json["engines"] = static_cast<std::int64_t>(change.engines);
  const auto counter = [&](const char* name, EngineCounter which) {
    if (const auto value = change.counter(which)) json[name] = *value;
  };
  counter("prompt_tokens", EngineCounter::kPromptTokens);
  counter("generation_tokens", EngineCounter::kGenerationTokens);
  counter("succeeded", EngineCounter::kSucceeded);
  counter("preemptions", EngineCounter::kPreemptions);
  counter("prefix_queries", EngineCounter::kPrefixQueries);
  counter("prefix_hits", EngineCounter::kPrefixHits);
  const auto tail = [&](const char* name, EngineHistogram which) {
    const auto& histogram = change.histogram(which);
    const auto value = histogram ? quantile(*histogram, 0.99) : std::nullopt;
    if (value) json[name] = value->value;
  };
  tail("ttft_p99_s", EngineHistogram::kTtft);
  tail("itl_p99_s", EngineHistogram::kItl);
  tail("queue_p99_s", EngineHistogram::kQueueTime);
  tail("prefill_p99_s", EngineHistogram::kPrefillTime);
  return json;
}

Json energy_json(const BenchFigures& figures) {
  Json json = Json::object();
  json["window"] = to_json(figures.used.total());
  json["whole_run"] = to_json(figures.whole.total());
  Json sources = Json::array();
  for (const SourceMeasurement& source : figures.used.sources) {
    Json one = Json::object();
    one["source"] = source.info.id;
    one["summed"] = figures.used.is_summed(source);
    one["energy"] = to_json(source.energy);
    one["notes"] = texts(source.notes);
    sources.push_back(std::move(one));
  }
  json["sources"] = std::move(sources);
  return json;
}

}  // namespace

BenchResult bench_result(const BenchFigures& figures, const BenchRun& run,
                         const BenchContext& context) {
  BenchResult result;
  result.benchmark = "Perjoule bench";
  result.task = context.task;
  result.model = context.model;
  result.engine = context.engine;
  if (result.engine.name.empty() && !run.engine.scrapes.empty())
    result.engine.name = run.engine.scrapes.front().server;
  result.gpus = context.gpus;
  result.parallel = context.parallel;
  result.batch.max_num_seqs = context.max_num_seqs;
  const RuleFigures& rule = figures.rule();
  const Seconds duration = rule.window->duration();
  result.batch.mean = rule.totals.mean_running;
  if (figures.mean_prompt > 0) result.lengths.mean_input = figures.mean_prompt;
  if (figures.mean_output > 0) result.lengths.mean_output = figures.mean_output;
  result.lengths.outputs = lengths_of(run.load.records);
  result.load = context.load;
  result.settings = context.settings;
  if (figures.goodput) {
    result.goodput.share = figures.goodput->share;
    result.goodput.requests = figures.goodput->requests.value();
    result.goodput.output_token = known(*figures.good_token);
  }
  result.load.requests = static_cast<std::int64_t>(figures.latency.requests);
  result.load.completed = static_cast<std::int64_t>(figures.latency.succeeded);
  result.energy.output_token = known(figures.output_token);
  result.energy.total_token = known(figures.total_token);
  result.energy.response = known(figures.response);
  if (known(figures.used.total())) result.power = figures.power;
  if (duration.value() > 0) {
    const double tokens = static_cast<double>(rule.totals.output_tokens);
    result.rates.output_tokens = tokens / duration.value();
    result.rates.total_tokens =
        (tokens + static_cast<double>(rule.totals.prompt_tokens)) / duration.value();
    result.rates.responses = static_cast<double>(rule.totals.responses) / duration.value();
    result.load.delivered_per_s = result.rates.responses;
  }
  result.latency.itl = summary_of(figures.latency.itl);
  result.latency.ttft = summary_of(figures.latency.ttft);
  result.latency.tpot = summary_of(figures.latency.tpot);
  result.latency.e2el = summary_of(figures.latency.e2el);
  result.evidence.window = duration;
  result.evidence.length_limit_share = share_cut(run.load.records);
  power_range(run, *rule.window, result.evidence);
  for (const EngineScrape& scrape : run.engine.scrapes) {
    if (scrape.at < rule.window->from || scrape.at > rule.window->until) continue;
    if (const auto usage = scrape.gauge(EngineGauge::kCacheUsage))
      result.evidence.cache_use = std::max(result.evidence.cache_use.value_or(0), *usage);
  }
  result.validity = figures.validity;
  return result;
}

Json bench_document(const BenchResult& result, const BenchFigures& figures, const BenchRun& run,
                    const BenchContext& context) {
  Json document = to_json(result);
  Json more = Json::object();
  more["begun_unix_ns"] = run.begun_unix_ns;
  more["duration_s"] = (run.load.ended - run.load.begun).value();
  more["window"] = figures.rule().rule;
  Json rules = Json::array();
  for (const RuleFigures& rule : figures.rules) rules.push_back(rule_json(rule, run.load.begun));
  more["windows"] = std::move(rules);
  more["energy"] = energy_json(figures);
  more["phases"] = phases_json(figures);
  if (const auto estimate = tdp_estimate(result)) {
    Json tdp = Json::object();
    tdp["per_output_token_j"] = estimate->per_unit.value();
    tdp["ratio"] = estimate->ratio;
    more["tdp_estimate"] = std::move(tdp);
  }
  more["requests"] = requests_json(figures.latency);
  more["token_counts_from"] = counts_json(run.load.records);
  more["latency"] = latency_json(figures.latency);
  Json client = Json::object();
  client["send_delay"] = delay_json(run.load.send_delay);
  client["loop_delay"] = delay_json(run.load.loop_delay);
  client["queue"] = series_json(figures.latency.send_delay);
  client["connections"] = static_cast<std::int64_t>(run.load.connections);
  more["client"] = std::move(client);
  more["server"] = engine_json(figures);
  std::vector<std::string> notes = context.notes;
  notes.insert(notes.end(), figures.notes.begin(), figures.notes.end());
  more["notes"] = texts(notes);
  document["run"] = std::move(more);
  return document;
}

std::string request_line(const RequestRecord& record, Instant begun) {
  Json json = Json::object();
  const auto stamp = [&](const char* name, const std::optional<Instant>& at) {
    if (at) json[name] = (*at - begun).value();
  };
  const Response& response = record.response;
  stamp("scheduled_s", record.scheduled);
  stamp("sent_s", record.sent);
  stamp("first_byte_s", response.first_byte);
  stamp("first_token_s", response.first_token);
  stamp("first_reasoning_s", response.first_reasoning);
  stamp("first_answer_s", response.first_answer);
  stamp("last_chunk_s", response.last_chunk);
  stamp("ended_s", record.ended);
  json["outcome"] =
      record.succeeded() ? std::string("answered") : std::string(name_of(record.failure));
  if (record.status != 0) json["status"] = record.status;
  if (!record.message.empty()) json["message"] = record.message;
  if (response.tokens.prompt) json["prompt_tokens"] = *response.tokens.prompt;
  json["output_tokens"] = response.tokens.output;
  json["reasoning_tokens"] = response.tokens.reasoning;
  json["counted_by"] = std::string(name_of(response.tokens.source));
  json["chunks"] = static_cast<std::int64_t>(response.chunks.size());
  if (!response.finish_reason.empty()) json["finish_reason"] = response.finish_reason;
  return json.dump() + "\n";
}

}  // namespace perjoule
