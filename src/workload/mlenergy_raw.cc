#include "workload/mlenergy_raw.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "workload/civil_time.h"
#include "workload/json_fields.h"
#include "workload/sample_summary.h"

namespace perjoule {
namespace {

constexpr double kMs = 1e-3;

/// ".../run/llm/gpqa/results/..." names the task.
std::string task_of(std::string_view path) {
  const auto parts = split(path, '/');
  for (std::size_t i = 0; i + 2 < parts.size(); ++i) {
    if ((parts[i] == "llm" || parts[i] == "mllm") && parts[i + 2] == "results")
      return std::string(parts[i + 1]);
  }
  return "not stated";
}

LatencySummary read_summary(JsonFields& fields, const std::string& name) {
  LatencySummary summary;
  summary.mean = fields.number<Seconds>("mean_" + name + "_ms", kMs);
  summary.p50 = fields.number<Seconds>("median_" + name + "_ms", kMs);
  summary.p90 = fields.number<Seconds>("p90_" + name + "_ms", kMs);
  summary.p95 = fields.number<Seconds>("p95_" + name + "_ms", kMs);
  summary.p99 = fields.number<Seconds>("p99_" + name + "_ms", kMs);
  return summary;
}

/// What the requests tell: gaps of all that succeeded, their lengths, and how many were cut.
struct Requests {
  std::vector<double> gaps;
  std::vector<double> lengths;
  std::size_t at_limit = 0;
};

Result<Requests> read_requests(const Json::Array& rows, std::string_view name,
                               std::optional<double> longest) {
  Requests requests;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    JsonFields fields(rows[i], fmt::format("{}: results, row {}", name, i + 1));
    PJ_CHECK(fields.outcome());
    const Json* success = rows[i].find("success");
    const auto length = fields.number("output_len");
    const Json::Array* gaps = fields.array("itl");
    PJ_CHECK(fields.outcome());
    if (success != nullptr && success->as_bool() == false) continue;
    if (length && std::isfinite(*length)) {
      requests.lengths.push_back(*length);
      if (longest && *length >= *longest) ++requests.at_limit;
    }
    if (gaps == nullptr) continue;
    std::vector<double> own;
    for (const Json& gap : *gaps) {
      const auto value = gap.as_number();
      if (!value) fields.refuse("itl", "an array of numbers");
      own.push_back(value.value_or(0));
    }
    PJ_CHECK(fields.outcome());
    const std::vector<double> repaired = repaired_gaps(own);
    requests.gaps.insert(requests.gaps.end(), repaired.begin(), repaired.end());
  }
  return requests;
}

/// Calls `take` with every sample of every GPU in [from, until].
template <typename F>
void each_sample(const Json* by_gpu, double from, double until, F&& take) {
  if (by_gpu == nullptr || by_gpu->as_object() == nullptr) return;
  for (const auto& [gpu, samples] : *by_gpu->as_object()) {
    if (samples.as_array() == nullptr) continue;
    for (const Json& sample : *samples.as_array()) {
      const Json::Array* pair = sample.as_array();
      if (pair == nullptr || pair->size() != 2) continue;
      const auto time = (*pair)[0].as_number();
      const auto value = (*pair)[1].as_number();
      if (time && value && *time >= from && *time <= until) take(*value);
    }
  }
}

void read_extremes(const Json* by_gpu, double from, double until, std::optional<Watts>& low,
                   std::optional<Watts>& high, std::size_t* count = nullptr) {
  each_sample(by_gpu, from, until, [&](double watts) {
    low = std::min(low.value_or(Watts(watts)), Watts(watts));
    high = std::max(high.value_or(Watts(watts)), Watts(watts));
    if (count != nullptr) ++*count;
  });
}

void read_timeline(const Json& timeline, const BenchResult& r, BenchEvidence& evidence) {
  const double from = timeline.number("steady_state_start").value_or(-INFINITY);
  const double until = timeline.number("steady_state_end").value_or(INFINITY);
  if (const Json* power = timeline.find("power")) {
    std::size_t samples = 0;
    read_extremes(power->find("device_instant"), from, until, evidence.instant_low,
                  evidence.instant_high, &samples);
    read_extremes(power->find("device_average"), from, until, evidence.average_low,
                  evidence.average_high);
    read_extremes(power->find("memory_average"), from, until, evidence.memory_low,
                  evidence.memory_high);
    constexpr double kEvery = 0.1;  // s: the benchmark's pace of power samples
    const double due = (until - from) / kEvery * static_cast<double>(r.gpus.count);
    if (samples > 0 && std::isfinite(due) && due > 0)
      evidence.sampling_share = static_cast<double>(samples) / due;
  }
  std::size_t temperatures = 0;
  std::size_t outside = 0;
  each_sample(timeline.find("temperature"), from, until, [&](double celsius) {
    ++temperatures;
    if (!(celsius >= 20 && celsius <= 95)) ++outside;
  });
  if (temperatures > 0) {
    evidence.temperature_outside_share =
        static_cast<double>(outside) / static_cast<double>(temperatures);
  }
}

/// The window of steady state and what was made in it, where the timeline's stamps are unix time.
void read_window(const Json& timeline, double output_tokens, BenchResult& r) {
  const auto begin = timeline.number("steady_state_start");
  const auto end = timeline.number("steady_state_end");
  if (!begin || !end || !(*end > *begin)) return;
  const auto begin_ns = ns_of_unix_seconds(*begin);
  const auto end_ns = ns_of_unix_seconds(*end);
  if (!begin_ns || !end_ns) return;
  r.window = BenchWindow{*begin_ns, *end_ns, Seconds(1e-3), "the timeline's steady state"};
  r.totals.output_tokens = output_tokens;
  r.totals.duration = r.evidence.window;
}

/// Figures of the whole run from its counts of tokens.
void read_tokens(JsonFields& fields, double joules_per_token, BenchResult& r) {
  const auto completed = fields.number("completed");
  const auto input = fields.number("total_input_tokens");
  const auto output = fields.number("total_output_tokens");
  if (!completed || !(*completed > 0)) return;
  if (input) r.lengths.mean_input = *input / *completed;
  if (!output) return;
  r.lengths.mean_output = *output / *completed;
  r.energy.response =
      published_energy(Joules(joules_per_token * *r.lengths.mean_output), kMlEnergyRaw);
}

/// The sum over the GPUs must be the energy that is written beside it.
void check_sum(const Json& document, double steady_energy, BenchResult& r) {
  const Json* measurement = document.find("steady_state_measurement");
  const Json* by_gpu = measurement == nullptr ? nullptr : measurement->find("gpu_energy");
  if (by_gpu == nullptr || by_gpu->as_object() == nullptr) return;
  double sum = 0;
  for (const auto& [gpu, joules] : *by_gpu->as_object()) sum += joules.as_number().value_or(0);
  if (!(std::abs(sum / steady_energy - 1) <= 1e-9)) {
    r.validity.push_back(fmt::format("steady_state_energy {} J is not the sum over the GPUs, {} J",
                                     exact(steady_energy), exact(sum)));
  }
}

}  // namespace

std::vector<double> repaired_gaps(const std::vector<double>& gaps) {
  std::vector<double> repaired;
  for (std::size_t i = 0; i < gaps.size();) {
    if (!(gaps[i] > 0)) {
      ++i;  // before the first gap: what the first chunk held
      continue;
    }
    std::size_t zeros = 0;
    while (i + 1 + zeros < gaps.size() && !(gaps[i + 1 + zeros] > 0)) ++zeros;
    repaired.insert(repaired.end(), zeros + 1, gaps[i] / static_cast<double>(zeros + 1));
    i += zeros + 1;
  }
  return repaired;
}

bool is_mlenergy_raw(const Json& document) {
  return document.find("steady_state_energy_per_token") != nullptr &&
         document.find("max_num_seqs") != nullptr;
}

Result<BenchResult> read_mlenergy_raw(const Json& document, std::string_view name) {
  JsonFields fields(document, std::string(name));
  BenchResult r;
  r.benchmark = kMlEnergyRaw;
  r.origin.file = name;
  r.task = task_of(name);
  r.model.id = fields.needed_text("model_id");
  r.engine.name = fields.text("engine");
  r.gpus.name = fields.needed_text("gpu_model");
  r.gpus.model = short_gpu_name(r.gpus.name);
  r.gpus.count = fields.integer("num_gpus").value_or(1);
  if (r.gpus.count < 1) fields.refuse("num_gpus", "a count above 0");
  r.batch.max_num_seqs = fields.integer("max_num_seqs");
  r.load.asked_per_s = fields.rate("request_rate");
  r.load.burstiness = fields.number("burstiness");
  r.load.concurrency = fields.integer("max_concurrency");
  r.load.requests = fields.integer("num_prompts");
  r.load.completed = fields.integer("completed");
  r.load.delivered_per_s = fields.number("request_throughput");
  const double per_token = fields.needed_number("steady_state_energy_per_token");
  const double energy = fields.needed_number("steady_state_energy");
  const double duration = fields.needed_number("steady_state_duration");
  r.energy.output_token = published_energy(Joules(per_token), kMlEnergyRaw);
  r.evidence.window = Seconds(duration);
  if (duration > 0 && per_token > 0) {
    r.power = Watts(energy / duration);
    r.rates.output_tokens = energy / per_token / duration;
  }
  read_tokens(fields, per_token, r);
  r.latency.ttft = read_summary(fields, "ttft");
  r.latency.tpot = read_summary(fields, "tpot");
  r.latency.itl = read_summary(fields, "itl");
  r.latency.e2el = read_summary(fields, "e2el");
  const Json* limit = document.find("max_output_tokens");
  const auto longest = limit == nullptr ? std::nullopt : limit->as_number();
  const Json::Array* rows = fields.array("results");
  PJ_CHECK(fields.outcome());
  if (rows != nullptr) {
    PJ_TRY(Requests requests, read_requests(*rows, name, longest));
    if (!requests.gaps.empty()) r.latency.itl = summary_of(std::move(requests.gaps));
    if (!requests.lengths.empty()) {
      r.lengths.outputs = histogram_of(requests.lengths);
      if (longest) {
        r.evidence.length_limit_share =
            static_cast<double>(requests.at_limit) / static_cast<double>(requests.lengths.size());
      }
    }
  }
  if (const Json* timeline = document.find("timeline")) {
    read_timeline(*timeline, r, r.evidence);
    if (per_token > 0) read_window(*timeline, energy / per_token, r);
  }
  check_sum(document, energy, r);
  if (r.load.requests && r.load.completed && *r.load.completed < *r.load.requests) {
    r.validity.push_back(fmt::format("{} of {} requests failed",
                                     *r.load.requests - *r.load.completed, *r.load.requests));
  }
  return r;
}

}  // namespace perjoule
