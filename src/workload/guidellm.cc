#include "workload/guidellm.h"

#include <fmt/format.h>

#include <limits>

#include "workload/civil_time.h"
#include "workload/json_fields.h"

namespace perjoule {
namespace {

/// Distributions of requests that were successful; the first member of another kind is the error.
class Metrics {
 public:
  Metrics(const Json& metrics, std::string where) : metrics_(metrics), where_(std::move(where)) {}

  std::optional<double> number(std::string_view metric, std::string_view member) {
    const Json* found = find_at(metrics_, {metric, "successful"});
    if (found == nullptr) return std::nullopt;
    JsonFields fields(*found, fmt::format("{}: '{}.successful'", where_, metric));
    const auto value = fields.number(member);
    keep(fields.outcome());
    return value;
  }
  LatencySummary summary(std::string_view metric, double factor) {
    const Json* found = find_at(metrics_, {metric, "successful"});
    if (found == nullptr) return {};
    JsonFields fields(*found, fmt::format("{}: '{}.successful'", where_, metric));
    LatencySummary summary;
    summary.mean = fields.latency("mean", factor);
    summary.p50 = fields.latency("median", factor);
    if (const Json* percentiles = fields.object("percentiles")) {
      JsonFields shares(*percentiles, fmt::format("{}: '{}' percentiles", where_, metric));
      summary.p90 = shares.latency("p90", factor);
      summary.p95 = shares.latency("p95", factor);
      summary.p99 = shares.latency("p99", factor);
      keep(shares.outcome());
    }
    keep(fields.outcome());
    return summary;
  }
  void keep(Outcome outcome) {
    if (outcome_) outcome_ = std::move(outcome);
  }
  Outcome outcome() const { return outcome_; }

 private:
  const Json& metrics_;
  std::string where_;
  Outcome outcome_;
};

void read_strategy(const Json& benchmark, BenchResult& r) {
  const Json* strategy = find_at(benchmark, {"config", "strategy"});
  if (strategy == nullptr) strategy = find_at(benchmark, {"args", "strategy"});
  if (strategy == nullptr) return;
  std::string kind = text_at(*strategy, {"type_"});
  if (kind.empty()) kind = text_at(*strategy, {"kind"});
  if (kind == "constant" || kind == "poisson") r.load.asked_per_s = strategy->number("rate");
  if (kind == "poisson") r.load.burstiness = 1;
  if (kind == "throughput") r.load.asked_per_s = std::numeric_limits<double>::infinity();
  if (kind == "concurrent") r.load.concurrency = strategy->integer("streams");
  if (kind == "throughput") r.load.concurrency = strategy->integer("max_concurrency");
  if (kind == "synchronous") r.load.concurrency = 1;
}

void read_model(const Json& benchmark, const Json& report, BenchResult& r) {
  for (const std::string& model :
       {text_at(benchmark, {"config", "backend", "model"}),
        text_at(benchmark, {"worker", "backend_model"}), text_at(report, {"args", "model"}),
        text_at(report, {"config", "spec", "backend", "model"})}) {
    if (r.model.id.empty()) r.model.id = model;
  }
  if (r.model.id.empty()) r.model.id = "not stated";
}

void read_counts(const Json& benchmark, Metrics& metrics, const std::string& where,
                 BenchResult& r) {
  const Json* totals = find_at(benchmark, {"metrics", "request_totals"});
  if (totals == nullptr) totals = find_at(benchmark, {"request_totals"});
  if (totals == nullptr) return;
  JsonFields fields(*totals, where + ": 'request_totals'");
  r.load.completed = fields.integer("successful");
  const auto errored = fields.integer("errored");
  metrics.keep(fields.outcome());
  if (!r.load.completed) return;
  if (*r.load.completed <= 0) r.validity.emplace_back("no request was completed");
  // What was cut off when the time was over was no request of the window.
  r.load.requests = *r.load.completed + errored.value_or(0);
  if (errored && *errored > 0)
    r.validity.push_back(fmt::format("{} of {} requests failed", *errored, *r.load.requests));
}

void read_tokens(Metrics& metrics, BenchResult& r) {
  if (!r.load.completed || *r.load.completed <= 0) return;
  r.totals.responses = static_cast<double>(*r.load.completed);
  r.totals.output_tokens = metrics.number("output_token_count", "total_sum");
  r.totals.input_tokens = metrics.number("prompt_token_count", "total_sum");
  if (r.totals.output_tokens) r.lengths.mean_output = *r.totals.output_tokens / *r.totals.responses;
  if (r.totals.input_tokens) r.lengths.mean_input = *r.totals.input_tokens / *r.totals.responses;
}

/// Over the window. The tool's own means are of the rates between neighbouring events, which of few
/// requests is another figure (0.12 a second of 4 in 24.9 s).
void set_rates(BenchResult& r) {
  if (!r.totals.duration || !r.totals.responses) return;
  const double seconds = r.totals.duration->value();
  r.rates.responses = *r.totals.responses / seconds;
  r.load.delivered_per_s = r.rates.responses;
  if (!r.totals.output_tokens) return;
  r.rates.output_tokens = *r.totals.output_tokens / seconds;
  if (r.totals.input_tokens)
    r.rates.total_tokens = (*r.totals.output_tokens + *r.totals.input_tokens) / seconds;
}

void read_window(const Json& benchmark, BenchResult& r) {
  auto begin = number_at(benchmark, {"scheduler_metrics", "measure_start_time"});
  auto end = number_at(benchmark, {"scheduler_metrics", "measure_end_time"});
  std::string source = "measure_start_time to measure_end_time";
  // -1 stands for a time that was not reached.
  if (!begin || !end || *begin <= 0 || *end <= *begin) {
    begin = number_at(benchmark, {"start_time"});
    end = number_at(benchmark, {"end_time"});
    source = "start_time to end_time";
  }
  if (!begin || !end || !(*end > *begin)) return;
  r.totals.duration = Seconds(*end - *begin);
  const auto begin_ns = ns_of_unix_seconds(*begin);
  const auto end_ns = ns_of_unix_seconds(*end);
  if (begin_ns && end_ns && *end_ns > *begin_ns)
    r.window = BenchWindow{*begin_ns, *end_ns, Seconds(1e-3), std::move(source)};
}

Result<BenchResult> read_benchmark(const Json& benchmark, const Json& report, std::string_view name,
                                   std::size_t row) {
  const std::string where = fmt::format("{}: row {}", name, row);
  const Json* found = benchmark.find("metrics");
  if (found == nullptr || !found->is_object())
    return Error::invalid_argument(where + ": 'metrics' is missing");
  Metrics metrics(*found, where);
  BenchResult r;
  r.benchmark = kGuideLlm;
  r.origin = {std::string(name), row};
  r.task = "not stated";
  read_model(benchmark, report, r);
  read_strategy(benchmark, r);
  read_counts(benchmark, metrics, where, r);
  read_tokens(metrics, r);
  r.latency.ttft = metrics.summary("time_to_first_token_ms", 1e-3);
  r.latency.tpot = metrics.summary("inter_token_latency_ms", 1e-3);
  r.latency.e2el = metrics.summary("request_latency", 1);
  read_window(benchmark, r);
  set_rates(r);
  PJ_CHECK(metrics.outcome());
  return r;
}

}  // namespace

bool is_guidellm(const Json& document) {
  const Json* benchmarks = document.find("benchmarks");
  if (benchmarks == nullptr || benchmarks->as_array() == nullptr) return false;
  if (find_at(document, {"metadata", "guidellm_version"}) != nullptr) return true;
  if (benchmarks->as_array()->empty()) return false;
  const Json& first = benchmarks->as_array()->front();
  return first.find("metrics") != nullptr &&
         (first.find("scheduler_metrics") != nullptr || first.find("run_stats") != nullptr);
}

Result<std::vector<BenchResult>> read_guidellm(const Json& document, std::string_view name) {
  std::vector<BenchResult> results;
  const Json::Array& benchmarks = *document.find("benchmarks")->as_array();
  for (std::size_t i = 0; i < benchmarks.size(); ++i) {
    PJ_TRY(BenchResult result, read_benchmark(benchmarks[i], document, name, i + 1));
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace perjoule
