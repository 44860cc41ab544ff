#include "serving/board/claims_of_trends.h"

#include <fmt/format.h>

#include "base/text.h"
#include "serving/board/claim_rows.h"
#include "workload/mlenergy_v2.h"
#include "workload/mlenergy_v3.h"

namespace perjoule {
namespace {

std::string task_of(const BenchResult& r) { return r.task; }
std::string model_of(const BenchResult& r) { return r.model.id; }

double median_itl(const BenchResult& r) { return r.latency.itl.p50->value(); }

/// Fastest over most throughput, of each group.
template <typename Key>
std::vector<double> spreads(const ClaimRows& rows, Key&& key) {
  std::vector<double> ratios;
  for (const ClaimRows& group : rows_by(rows, key)) {
    const BenchResult& fastest = least_of(group, median_itl);
    const BenchResult& widest =
        least_of(group, [](const BenchResult& r) { return -*r.rates.output_tokens; });
    ratios.push_back(joules_per_unit(fastest) / joules_per_unit(widest));
  }
  return ratios;
}

double share_of_tdp(const BenchResult& r) {
  const auto estimate = tdp_estimate(r);
  return estimate ? 1 / estimate->ratio : 0;
}

/// The median over those whose TDP is known; none where there are none.
std::optional<double> median_share(const ClaimRows& rows) {
  std::vector<double> shares;
  for (const BenchResult* r : rows) {
    if (tdp_estimate(*r)) shares.push_back(share_of_tdp(*r));
  }
  if (shares.empty()) return std::nullopt;
  return median_of(std::move(shares));
}

/// "org/Model-Thinking-2507" without its word: the two variants of one model are then the same.
std::string without(std::string name, std::string_view word) {
  const std::size_t at = name.find(word);
  return at == std::string::npos ? name : name.erase(at, word.size());
}

/// Gains of one step between two GPUs in one task.
struct Step {
  std::vector<double> gains;
  double saving = 0;  ///< how many of them are above 1
};

Step step_between(const ClaimRows& task, std::string_view older, std::string_view newer) {
  Step step;
  for (const ClaimRows& model : rows_by(task, model_of)) {
    const auto on = [&](std::string_view gpu) {
      return rows_where(model, [&](const BenchResult& r) { return r.gpus.model == gpu; });
    };
    const ClaimRows before = on(older);
    const ClaimRows after = on(newer);
    if (before.empty() || after.empty()) continue;
    // The second generation is told per response, the third per token.
    const auto measure = [](const BenchResult& r) {
      return r.benchmark == kMlEnergyV2 ? joules_per_response(r) : joules_per_unit(r);
    };
    step.gains.push_back(measure(least_of(before, measure)) / measure(least_of(after, measure)));
    if (step.gains.back() > 1) ++step.saving;
  }
  return step;
}

}  // namespace

ClaimAnswer recompute_tokens_per_watt(const std::vector<BenchResult>& results) {
  ClaimAnswer answer;
  const ClaimRows rows = rows_where(results, [](const BenchResult& r) {
    return r.benchmark == kMlEnergyV3 && r.kind == BenchKind::kText && r.latency.itl.p50 &&
           r.rates.output_tokens;
  });
  if (rows.empty()) return answer;
  const std::vector<double> ratios = spreads(rows, task_model_gpu);
  const auto with_count = spreads(rows, [](const BenchResult& r) {
    return task_model_gpu(r) + "|" + std::to_string(r.gpus.count);
  });
  const double groups = static_cast<double>(ratios.size());
  answer.figures.push_back(
      {"highest", 20, *std::max_element(ratios.begin(), ratios.end()), "x", 0.5});
  answer.figures.push_back(
      {fmt::format("median of {}", counted(groups, "group")), {}, median_of(ratios), "x"});
  answer.figures.push_back({fmt::format("median of {}, by number of GPUs too",
                                        counted(static_cast<double>(with_count.size()), "group")),
                            {},
                            median_of(with_count),
                            "x"});
  double above = 0;
  for (const double ratio : ratios) above += ratio >= 20 ? 1 : 0;
  answer.figures.push_back({"groups of 20 x and more", {}, 100 * above / groups, "%"});
  answer.verdict = ClaimVerdict::kInPart;
  answer.reason =
      "20 x and more is seen only of models of 235e9 parameters on four or eight GPUs, whose "
      "fastest "
      "configuration serves eight requests at once; the usual spread is a third of that";
  return answer;
}

ClaimAnswer recompute_reasoning(const std::vector<BenchResult>& results) {
  ClaimAnswer answer;
  const auto of_task = [&](std::string_view task) {
    return rows_where(results, [&](const BenchResult& r) {
      return r.benchmark == kMlEnergyV3 && r.task == task && r.energy.response;
    });
  };
  const std::vector<ClaimRows> chats = rows_by(of_task("lm-arena-chat"), model_of);
  std::vector<double> ratios;
  for (const ClaimRows& reasoning : rows_by(of_task("gpqa"), model_of)) {
    const std::string id = reasoning.front()->model.id;
    for (const ClaimRows& chat : chats) {
      if (without(chat.front()->model.id, "-Instruct") != without(id, "-Thinking")) continue;
      const double ratio = joules_per_response(least_of(reasoning, joules_per_unit)) /
                           joules_per_response(least_of(chat, joules_per_unit));
      ratios.push_back(ratio);
      answer.figures.push_back({id, {}, ratio, "x"});
    }
  }
  if (ratios.empty()) return answer;
  const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
  answer.figures.push_back({"lowest", {}, *low, "x"});
  answer.figures.push_back({"median", {}, median_of(ratios), "x"});
  answer.figures.push_back({"highest", {}, *high, "x"});
  answer.verdict = *low > 1 ? ClaimVerdict::kReproduced : ClaimVerdict::kInPart;
  answer.reason =
      "energy per response of each model's most frugal configuration per token, on any GPU: "
      "answers are longer, and of long ones fewer are served at once";
  return answer;
}

ClaimAnswer recompute_near_tdp(const std::vector<BenchResult>& results) {
  ClaimAnswer answer;
  std::optional<double> lowest_media;
  std::optional<double> highest_text;
  for (const std::string_view gpu : {"H100", "A100-40GB"}) {
    const auto on = [&](bool text) {
      return rows_where(results, [&](const BenchResult& r) {
        return r.benchmark == kMlEnergyV2 && r.gpus.model == gpu &&
               (r.kind == BenchKind::kText) == text && r.task != "visual-chat";
      });
    };
    if (const auto share = median_share(on(false))) {
      answer.figures.push_back(
          {fmt::format("v2, {}, diffusion: median share of TDP", gpu), {}, 100 * *share, "%"});
      lowest_media = std::min(lowest_media.value_or(*share), *share);
    }
    if (const auto share = median_share(on(true))) {
      answer.figures.push_back(
          {fmt::format("v2, {}, language: median share of TDP", gpu), {}, 100 * *share, "%"});
      highest_text = std::max(highest_text.value_or(*share), *share);
    }
  }
  const ClaimRows chat = rows_where(results, [](const BenchResult& r) {
    return r.benchmark == kMlEnergyV3 && r.task == "lm-arena-chat";
  });
  ClaimRows optima;
  for (const ClaimRows& group : rows_by(chat, task_model_gpu))
    optima.push_back(&least_of(group, joules_per_unit));
  const auto third = median_share(optima);
  if (third) {
    answer.figures.push_back(
        {"v3, chat, energy-optimal: median share of TDP", {}, 100 * *third, "%"});
  }
  for (const auto& [generation, task] :
       {std::pair(kMlEnergyV2, "chat"), std::pair(kMlEnergyV3, "lm-arena-chat")}) {
    const ClaimRows llama =
        rows_where(results, [&, g = generation, t = task](const BenchResult& r) {
          return r.benchmark == g && r.task == t && r.gpus.model == "H100" && r.gpus.count == 1 &&
                 r.batch.max_num_seqs == 512 &&
                 r.model.id.find("Llama-3.1-8B") != std::string::npos;
        });
    if (llama.empty() || !llama.front()->power) continue;
    answer.figures.push_back({fmt::format("{}: Llama 3.1 8B, H100, max_num_seqs 512", generation),
                              {},
                              llama.front()->power->value(),
                              "W"});
    answer.figures.push_back({fmt::format("{}: the same, per output token", generation),
                              {},
                              joules_per_unit(*llama.front()),
                              "J"});
  }
  if (answer.figures.empty()) return answer;
  const bool then = lowest_media && highest_text && *lowest_media > 0.9 && *highest_text < 0.6;
  const bool still = !third || *third < 0.6;
  answer.verdict = then && still ? ClaimVerdict::kReproduced
                   : then        ? ClaimVerdict::kInPart
                   : third       ? ClaimVerdict::kDiffers
                                 : ClaimVerdict::kNotInData;
  answer.reason =
      "so in the data of 2024; with the engines of 2025 the most frugal configurations of language "
      "models run near TDP too";
  return answer;
}

ClaimAnswer recompute_newer_gpu(const std::vector<BenchResult>& results) {
  ClaimAnswer answer;
  bool all = true;
  bool medians = true;
  const auto add = [&](std::string_view benchmark, std::string_view older, std::string_view newer) {
    const ClaimRows rows =
        rows_where(results, [&](const BenchResult& r) { return r.benchmark == benchmark; });
    for (const ClaimRows& task : rows_by(rows, task_of)) {
      const Step step = step_between(task, older, newer);
      if (step.gains.empty()) continue;
      const double models = static_cast<double>(step.gains.size());
      const auto [low, high] = std::minmax_element(step.gains.begin(), step.gains.end());
      answer.figures.push_back(
          {fmt::format("{} to {}, {}: median gain ({} of {} save, {:.2f} to {:.2f})", older, newer,
                       task.front()->task, step.saving, counted(models, "model"), *low, *high),
           {},
           median_of(step.gains),
           "x"});
      all = all && step.saving == models;
      medians = medians && median_of(step.gains) > 1;
    }
  };
  add(kMlEnergyV2, "A100-40GB", "H100");
  add(kMlEnergyV3, "H100", "B200");
  if (answer.figures.empty()) return answer;
  answer.verdict = all       ? ClaimVerdict::kReproduced
                   : medians ? ClaimVerdict::kInPart
                             : ClaimVerdict::kDiffers;
  answer.reason =
      "least energy of each model on either GPU, with no deadline: in every task the median model "
      "gains, not every model does";
  return answer;
}

ClaimAnswer recompute_fp8(const std::vector<BenchResult>& results) {
  ClaimAnswer answer;
  constexpr std::string_view kSuffix = "-FP8";
  const ClaimRows rows = rows_where(results, [](const BenchResult& r) {
    return r.benchmark == kMlEnergyV3 && r.kind == BenchKind::kText;
  });
  double pairs = 0;
  double saving = 0;
  for (const ClaimRows& eight : rows_by(rows, task_model_gpu)) {
    const BenchResult& first = *eight.front();
    if (!std::string_view(first.model.id).ends_with(kSuffix)) continue;
    const std::string wide = first.model.id.substr(0, first.model.id.size() - kSuffix.size());
    const ClaimRows sixteen = rows_where(rows, [&](const BenchResult& r) {
      return r.task == first.task && r.model.id == wide && r.gpus.model == first.gpus.model;
    });
    if (sixteen.empty()) continue;
    const BenchResult& a = least_of(sixteen, joules_per_unit);
    const BenchResult& b = least_of(eight, joules_per_unit);
    const double change = joules_per_unit(b) / joules_per_unit(a) - 1;
    ++pairs;
    if (change < 0) ++saving;
    answer.figures.push_back(
        {fmt::format("{}, {}, {}: {:.3f} J (max_num_seqs {}) to {:.3f} J ({})", wide, first.task,
                     first.gpus.model, joules_per_unit(a), a.batch.max_num_seqs.value_or(0),
                     joules_per_unit(b), b.batch.max_num_seqs.value_or(0)),
         {},
         100 * change,
         "%"});
  }
  if (answer.figures.empty()) return answer;
  answer.verdict = saving == pairs ? ClaimVerdict::kReproduced
                   : saving > 0    ? ClaimVerdict::kInPart
                                   : ClaimVerdict::kDiffers;
  answer.reason = fmt::format(
      "{:.0f} of {} save; where FP8 takes more its best run has fewer GPUs and a smaller batch: "
      "the ends of two frontiers are compared, not two precisions",
      saving, counted(pairs, "pair"));
  return answer;
}

}  // namespace perjoule
