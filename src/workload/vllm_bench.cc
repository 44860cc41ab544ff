#include "workload/vllm_bench.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "workload/civil_time.h"
#include "workload/json_fields.h"
#include "workload/sample_summary.h"

namespace perjoule {
namespace {

constexpr double kMs = 1e-3;

LatencySummary read_summary(JsonFields& fields, const std::string& name) {
  LatencySummary summary;
  summary.mean = fields.latency("mean_" + name + "_ms", kMs);
  summary.p50 = fields.latency("median_" + name + "_ms", kMs);
  summary.p90 = fields.latency("p90_" + name + "_ms", kMs);
  summary.p95 = fields.latency("p95_" + name + "_ms", kMs);
  summary.p99 = fields.latency("p99_" + name + "_ms", kMs);
  return summary;
}

/// Whether the request of that place ended in an error.
bool failed(const Json::Array* errors, std::size_t request) {
  if (errors == nullptr || request >= errors->size()) return false;
  const std::string* text = (*errors)[request].as_string();
  return text != nullptr && !text->empty();
}

/// Gaps between tokens of all requests that succeeded, from --save-detailed, where the summary
/// lacks percentiles.
void complete_itl(const Json::Array& requests, const Json::Array* errors, JsonFields& fields,
                  LatencySummary& itl) {
  std::vector<double> gaps;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (failed(errors, i)) continue;
    const Json::Array* own = requests[i].as_array();
    if (own == nullptr) return fields.refuse("itls", "an array of arrays");
    for (const Json& gap : *own) {
      if (gap.is_null()) continue;  // NaN
      const auto value = gap.as_number();
      if (!value) return fields.refuse("itls", "an array of arrays of numbers");
      gaps.push_back(*value);
    }
  }
  if (gaps.empty()) return;
  const LatencySummary all = summary_of(std::move(gaps));
  if (!itl.mean) itl.mean = all.mean;
  if (!itl.p50) itl.p50 = all.p50;
  if (!itl.p90) itl.p90 = all.p90;
  if (!itl.p95) itl.p95 = all.p95;
  if (!itl.p99) itl.p99 = all.p99;
}

void read_lengths(const Json::Array& lengths, const Json::Array* errors, JsonFields& fields,
                  BenchResult& r) {
  std::vector<double> outputs;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (failed(errors, i) || lengths[i].is_null()) continue;
    const auto value = lengths[i].as_number();
    if (!value) return fields.refuse("output_lens", "an array of numbers");
    outputs.push_back(*value);
  }
  if (!outputs.empty()) r.lengths.outputs = histogram_of(outputs);
}

void read_requests(JsonFields& fields, const Json& document, BenchResult& r) {
  const Json::Array* errors = fields.array("errors");
  if (const Json::Array* itls = fields.array("itls"))
    complete_itl(*itls, errors, fields, r.latency.itl);
  // A benchmark of embeddings writes 0 instead of a list.
  const Json* lengths = document.find("output_lens");
  if (lengths != nullptr && lengths->as_array() != nullptr)
    read_lengths(*lengths->as_array(), errors, fields, r);
}

void read_load(JsonFields& fields, BenchResult& r) {
  r.load.asked_per_s = fields.rate("request_rate");
  r.load.burstiness = fields.number("burstiness");
  r.load.concurrency = fields.integer("max_concurrency");
  r.load.requests = fields.integer("num_prompts");
  r.load.completed = fields.needed_integer("completed");
  r.load.delivered_per_s = fields.number("request_throughput");
  std::optional<std::int64_t> lost = fields.integer("failed");
  if (lost) {
    r.load.requests = *r.load.completed + *lost;
  } else if (r.load.requests) {
    lost = *r.load.requests - *r.load.completed;
  }
  if (*r.load.completed <= 0) {
    r.validity.emplace_back("no request was completed");
  } else if (lost && *lost > 0) {
    r.validity.push_back(fmt::format("{} of {} requests failed", *lost, *r.load.requests));
  }
}

void read_tokens(JsonFields& fields, BenchResult& r) {
  const auto input = fields.number("total_input_tokens");
  const auto output = fields.number("total_output_tokens");
  const auto completed = static_cast<double>(r.load.completed.value_or(0));
  if (!(completed > 0)) return;
  r.totals = {output, input, completed};
  if (input) r.lengths.mean_input = *input / completed;
  if (output) r.lengths.mean_output = *output / completed;
  r.rates.output_tokens = fields.number("output_throughput");
  r.rates.total_tokens = fields.number("total_token_throughput");
  r.rates.responses = r.load.delivered_per_s;
}

void read_window(JsonFields& fields, double duration, std::optional<Seconds> utc_offset,
                 BenchResult& r) {
  constexpr Seconds kKnown{2};
  constexpr std::int64_t kAfterward = 1'000'000'000;
  // 0 is no time that is known.
  const double first = fields.number("benchmark_start_time_unix").value_or(0);
  const double last = fields.number("benchmark_end_time_unix").value_or(0);
  const auto begin = ns_of_unix_seconds(first);
  const auto until = ns_of_unix_seconds(last);
  if (begin && until && *until > *begin) {
    r.window = BenchWindow{*begin, *until, Seconds(1e-3), "benchmark_start_time_unix to end"};
    return;
  }
  const std::string date = fields.text("date");
  if (date.empty() || !(duration > 0)) return;
  const auto stamp = parse_stamp(date, "YMD-hms", utc_offset);
  if (!stamp) return fields.refuse("date", "of the form YYYYMMDD-HHMMSS");
  const std::int64_t end = *stamp - kAfterward;
  constexpr double kLongest = 3e7;  // s: a year, beyond which a duration is none
  if (!(duration < kLongest)) return fields.refuse("duration", "a time");
  r.window = BenchWindow{end - std::llround(duration * 1e9), end, kKnown,
                         "date as the end, less duration"};
}

}  // namespace

bool is_vllm_bench(const Json& document) {
  for (const char* member : {"date", "model_id", "num_prompts", "completed", "duration"}) {
    if (document.find(member) == nullptr) return false;
  }
  return document.find("steady_state_energy_per_token") == nullptr;  // ML.ENERGY's grew out of it
}

Result<BenchResult> read_vllm_bench(const Json& document, std::string_view name,
                                    std::optional<Seconds> utc_offset) {
  JsonFields fields(document, std::string(name));
  BenchResult r;
  r.benchmark = kVllmBench;
  r.origin.file = name;
  r.task = "not stated";
  r.model.id = fields.needed_text("model_id");
  // The client's name for the server's protocol; "openai" may be any engine.
  const std::string backend = fields.text("backend");
  if (!starts_with_ignoring_case(backend, "openai")) r.engine.name = backend;
  read_load(fields, r);
  read_tokens(fields, r);
  r.latency.ttft = read_summary(fields, "ttft");
  r.latency.tpot = read_summary(fields, "tpot");
  r.latency.itl = read_summary(fields, "itl");
  r.latency.e2el = read_summary(fields, "e2el");
  read_requests(fields, document, r);
  const double duration = fields.needed_number("duration");
  if (duration > 0) r.totals.duration = Seconds(duration);
  read_window(fields, duration, utc_offset, r);
  PJ_CHECK(fields.outcome());
  return r;
}

}  // namespace perjoule
