#include "fleet/engine/recorded_run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace perjoule {
namespace {

using ::testing::HasSubstr;

std::string line(double queued, int prompt, int output, double first, double last) {
  return fmt::format(
      R"({{"input_toks": {}, "output_toks": {}, "queued_ts": {}, "first_token_ts": {}, )"
      R"("last_token_ts": {}}})"
      "\n",
      prompt, output, queued, first, last);
}

/// Operators that take 1 us each at any size, and attention none: what is left is the overhead.
struct Tables {
  std::string dense = "layer,tokens,time_us\n";
  std::string attention = "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n";
  std::string heads = "layer,sequences,time_us\n";
  Tables() {
    for (const char* const name : {"embedding", "layernorm", "qkv_proj", "rotary_emb", "o_proj",
                                   "gate_up_proj", "act_fn", "down_proj", "final_layernorm"})
      dense += fmt::format("{0},1,1\n{0},4096,1\n", name);
    for (const char* const name : {"lm_head", "sampler"})
      heads += fmt::format("{0},1,1\n{0},256,1\n", name);
    for (const int a : {1, 1024}) {
      for (const int b : {16, 4096}) {
        attention += fmt::format("0,0,{},{},0\n", a, b);
        attention += fmt::format("{},{},0,0,0\n", a, b);
      }
    }
  }
  OperatorTables texts() const { return {dense, attention, heads}; }
};

/// A request each second of 10 tokens, and as many steps of 5 ms.
std::vector<ServedRequest> steady(int count, double first_token) {
  std::vector<ServedRequest> run;
  for (int i = 0; i < count; ++i)
    run.push_back({Seconds(i), 100, 10, Seconds(first_token), Seconds(0.005)});
  return run;
}

TEST(RecordedRunTest, ReadsWhatCameWhen) {
  const auto run =
      read_recorded_run(line(1000.5, 20, 3, 1001, 1001.5) + line(1002, 7, 2, 1002, 1002.25), "r");
  ASSERT_TRUE(run) << run.error().text();
  ASSERT_EQ(run->size(), 2U);
  EXPECT_EQ((*run)[0].arrival, Seconds(0));
  EXPECT_EQ((*run)[0].first_token, Seconds(0.5));
  EXPECT_EQ((*run)[0].per_token, Seconds(0.25));
  EXPECT_EQ((*run)[1].arrival, Seconds(1.5));
  EXPECT_EQ((*run)[1].prompt, 7);
}

TEST(RecordedRunTest, NamesTheLineOfWhatIsNone) {
  const std::string good = line(1, 20, 3, 2, 3);
  for (const std::string& bad :
       {line(0.5, 20, 3, 2, 3), line(1, 20, 1, 2, 3), line(1, 0, 3, 2, 3), line(3, 20, 3, 2, 3),
        line(1, 20, 3, 3, 2), std::string("{}\n"), std::string("text\n"), std::string("\n")}) {
    const auto run = read_recorded_run(good + bad, "r.jsonl");
    ASSERT_FALSE(run) << bad;
    EXPECT_THAT(run.error().text(), HasSubstr("r.jsonl: line 2"));
  }
  EXPECT_FALSE(read_recorded_run("", "r.jsonl"));
}

TEST(RecordedRunTest, FindsTheOverheadAndWhatIsOff) {
  const Tables tables;
  // A step takes some 0.3 ms without the host. First tokens are recorded at twice a step's time.
  const auto near = agreement_with(steady(30, 0.010), tables.texts(), {}, 10);
  ASSERT_TRUE(near) << near.error().text();
  EXPECT_GT(near->overhead, Seconds(0.004));
  EXPECT_LT(near->overhead, Seconds(0.005));
  EXPECT_NEAR(near->per_token, 0, 1e-4);
  EXPECT_NEAR(near->first_token, -0.5, 1e-4);
  EXPECT_EQ(near->judged, 20U);
  EXPECT_FALSE(agreement_with(steady(10, 0.010), tables.texts(), {}, 10));
  EXPECT_FALSE(agreement_with(steady(30, 0.010), {"", "", ""}, {}, 10));
}

TEST(RecordedRunTest, SaysWhereAnEngineDoesNotServeThem) {
  const Tables tables;
  const auto model = operator_steps(tables.texts(), {.cache_tokens = 50});
  ASSERT_TRUE(model) << model.error().text();
  const auto served = served_by(steady(3, 0.010), **model, {});
  ASSERT_FALSE(served);
  EXPECT_THAT(served.error().text(), HasSubstr("0 of 3"));
}

}  // namespace
}  // namespace perjoule
