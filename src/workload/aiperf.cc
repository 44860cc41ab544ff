#include "workload/aiperf.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "workload/civil_time.h"
#include "workload/json_fields.h"

namespace perjoule {
namespace {

/// Reads metrics of the document; the first that is of another kind is the error.
class Metrics {
 public:
  Metrics(const Json& document, std::string_view name) : document_(document), name_(name) {}

  /// None when there is no such metric or statistic, or it is null.
  std::optional<double> number(std::string_view metric, std::string_view statistic = "avg") {
    const Json* found = document_.find(metric);
    if (found == nullptr || !found->is_object()) return std::nullopt;
    JsonFields fields(*found, fmt::format("{}: '{}'", name_, metric));
    const auto value = fields.number(statistic);
    keep(fields.outcome());
    return value;
  }
  LatencySummary summary(std::string_view metric) {
    const double factor = seconds_of_unit(metric);
    const auto take = [&](std::string_view statistic) -> std::optional<Seconds> {
      const auto value = number(metric, statistic);
      // No sample shows as 0.
      return value && *value != 0 ? std::optional<Seconds>(Seconds(*value * factor)) : std::nullopt;
    };
    return {take("avg"), take("p50"), take("p90"), take("p95"), take("p99")};
  }
  std::optional<Seconds> time(std::string_view metric) {
    const auto value = number(metric);
    return value ? std::optional<Seconds>(Seconds(*value * seconds_of_unit(metric))) : std::nullopt;
  }
  /// A count: they are written as averages.
  std::optional<std::int64_t> count(std::string_view metric) {
    constexpr double kMost = 1e15;
    const auto value = number(metric);
    if (!value) return std::nullopt;
    if (!(*value >= 0 && *value <= kMost)) {
      keep(Error::invalid_argument(fmt::format("{}: '{}' is not a count", name_, metric)));
      return std::nullopt;
    }
    return std::llround(*value);
  }
  void keep(Outcome outcome) {
    if (outcome_) outcome_ = std::move(outcome);
  }
  Outcome outcome() const { return outcome_; }

 private:
  /// Milliseconds unless the metric says another unit.
  double seconds_of_unit(std::string_view metric) {
    const Json* found = document_.find(metric);
    const std::string unit = found == nullptr ? "" : found->string("unit").value_or("");
    if (unit == "ns") return 1e-9;
    if (unit == "us") return 1e-6;
    if (unit == "sec" || unit == "s" || unit == "seconds") return 1;
    if (!unit.empty() && unit != "ms") {
      keep(Error::invalid_argument(
          fmt::format("{}: '{}' has the unknown unit '{}'", name_, metric, unit)));
    }
    return 1e-3;
  }

  const Json& document_;
  std::string name_;
  Outcome outcome_;
};

/// Settings as schema 1.3 has them: models as items, and the load by phases, of which warm-up is
/// excluded from the results.
void read_phases(const Json& config, BenchResult& r) {
  const Json* models = find_at(config, {"models", "items"});
  if (models != nullptr && models->as_array() != nullptr && !models->as_array()->empty())
    r.model.id = text_at(models->as_array()->front(), {"name"});
  const Json* phases = find_at(config, {"phases"});
  if (phases == nullptr || phases->as_array() == nullptr) return;
  for (const Json& phase : *phases->as_array()) {
    const Json* excluded = find_at(phase, {"exclude_from_results"});
    if (excluded != nullptr && excluded->as_bool() == std::optional<bool>(true)) continue;
    r.load.concurrency = phase.integer("concurrency");
    r.load.asked_per_s = phase.number("rate");
    if (phase.string("type") == "poisson") r.load.burstiness = 1;
  }
}

/// The versions name the same settings in other places; one that is not found is not stated.
void read_settings(const Json& config, BenchResult& r) {
  read_phases(config, r);
  for (const std::string& model : {text_at(config, {"endpoint", "model_names"}),
                                   text_at(config, {"model_names"}), text_at(config, {"model"})}) {
    if (r.model.id.empty()) r.model.id = model;
  }
  if (r.model.id.empty()) r.model.id = "not stated";
  const std::array concurrency{number_at(config, {"loadgen", "concurrency"}),
                               number_at(config, {"perf_analyzer", "stimulus", "concurrency"}),
                               number_at(config, {"concurrency"})};
  const std::array rate{number_at(config, {"loadgen", "request_rate"}),
                        number_at(config, {"perf_analyzer", "stimulus", "request_rate"}),
                        number_at(config, {"request_rate"})};
  for (const auto& value : concurrency) {
    const bool usable = value && *value >= 1 && *value < 1e9;
    if (usable && !r.load.concurrency) r.load.concurrency = std::llround(*value);
  }
  for (const auto& value : rate) {
    if (value && !r.load.asked_per_s) r.load.asked_per_s = value;
  }
}

void read_counts(Metrics& metrics, const Json& document, BenchResult& r) {
  r.load.completed = metrics.count("request_count");
  const auto lost = metrics.count("error_request_count");
  if (r.load.completed) r.load.requests = *r.load.completed + lost.value_or(0);
  r.load.delivered_per_s = metrics.number("request_throughput");
  r.rates.responses = r.load.delivered_per_s;
  r.rates.output_tokens = metrics.number("output_token_throughput");
  r.rates.total_tokens = metrics.number("total_token_throughput");
  if (r.load.completed == std::optional<std::int64_t>(0))
    r.validity.emplace_back("no request was completed");
  if (lost && *lost > 0 && r.load.requests)
    r.validity.push_back(fmt::format("{} of {} requests failed", *lost, *r.load.requests));
  const Json* cancelled = document.find("was_cancelled");
  if (cancelled != nullptr && cancelled->as_bool() == std::optional<bool>(true))
    r.validity.emplace_back("the run was cancelled");
}

void read_tokens(Metrics& metrics, BenchResult& r) {
  r.lengths.mean_input = metrics.number("input_sequence_length");
  r.lengths.mean_output = metrics.number("output_sequence_length");
  if (!r.load.completed || *r.load.completed <= 0) return;
  const auto completed = static_cast<double>(*r.load.completed);
  r.totals.responses = completed;
  r.totals.output_tokens = metrics.number("total_osl");
  if (!r.totals.output_tokens) {
    // Reasoning is counted apart from the answer.
    if (const auto answers = metrics.number("total_output_tokens"))
      r.totals.output_tokens = *answers + metrics.number("total_reasoning_tokens").value_or(0);
  }
  if (!r.totals.output_tokens && r.lengths.mean_output)
    r.totals.output_tokens = *r.lengths.mean_output * completed;
  r.totals.input_tokens = metrics.number("total_isl");
  if (!r.totals.input_tokens && r.lengths.mean_input)
    r.totals.input_tokens = *r.lengths.mean_input * completed;
}

void read_window(Metrics& metrics, const Json& document, std::string_view name,
                 std::optional<Seconds> utc_offset, BenchResult& r) {
  const auto first = metrics.number("min_request_timestamp");
  const auto last = metrics.number("max_response_timestamp");
  if (first && last && *last > *first) {
    const auto begin = ns_of_unix_seconds(*first * 1e-9);
    const auto end = ns_of_unix_seconds(*last * 1e-9);
    if (begin && end) {
      r.window = BenchWindow{*begin, *end, Seconds(1e-3), "first request to last response"};
      return;
    }
  }
  JsonFields fields(document, std::string(name));
  const std::string start_time = fields.text("start_time");
  const std::string end_time = fields.text("end_time");
  metrics.keep(fields.outcome());
  if (start_time.empty() || end_time.empty()) return;
  const auto begin = parse_stamp(start_time, "Y-M-D h:m:s", utc_offset);
  const auto end = parse_stamp(end_time, "Y-M-D h:m:s", utc_offset);
  if (!begin || !end || *end <= *begin) {
    metrics.keep(Error::invalid_argument(
        fmt::format("{}: 'start_time' and 'end_time' are not two stamps in order", name)));
    return;
  }
  r.window = BenchWindow{*begin, *end, Seconds(1e-3), "start_time to end_time"};
}

}  // namespace

bool is_aiperf(const Json& document) {
  if (document.find("input_config") == nullptr) return false;
  // A run in which nothing was completed has no metric but its errors.
  if (document.find("aiperf_version") != nullptr) return true;
  const Json* throughput = document.find("request_throughput");
  return throughput != nullptr && throughput->find("avg") != nullptr;
}

Result<BenchResult> read_aiperf(const Json& document, std::string_view name,
                                std::optional<Seconds> utc_offset) {
  Metrics metrics(document, name);
  BenchResult r;
  const bool newer =
      document.find("aiperf_version") != nullptr || document.find("schema_version") != nullptr ||
      document.find("start_time") != nullptr || document.find("benchmark_duration") != nullptr;
  r.benchmark = newer ? kAiPerf : kGenAiPerf;
  r.origin.file = name;
  r.task = "not stated";
  read_settings(*document.find("input_config"), r);
  read_counts(metrics, document, r);
  read_tokens(metrics, r);
  r.latency.ttft = metrics.summary("time_to_first_token");
  r.latency.tpot = metrics.summary("inter_token_latency");
  r.latency.itl = metrics.summary("inter_chunk_latency");
  r.latency.e2el = metrics.summary("request_latency");
  if (const auto duration = metrics.time("benchmark_duration")) {
    r.totals.duration = duration;
  } else if (r.load.completed && r.load.delivered_per_s && *r.load.delivered_per_s > 0) {
    // The throughput is these requests over that time.
    const double seconds = static_cast<double>(*r.load.completed) / *r.load.delivered_per_s;
    if (std::isfinite(seconds)) r.totals.duration = Seconds(seconds);
  }
  read_window(metrics, document, name, utc_offset, r);
  PJ_CHECK(metrics.outcome());
  return r;
}

}  // namespace perjoule
