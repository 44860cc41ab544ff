#include "serving/board/validity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "base/text.h"
#include "serving/board/gpu_tdp.h"

namespace perjoule {
namespace {

using Group = std::string;

CheckState state_of(bool holds, CheckState otherwise) {
  return holds ? CheckState::kPassed : otherwise;
}

ValidityCheck missing(std::string_view rule, std::string_view what) {
  return {rule, CheckState::kNotChecked, fmt::format("{} not stated", what)};
}

ValidityCheck check_share(std::string_view rule, std::optional<double> share, std::string_view what,
                          double bound, bool at_least, CheckState otherwise) {
  if (!share) return missing(rule, what);
  const bool holds = at_least ? *share >= bound : *share < bound;
  return {rule, state_of(holds, otherwise),
          fmt::format("{}: {}, {} {} wanted", what, percent(*share),
                      at_least ? "at least" : "less than", percent(bound, 0))};
}

/// Lowest and highest reading of a GPU's power within `floor` and `share` of its TDP.
ValidityCheck check_power(std::string_view rule, std::optional<Watts> low,
                          std::optional<Watts> high, Watts floor, double share,
                          const BenchGpus& gpus) {
  if (!low || !high) return missing(rule, "power readings");
  const auto tdp = gpu_tdp(gpus);
  if (!tdp) return missing(rule, fmt::format("TDP of {}", gpus.model));
  const Watts ceiling = *tdp * share;
  return {rule, state_of(*low >= floor && *high <= ceiling, CheckState::kFailed),
          fmt::format("{} to {}, within {} and {} wanted", to_text(*low), to_text(*high),
                      to_text(floor), to_text(ceiling))};
}

/// Where no reading is recorded the mean of the whole run stands in.
ValidityCheck check_average_power(const BenchResult& r) {
  std::optional<Watts> low = r.evidence.average_low;
  std::optional<Watts> high = r.evidence.average_high;
  if (!low && !high && r.power) low = high = *r.power / static_cast<double>(r.gpus.count);
  return check_power("average power", low, high, Watts(70), 1.1, r.gpus);
}

ValidityCheck check_window(const BenchResult& r) {
  constexpr std::string_view kRule = "window";
  constexpr Seconds kShortest(30);
  if (!r.evidence.window) return missing(kRule, "steady state's length");
  return {kRule, state_of(*r.evidence.window >= kShortest, CheckState::kFailed),
          fmt::format("{}, at least {} wanted", to_text(*r.evidence.window), to_text(kShortest))};
}

ValidityCheck check_requests(const BenchResult& r) {
  constexpr std::string_view kRule = "requests";
  if (!r.load.requests || !r.load.completed) return missing(kRule, "completed requests");
  return {kRule, state_of(*r.load.completed >= *r.load.requests, CheckState::kFailed),
          fmt::format("{} of {} completed", *r.load.completed, *r.load.requests)};
}

ValidityCheck check_token(const BenchResult& r) {
  constexpr std::string_view kRule = "energy per token";
  if (!r.energy.output_token) return missing(kRule, kRule);
  const Joules energy = r.energy.output_token->joules;
  return {kRule, state_of(energy.value() > 0 && energy <= Joules(100), CheckState::kFailed),
          fmt::format("{}, above 0 and at most 100 J wanted", to_text(energy))};
}

ValidityCheck check_errors(const BenchResult& r) {
  constexpr std::string_view kRule = "engine";
  if (!r.evidence.engine_errors) return missing(kRule, "engine's log");
  return {kRule, state_of(*r.evidence.engine_errors == 0, CheckState::kFailed),
          counted(static_cast<double>(*r.evidence.engine_errors), "error") + " in the log"};
}

std::optional<double> batch_share(const BenchResult& r) {
  if (!r.batch.mean || !r.batch.max_num_seqs || *r.batch.max_num_seqs < 1) return std::nullopt;
  return *r.batch.mean / static_cast<double>(*r.batch.max_num_seqs);
}

/// Why the result alone is not stable.
std::string instability(const BenchResult& r) {
  constexpr Seconds kShortest(20);
  constexpr double kFullest = 0.85;
  if (r.evidence.window && *r.evidence.window < kShortest) {
    return fmt::format("window of {}, at least {} wanted", to_text(*r.evidence.window),
                       to_text(kShortest));
  }
  if (r.energy.output_token && !(r.energy.output_token->joules.value() > 0))
    return "energy per token is not above 0";
  if (const auto share = batch_share(r); share && *share < kFullest) {
    return fmt::format("mean batch is {} of max_num_seqs, at least {} wanted", percent(*share),
                       percent(kFullest, 0));
  }
  return {};
}

Group group_of(const BenchResult& r) {
  return fmt::format("{}|{}|{}|{}|{}", r.benchmark, r.task, r.model.id, r.gpus.model, r.gpus.count);
}

}  // namespace

std::string_view name_of(CheckState state) {
  constexpr std::array<std::string_view, 4> kNames{"passed", "warned", "failed", "not checked"};
  return kNames[static_cast<std::size_t>(state)];
}

std::vector<ValidityCheck> check_validity(const BenchResult& r, bool largest_batch) {
  const BenchEvidence& e = r.evidence;
  std::vector<ValidityCheck> checks{
      check_window(r),
      check_requests(r),
      check_token(r),
      check_power("instant power", e.instant_low, e.instant_high, Watts(70), 1.7, r.gpus),
      check_average_power(r),
      check_power("memory power", e.memory_low, e.memory_high, Watts(10), 0.5, r.gpus),
      check_share("temperature", e.temperature_outside_share, "samples outside 20 to 95 C", 0.05,
                  false, CheckState::kFailed),
      check_errors(r),
      check_share("sampling", e.sampling_share, "samples of those due", 0.75, true,
                  CheckState::kWarned),
      check_share("mean batch", batch_share(r), "mean batch of max_num_seqs", 0.8, true,
                  CheckState::kWarned),
      check_share("length limit", e.length_limit_share, "responses cut at the longest length", 0.3,
                  false, CheckState::kWarned),
  };
  if (largest_batch) {
    checks.push_back(check_share("cache", e.cache_use, "use of the key-value cache", 0.8, true,
                                 CheckState::kWarned));
  } else {
    checks.push_back({"cache", CheckState::kNotChecked, "meant for the largest batch"});
  }
  return checks;
}

std::size_t count_of(const std::vector<ValidityCheck>& checks, CheckState state) {
  return static_cast<std::size_t>(
      std::count_if(checks.begin(), checks.end(),
                    [state](const ValidityCheck& check) { return check.state == state; }));
}

std::vector<std::string> instabilities(const std::vector<BenchResult>& results) {
  std::vector<std::string> reasons;
  std::map<Group, std::int64_t> lowest_bad;  // batch limit
  for (const BenchResult& r : results) {
    reasons.push_back(instability(r));
    if (reasons.back().empty() || !r.batch.max_num_seqs) continue;
    const auto [at, is_new] = lowest_bad.try_emplace(group_of(r), *r.batch.max_num_seqs);
    if (!is_new) at->second = std::min(at->second, *r.batch.max_num_seqs);
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!reasons[i].empty() || !results[i].batch.max_num_seqs) continue;
    const auto bad = lowest_bad.find(group_of(results[i]));
    if (bad != lowest_bad.end() && *results[i].batch.max_num_seqs > bad->second)
      reasons[i] = fmt::format("max_num_seqs {}, smaller, is not stable", bad->second);
  }
  return reasons;
}

std::vector<bool> largest_batches(const std::vector<BenchResult>& results) {
  const auto key = [](const BenchResult& r) {
    return fmt::format("{}|{}|{}|{}", group_of(r), r.parallel.tensor.value_or(0),
                       r.parallel.expert.value_or(0), r.parallel.data.value_or(0));
  };
  std::map<Group, std::int64_t> largest;
  for (const BenchResult& r : results) {
    auto& most = largest[key(r)];
    most = std::max(most, r.batch.max_num_seqs.value_or(0));
  }
  std::vector<bool> answers;
  answers.reserve(results.size());
  for (const BenchResult& r : results)
    answers.push_back(r.batch.max_num_seqs.value_or(0) >= largest[key(r)]);
  return answers;
}

}  // namespace perjoule
