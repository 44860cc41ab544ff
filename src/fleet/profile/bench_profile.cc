#include "fleet/profile/bench_profile.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "fleet/profile/profile_builder.h"

namespace perjoule {
namespace {

/// Prompt tokens that were served a second, where the result tells.
std::optional<double> prompt_rate(const BenchResult& result) {
  if (result.rates.responses && result.lengths.mean_input)
    return *result.rates.responses * *result.lengths.mean_input;
  if (result.totals.input_tokens && result.totals.duration && result.totals.duration->value() > 0)
    return *result.totals.input_tokens / result.totals.duration->value();
  if (result.rates.total_tokens && result.rates.output_tokens)
    return *result.rates.total_tokens - *result.rates.output_tokens;
  return std::nullopt;
}

/// What the result says and what the caller says, which must not differ.
template <typename T>
Result<std::optional<T>> agreed(const std::optional<T>& told, const std::optional<T>& given,
                                std::string_view what) {
  if (told && given && *told != *given) {
    return Error::invalid_argument(
        fmt::format("{}: the result says {}, and {} is given", what, *told, *given));
  }
  return told ? told : given;
}

Result<int> degree(const std::optional<std::int64_t>& told, const std::optional<int>& given,
                   std::int64_t gpus, std::string_view what, std::string_view option) {
  std::optional<std::int64_t> wanted;
  if (given) wanted = *given;
  PJ_TRY(std::optional<std::int64_t> value, agreed(told, wanted, what));
  // One GPU leaves no choice.
  if (!value && gpus == 1) value = 1;
  if (!value) {
    return Error::invalid_argument(fmt::format("nothing tells its {} on {} GPUs", what, gpus),
                                   fmt::format("state it: {}", option));
  }
  constexpr std::int64_t kMost = 65536;
  if (*value < 1 || *value > kMost)
    return Error::invalid_argument(fmt::format("{} {} is no number of GPUs", what, *value));
  return static_cast<int>(*value);
}

Result<InstanceLayout> layout_of(const BenchResult& result, const BenchProfileOptions& options) {
  InstanceLayout layout;
  layout.model = result.model.id;
  layout.gpu = result.gpus.model.empty() ? result.gpus.name : result.gpus.model;
  if (layout.model.empty() || layout.gpu.empty())
    return Error::invalid_argument("it does not say which model or GPU it is of");
  PJ_TRY(layout.tensor_parallel, degree(result.parallel.tensor, options.tensor_parallel,
                                        result.gpus.count, "tensor parallelism", "--tp"));
  // An engine that says its tensor degree and no other runs without a pipeline when that takes all
  // GPUs.
  std::optional<std::int64_t> pipeline = result.parallel.pipeline;
  if (!pipeline && !options.pipeline_parallel && layout.tensor_parallel == result.gpus.count)
    pipeline = 1;
  PJ_TRY(layout.pipeline_parallel, degree(pipeline, options.pipeline_parallel, result.gpus.count,
                                          "pipeline parallelism", "--pp"));
  const std::int64_t product =
      std::int64_t{layout.tensor_parallel} * std::int64_t{layout.pipeline_parallel};
  if (product != result.gpus.count) {
    return Error::invalid_argument(
        fmt::format("{} is not what its {} GPUs are: one instance is wanted", text_of(layout),
                    result.gpus.count),
        "profile a single instance, without data parallelism");
  }
  return layout;
}

Result<double> clock_of(const BenchResult& result, const BenchProfileOptions& options) {
  std::optional<double> told;
  for (const char* name : {"clock", "clock_mhz", "gpu clock"}) {
    if (!told) told = result.settings.number(name);
  }
  PJ_TRY(const std::optional<double> clock, agreed(told, options.clock_mhz, "clock, MHz"));
  if (clock && *clock > 0) return *clock;
  return Error::invalid_argument("nothing tells the clock that its GPUs ran at",
                                 "state it: --clock 1410MHz, or --setting clock=1410 at bench run");
}

LatencyFigures figures_of(const LatencySummary& summary) {
  LatencyFigures figures;
  const auto take = [&](LatencyStatistic statistic, const std::optional<Seconds>& value) {
    if (value) figures[statistic] = *value;
  };
  take(LatencyStatistic::kMean, summary.mean);
  take(LatencyStatistic::kP90, summary.p90);
  take(LatencyStatistic::kP99, summary.p99);
  return figures;
}

Result<ProfileRow> row_of(const BenchResult& result, const BenchProfileOptions& options) {
  ProfileRow row;
  row.where = text_of(result.origin);
  PJ_TRY(row.curve.layout, layout_of(result, options));
  PJ_TRY(row.curve.clock_mhz, clock_of(result, options));
  row.curve.load_class = options.load_class;
  const Energy* energy = unit_energy(result);
  const bool is_known =
      energy != nullptr && energy->status != Status::kMissing && energy->status != Status::kZero;
  row.curve.status = is_known ? energy->status : Status::kReconstructed;
  row.curve.origin =
      "benchmark results, " + (result.benchmark.empty() ? "unnamed" : result.benchmark);
  const auto load = prompt_rate(result);
  if (!load) {
    return Error::invalid_argument("it does not tell how many prompt tokens it served a second",
                                   "a result with response rate and mean input length is wanted");
  }
  row.point.load = *load;
  if (!result.power) {
    return Error::invalid_argument("it has no power", "join it with a log: perjoule bench join");
  }
  row.point.power = *result.power;
  row.point.ttft = figures_of(result.latency.ttft);
  row.point.tbt = figures_of(result.latency.itl);
  return row;
}

}  // namespace

Result<ServingProfile> profile_of_results(const std::vector<BenchResult>& results,
                                          const BenchProfileOptions& options) {
  ProfileBuilder builder;
  std::size_t taken = 0;
  for (const BenchResult& result : results) {
    if (result.kind != BenchKind::kText || !result.validity.empty()) {
      builder.note(fmt::format(
          "left out: {}: {}", text_of(result.origin),
          result.validity.empty() ? "its answers are no text" : result.validity.front()));
      continue;
    }
    Result<ProfileRow> row = row_of(result, options);
    if (!row) return fail(row, text_of(result.origin));
    PJ_CHECK(builder.add(std::move(*row)));
    ++taken;
  }
  if (taken == 0) return Error::not_found("no benchmark result that a profile could be made of");
  return std::move(builder).finish();
}

}  // namespace perjoule
