#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/called_verb.h"
#include "cli/verbs.h"

namespace perjoule::cli {
namespace {

Called call(std::vector<std::string> words) {
  words.insert(words.begin(), "leaderboard");
  return call_verb({leaderboard_verb()}, std::move(words));
}

/// A made-up row whose identities hold to the last digit.
std::string row(const std::string& model, int batch, double itl_ms, double energy) {
  const double rate = 1000;
  return R"({"model_id": ")" + model +
         R"(", "gpu_model": "H100", "num_gpus": 1, "max_num_seqs": )" + std::to_string(batch) +
         R"(, "energy_per_token_joules": )" + std::to_string(energy) +
         R"(, "energy_per_request_joules": )" + std::to_string(energy * 100) +
         R"(, "avg_output_len": 100, "avg_power_watts": )" + std::to_string(energy * rate) +
         R"(, "output_throughput_tokens_per_sec": 1000, "total_params_billions": 8.0, )" +
         R"("median_itl_ms": )" + std::to_string(itl_ms) + "}";
}

std::string board() {
  const std::string path =
      ::testing::TempDir() + "/pj_leaderboard-" + std::to_string(getpid()) + ".json";
  EXPECT_TRUE(write_file_atomically(
      path, R"({"task": "chat", "configurations": [)" + row("org/a", 8, 10, 0.5) + "," +
                row("org/a", 64, 40, 0.25) + "," + row("org/b", 8, 20, 0.375) + "]}"));
  return path;
}

TEST(LeaderboardVerb, PrintsTheRanking) {
  const Called called = call({board()});
  EXPECT_EQ(called.status, kDone) << called.complaint;
  EXPECT_EQ(called.output,
            "== chat (ML.ENERGY v3): 2 models, 3 configurations\n"
            "least energy per token, median ITL at most 500.0 ms\n"
            "\n"
            "   stars  model  J per token  J per response  median ITL   saved  per response  "
            "parameters  precision  GPUs      batch  output\n"
            "1  5/5    org/a     250.0 mJ         25.00 J    40.00 ms  50.0 %        50.0 %  "
            "8 B         -          1 x H100     64     100\n"
            "2  1/3    org/b     375.0 mJ         37.50 J    20.00 ms   0.0 %         0.0 %  "
            "8 B         -          1 x H100      8     100\n"
            "\n"
            "Energies: reconstructed, GPUs alone (B0), no uncertainty stated\n");
}

TEST(LeaderboardVerb, WhatNothingMeetsIsStatusOneWithTheNearestMiss) {
  const Called called = call({board(), "--model", "org/b", "--deadline", "15ms"});
  EXPECT_EQ(called.status, kAnswerIsNo);
  EXPECT_NE(called.output.find("Infeasible: org/b: none of 1 configuration meets it; nearest: time "
                               "of 20.0000 ms"),
            std::string::npos)
      << called.output;
  EXPECT_NE(called.output.find("33.3 % above 15.00 ms"), std::string::npos) << called.output;
}

TEST(LeaderboardVerb, OneModelsFrontierHasBothSavings) {
  const Called called = call({board(), "--frontier", "org/a", "--deadline", "50ms"});
  EXPECT_EQ(called.status, kDone) << called.complaint;
  for (const char* wanted :
       {"2 of 2 points are on the frontier", "Recommended (least energy, time at most 50.00 ms",
        "saves 50.0 % per token and 50.0 % per response"})
    EXPECT_NE(called.output.find(wanted), std::string::npos) << called.output;
  EXPECT_EQ(call({board(), "--frontier", "org/a", "--deadline", "5ms"}).status, kAnswerIsNo);
}

TEST(LeaderboardVerb, TheDocumentHasTheSameFigures) {
  const Called called = call({board(), "--json", "--validity"});
  const auto json = parse_json(called.output);
  ASSERT_TRUE(json) << called.output;
  EXPECT_EQ(json->string("schema"), "perjoule.leaderboard.v1");
  const Json& rows = *(*json->find("boards")->as_array())[0].find("rows");
  ASSERT_EQ(rows.as_array()->size(), 2U);
  const Json& first = (*rows.as_array())[0];
  EXPECT_EQ(first.string("model"), "org/a");
  EXPECT_DOUBLE_EQ(*first.number("energy_j"), 0.25);
  EXPECT_EQ(first.find("checks")->as_array()->size(), 12U);
  EXPECT_EQ(first.find("result")->string("schema"), "perjoule.bench-result.v1");
}

TEST(LeaderboardVerb, WordsThatMakeNoSenseAreStatusTwo) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--by", "weight"},
                                             {"--metric", "p42-itl"},
                                             {"--deadline", "soon"},
                                             {"--deadline", "-1s"},
                                             {"--energy-budget", "0"},
                                             {"--gpu-count", "none"},
                                             {"--gpu", "H300"},
                                             {"--model", "nobody"},
                                             {"--claim", "moon"},
                                             {"--task", "a,,b"},
                                             {"--metric", "p99-ttft"}}) {
    std::vector<std::string> all{board()};
    all.insert(all.end(), words.begin(), words.end());
    const Called called = call(all);
    EXPECT_EQ(called.status, kUsage) << words[0] << words[1] << called.output;
    EXPECT_TRUE(called.output.empty());
  }
}

TEST(LeaderboardVerb, ChecksTdpAndContextAreShownWhenAsked) {
  const Called called = call({board(), "--validity", "--tdp", "--context"});
  for (const char* wanted : {"mean batch", "not checked", "TDP would say", "2.80 x", "not stated"})
    EXPECT_NE(called.output.find(wanted), std::string::npos) << wanted << called.output;
}

TEST(LeaderboardVerb, ClaimsThatTheseResultsSayNothingOfAreStatusOne) {
  const Called called = call({board(), "--claim", "phi-3"});
  EXPECT_EQ(called.status, kAnswerIsNo);
  EXPECT_NE(called.output.find("not in these data"), std::string::npos);
}

}  // namespace
}  // namespace perjoule::cli
