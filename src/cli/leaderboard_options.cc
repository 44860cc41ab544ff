#include "cli/leaderboard_options.h"

#include <fmt/format.h>

#include "base/text.h"

namespace perjoule::cli {
namespace {

Result<std::vector<std::int64_t>> counts(const Arguments& arguments) {
  PJ_TRY(const std::vector<std::string> words, arguments.list("gpu-count"));
  std::vector<std::int64_t> read;
  for (const std::string& word : words) {
    const auto count = parse_integer(word);
    if (!count || *count < 1)
      return Error::invalid_argument(fmt::format("--gpu-count {}: not a number of GPUs", word));
    read.push_back(*count);
  }
  return read;
}

template <typename Q>
Result<std::optional<Q>> positive(const Arguments& arguments, std::string_view option,
                                  Result<Q> (*parse)(std::string_view)) {
  PJ_TRY(const std::optional<Q> value, arguments.read<Q>(option, parse));
  if (value && !(value->value() > 0)) {
    return Error::invalid_argument(
        fmt::format("--{} {}: not above 0", option, arguments.value(option)));
  }
  return value;
}

Result<BoardQuery> query_from(const Arguments& arguments) {
  BoardQuery query;
  const std::string by = arguments.value("by");
  if (by != "token" && by != "response") {
    return Error::invalid_argument(fmt::format("--by {}: ranked by what?", by),
                                   "token or response is wanted");
  }
  query.per = by == "response" ? EnergyPer::kResponse : EnergyPer::kUnit;
  PJ_TRY(query.metric, arguments.read<LatencyMetric>("metric", parse_latency_metric));
  PJ_TRY(query.deadline, positive<Seconds>(arguments, "deadline", parse_seconds));
  PJ_TRY(query.energy_budget, positive<Joules>(arguments, "energy-budget", parse_joules));
  return query;
}

}  // namespace

std::vector<Option> leaderboard_options() {
  return {
      {"task", "TASK,...", "these tasks only", "", true},
      {"model", "MODEL,...", "models by id or nickname, or by a part of the id", "", true},
      {"gpu", "GPU,...", "results on these GPUs: H100", "", true},
      {"gpu-count", "COUNT,...", "on so many of them", "", true},
      {"precision", "WORD,...", "of the weights: bfloat16", "", true},
      {"architecture", "WORD,...", "architectures by name or part of it: MoE", "", true},
      {"benchmark", "WORD,...", "results of these benchmarks, by name or part of it: v3", "", true},
      {"deadline", "TIME",
       "longest latency, inclusive; 500 ms for text, 30 s for an image, 300 s for a video when not "
       "given"},
      {"metric", "LATENCY",
       "which latency: mean, median, p90, p95 or p99 of itl, ttft, tpot or e2el, as p95-itl; or "
       "batch"},
      {"energy-budget", "ENERGY", "most energy of what is ranked by, inclusive"},
      {"by", "token|response", "the energy to rank text by", "token"},
      {"frontier", "MODEL", "one model's time-energy frontier instead, and the choice on it"},
      {"all", "", "with --frontier: dominated configurations too"},
      {"context", "", "more of what a figure depends on: engine, parallelism, load, origin"},
      {"tdp", "", "what an estimate from thermal design power would have said"},
      {"validity", "", "the checks of each figure, and those that could not be made"},
      {"valid-only", "", "leave out results that fail a check or are not stable"},
      {"together", "", "rank results of unlike benchmarks in one table"},
      {"skip-bad", "", "leave out files that cannot be read, and say so, rather than fail"},
      {"claims", "", "published claims, recomputed from these results"},
      {"claim", "NAME", "one of them, with every figure", "", true},
  };
}

Result<LeaderboardWords> leaderboard_words(const Arguments& arguments) {
  LeaderboardWords words;
  ResultFilter& filter = words.filter;
  PJ_TRY(filter.benchmarks, arguments.list("benchmark"));
  PJ_TRY(filter.tasks, arguments.list("task"));
  PJ_TRY(filter.gpus, arguments.list("gpu"));
  PJ_TRY(filter.gpu_counts, counts(arguments));
  PJ_TRY(filter.models, arguments.list("model"));
  PJ_TRY(filter.precisions, arguments.list("precision"));
  PJ_TRY(filter.architectures, arguments.list("architecture"));
  if (arguments.has("frontier")) {
    if (!filter.models.empty())
      return Error::invalid_argument("--frontier names the model, and so does --model", "give one");
    filter.models.push_back(arguments.value("frontier"));
  }
  PJ_TRY(words.query, query_from(arguments));
  return words;
}

}  // namespace perjoule::cli
