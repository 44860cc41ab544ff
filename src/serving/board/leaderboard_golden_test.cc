// The leaderboard against the published data: the twelve worked recommendations with all their
// fields, and the rankings of the site's own defaults.
#include <gtest/gtest.h>

#include <map>

#include "base/json.h"
#include "base/test_data.h"
#include "serving/board/leaderboard.h"
#include "serving/board/response_energy.h"
#include "serving/board/result_filter.h"
#include "workload/bench_files.h"

namespace perjoule {
namespace {

/// The figure or setting of a result that the data's own name means; none for a name that is not
/// one.
std::optional<double> field(const BenchResult& r, const std::string& name) {
  const auto count = [](const std::optional<std::int64_t>& value) {
    return value ? std::optional<double>(static_cast<double>(*value)) : std::nullopt;
  };
  if (name == "num_gpus") return static_cast<double>(r.gpus.count);
  if (name == "max_num_seqs" || name == "max_bs") return count(r.batch.max_num_seqs);
  if (name == "batch_size") return count(r.batch.size);
  if (name == "tensor_parallel") return count(r.parallel.tensor);
  if (name == "expert_parallel") return count(r.parallel.expert);
  if (name == "data_parallel") return count(r.parallel.data);
  if (name == "ulysses_degree") return count(r.parallel.ulysses);
  if (name == "ring_degree") return count(r.parallel.ring);
  if (name == "avg_power_watts") return r.power->value();
  if (name == "energy_per_request_joules") return r.energy.response->joules.value();
  if (name == "avg_output_len") return r.lengths.mean_output;
  if (name == "output_throughput_tokens_per_sec") return r.rates.output_tokens;
  return std::nullopt;
}

struct Example {
  const Json& json;
  std::vector<BenchResult> results;
  bool in_ms = false;
  EnergyPer per = EnergyPer::kUnit;

  void expect(const BenchResult& r, const Json& expected, const LatencyMetric& metric) const {
    const auto near = [](double found, double wanted, const std::string& name) {
      EXPECT_NEAR(found, wanted, 1e-9 * std::abs(wanted)) << name;
    };
    for (const auto& [name, value] : *expected.as_object()) {
      if (name == "gpu_model") {
        EXPECT_EQ(r.gpus.model, *value.as_string());
      } else if (name == "latency") {
        near(latency_of(r, metric)->value() * (in_ms ? 1e3 : 1), *value.as_number(), name);
      } else if (name == "energy") {
        near(ranked_energy(r, per)->joules.value(), *value.as_number(), name);
      } else {
        const auto found = field(r, name);
        ASSERT_TRUE(found) << name;
        near(*found, *value.as_number(), name);
      }
    }
  }
};

LatencyMetric metric_of(const std::string& column) {
  const std::map<std::string, const char*> words{{"median_itl_ms", "median-itl"},
                                                 {"p90_itl_ms", "p90-itl"},
                                                 {"p95_itl_ms", "p95-itl"},
                                                 {"avg_tpot_s", "mean-tpot"},
                                                 {"batch_latency_s", "batch"}};
  return *parse_latency_metric(words.at(column));
}

Result<ModelChoice> choose(const Example& example, const LatencyMetric& metric) {
  ResultFilter filter;
  filter.models = {*example.json.string("model_id")};
  if (const auto* gpus = example.json.find("gpu_models")->as_array()) {
    for (const Json& gpu : *gpus) filter.gpus.push_back(*gpu.as_string());
  }
  PJ_TRY(const ResultSelection selection, filter_results(example.results, filter));
  const double deadline = *example.json.number("deadline") * (example.in_ms ? 1e-3 : 1);
  return choose_for_model(example.results, selection.rows, example.per, metric, Seconds(deadline),
                          std::nullopt);
}

void check(const Example& example) {
  const Json& json = example.json;
  const LatencyMetric metric = metric_of(*json.string("latency_metric"));
  const auto made = choose(example, metric);
  ASSERT_TRUE(made) << made.error().text();
  const Choice& choice = made->choice;
  EXPECT_EQ(choice.candidates, static_cast<std::size_t>(*json.integer("candidates")));
  EXPECT_EQ(choice.feasible, static_cast<std::size_t>(*json.integer("feasible")));
  const BenchResult& fastest = example.results[made->fastest()];
  example.expect(fastest, *json.find("fastest"), metric);
  if (const Json* expected = json.find("frontier"); expected != nullptr) {
    const auto& on = made->frontier.indices();
    ASSERT_EQ(on.size(), expected->as_array()->size());
    for (std::size_t i = 0; i < on.size(); ++i)
      example.expect(example.results[made->results[on[i]]], (*expected->as_array())[i], metric);
  }
  const Json& chosen = *json.find("chosen");
  ASSERT_EQ(chosen.is_null(), choice.miss.has_value());
  if (chosen.is_null()) {
    EXPECT_NEAR(choice.miss->reached, 36.031765514053404e-3, 1e-12);
    return;
  }
  const BenchResult& picked = example.results[made->chosen()];
  example.expect(picked, chosen, metric);
  const double saved = *json.number("saving_energy_fraction");
  EXPECT_NEAR(choice.energy_saved, saved, 1e-9);
  if (example.per == EnergyPer::kUnit) {
    EXPECT_NEAR(*unit_saving(picked, fastest), saved, 1e-9);
  }
  if (const auto wanted = json.number("saving_per_response_fraction")) {
    EXPECT_NEAR(*response_saving(picked, fastest), *wanted, 1e-9);
  }
}

TEST(LeaderboardGolden, TwelveRecommendationsWithAllTheirFields) {
  PJ_TEST_DATA(path, "mlenergy_leaderboard/expected_recommendations.json");
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  const auto expected = parse_json(*read_file(path));
  ASSERT_TRUE(expected);
  const auto& examples = *expected->find("examples")->as_array();
  ASSERT_EQ(examples.size(), 12U);
  for (const Json& json : examples) {
    SCOPED_TRACE(json.dump().substr(0, 200));
    const std::string input = *json.string("input");
    const auto files = read_bench_files({folder + input}, {});
    ASSERT_TRUE(files) << files.error().text();
    Example example{json, files->results};
    example.in_ms = json.string("latency_metric")->find("_ms") != std::string::npos;
    // The second generation's text models are told per request.
    if (input == "v2/llm.csv") example.per = EnergyPer::kResponse;
    check(example);
  }
}

/// The rankings of one folder, by task.
std::map<std::string, Board> boards_of(const std::vector<BenchResult>& results,
                                       const std::string& benchmark) {
  std::map<std::string, Board> boards;
  const auto selection = filter_results(results, {.benchmarks = {benchmark}});
  EXPECT_TRUE(selection);
  for (const BoardGroup& group : board_groups(results, selection->rows, false)) {
    auto board = make_board(results, group, {});
    EXPECT_TRUE(board) << board.error().text();
    boards.emplace(group.task, std::move(*board));
  }
  return boards;
}

TEST(LeaderboardGolden, TheSitesDefaultRankings) {
  PJ_TEST_DATA(index, "mlenergy_leaderboard/index.json");
  const auto files = read_bench_files({index.substr(0, index.rfind('/'))}, {});
  ASSERT_TRUE(files) << files.error().text();
  const auto boards = boards_of(files->results, "ML.ENERGY v3");
  ASSERT_EQ(boards.size(), 7U);
  const auto expect = [&](const std::string& task, std::size_t place, const std::string& model,
                          double energy, double within) {
    const Board& board = boards.at(task);
    const BoardRow& row = place == 0 ? board.rows.back() : board.rows.at(place - 1);
    EXPECT_NE(files->results[row.result].model.id.find(model), std::string::npos)
        << task << " " << place << ": " << files->results[row.result].model.id;
    EXPECT_NEAR(row.energy.value(), energy, within) << task << " " << place;
  };
  constexpr std::size_t kLast = 0;
  expect("lm-arena-chat", 1, "Llama-3.1-8B", 0.0467, 5e-5);
  EXPECT_EQ(files->results[boards.at("lm-arena-chat").rows[0].result].gpus.model, "B200");
  EXPECT_EQ(files->results[boards.at("lm-arena-chat").rows[0].result].batch.max_num_seqs, 2048);
  expect("lm-arena-chat", 2, "Qwen3-8B", 0.05306, 5e-6);
  expect("lm-arena-chat", 3, "Qwen3-14B", 0.05477, 5e-6);
  expect("lm-arena-chat", 4, "Qwen3-30B-A3B", 0.05641, 5e-6);
  expect("lm-arena-chat", kLast, "Llama-3.1-405B-Instruct-FP8", 1.1467, 5e-5);
  expect("gpqa", 1, "gpt-oss-20b", 0.02845, 5e-6);
  expect("gpqa", 2, "gpt-oss-120b", 0.03967, 5e-6);
  expect("gpqa", 3, "Qwen3-30B-A3B-Thinking", 0.08765, 5e-6);
  expect("gpqa", kLast, "DeepSeek-R1", 2.3762, 5e-5);
  expect("text-to-image", 1, "SANA1.5_1.6B", 337.94, 5e-3);
  expect("text-to-image", 2, "PixArt-Sigma", 604.87, 5e-3);
  expect("text-to-image", 3, "SANA1.5_4.8B", 943.09, 5e-3);
  expect("text-to-image", 4, "stable-diffusion-3.5-medium", 1560.43, 5e-3);
  expect("text-to-image", kLast, "FLUX", 6678.81, 5e-3);
  const std::map<std::string, std::size_t> models{
      {"lm-arena-chat", 18}, {"gpqa", 12},         {"sourcegraph-fim", 3}, {"image-chat", 11},
      {"video-chat", 6},     {"text-to-image", 7}, {"text-to-video", 5}};
  for (const auto& [task, count] : models) {
    const Board& board = boards.at(task);
    EXPECT_EQ(board.rows.size() + board.misses.size(), count) << task;
    for (const BoardRow& row : board.rows) {
      EXPECT_EQ(response_energies(files->results[row.result]).has_value(),
                board.kind == BenchKind::kText);
      EXPECT_TRUE(row.tdp);
    }
  }
  EXPECT_EQ(boards_of(files->results, "ML.ENERGY v2").size(), 6U);
}

}  // namespace
}  // namespace perjoule
