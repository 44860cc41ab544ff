#include "server/services/pipelines.h"

#include <gtest/gtest.h>

#include "device/temp_tree.h"
#include "net/line_socket.h"
#include "pipeline/runtime/plan_server.h"

namespace perjoule {
namespace {

constexpr Seconds kPatience{60};

Json parsed(const std::string& text) {
  auto json = parse_json(text);
  EXPECT_TRUE(json) << text;
  return json ? *json : Json();
}

Json definition() {
  return parsed(R"({"stages":2,"microbatches":2,"clocks_mhz":[1005,1410,1200],"only_profile":true,
                    "warm_up":2,"rounds":2,"timeout_s":60})");
}

Json join(int stage) {
  RankPlace place;
  place.stage = stage;
  Json question = to_json(place);
  question["call"] = "join";
  return question;
}

Json next(std::int64_t iteration) {
  Json question = Json::object();
  question["call"] = "next";
  question["iteration"] = iteration;
  return question;
}

class PipelinesTest : public testing::Test {
 protected:
  Result<Json> ask(const std::string& id, const std::string& client, Json question,
                   const std::string& principal = "token:a") {
    question["client"] = client;
    return pipelines_.ask(id, principal, question);
  }
  VirtualClock clock_{Instant{1'000'000'000}};
  Pipelines pipelines_{clock_};
};

TEST_F(PipelinesTest, RanksGetTheSameOrdersAsOverASocketOfLines) {
  RuntimeRequest request{.only_profile = true, .warm_up = 2, .rounds = 2};
  for (const char* const clock : {"1410 MHz", "1200 MHz", "1005 MHz"})
    request.settings.emplace_back().set("clock", clock);
  PipelineJob job;
  job.shape = {.stages = 2, .microbatches = 2};
  const auto service = PlanService::make(std::move(job), std::move(request));
  ASSERT_TRUE(service) << service.error().text();
  const TempTree tree;
  const auto server = PlanServer::start(tree / "plan", **service);
  ASSERT_TRUE(server) << server.error().text();
  const auto id = pipelines_.make(definition());
  ASSERT_TRUE(id) << id.error().text();
  std::vector<LineClient> lines;
  for (int stage = 0; stage < 2; ++stage) {
    auto connected = LineClient::connect((*server)->path(), kPatience);
    ASSERT_TRUE(connected);
    lines.push_back(std::move(*connected));
    const auto there = ask_plan_server(lines.back(), join(stage), kPatience);
    const auto here = ask(*id, "rank" + std::to_string(stage), join(stage));
    ASSERT_TRUE(there && here) << here.error().text();
    EXPECT_EQ(there->dump(), here->dump());
  }
  std::set<std::string> orders;
  for (std::int64_t iteration = 0; iteration < 40; ++iteration) {
    for (std::size_t stage = 0; stage < 2; ++stage) {
      const auto there = ask_plan_server(lines[stage], next(iteration), kPatience);
      const auto here = ask(*id, "rank" + std::to_string(stage), next(iteration));
      ASSERT_TRUE(there && here);
      EXPECT_EQ(there->dump(), here->dump()) << iteration;
      orders.insert(here->dump());
    }
  }
  EXPECT_GT(orders.size(), 3U) << "settings change";
}

TEST_F(PipelinesTest, WhatIsRefusedIsTheErrorThatItIs) {
  const auto id = pipelines_.make(definition());
  ASSERT_TRUE(id);
  ASSERT_TRUE(ask(*id, "one", join(0)));
  EXPECT_EQ(ask(*id, "two", join(0)).error().code, ErrorCode::kConflict);
  EXPECT_EQ(ask(*id, "one", join(1)).error().code, ErrorCode::kConflict) << "a rank already";
  // The same word of another principal is another client.
  EXPECT_EQ(ask(*id, "one", next(0), "token:b").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(pipelines_.ask(*id, "token:a", next(0)).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(ask("pipeline-9", "one", next(0)).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(pipelines_.straggler(*id, parsed(R"({"slowdown":1.2})")).error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_TRUE(pipelines_.erase(*id));
  EXPECT_EQ(pipelines_.erase(*id).error().code, ErrorCode::kNotFound);
}

TEST_F(PipelinesTest, ARankThatIsSilentForTooLongIsGone) {
  const auto id = pipelines_.make(definition());
  ASSERT_TRUE(id);
  ASSERT_TRUE(ask(*id, "one", join(0)));
  ASSERT_TRUE(ask(*id, "two", join(1)));
  clock_.advance(Seconds(40));
  ASSERT_TRUE(ask(*id, "two", next(0)));
  clock_.advance(Seconds(40));
  const auto status = pipelines_.status(*id);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->integer("lost_ranks"), 1);
  EXPECT_TRUE(ask(*id, "two", next(1)));
  EXPECT_FALSE(ask(*id, "one", next(1))) << "join first";
  Json leave = Json::object();
  leave["call"] = "leave";
  ASSERT_TRUE(ask(*id, "two", leave));
  EXPECT_EQ(pipelines_.status(*id)->integer("lost_ranks"), 1) << "who leaves is not lost";
}

TEST_F(PipelinesTest, WhatIsNoPipelineIsNamed) {
  for (const auto& [text, said] : {std::pair{"{}", "stages"},
                                   {R"({"stages":0})", "stages"},
                                   {R"({"stages":"2"})", "stages"},
                                   {R"({"stages":2,"schedule":"/etc/passwd"})", "schedule"},
                                   {R"({"stages":2,"schedule":"none"})", "none"},
                                   {R"({"stages":2,"clocks_mhz":[0]})", "clocks_mhz"},
                                   {R"({"stages":2,"clocks_mhz":5})", "clocks_mhz"},
                                   {R"({"stages":2,"timeout_s":0})", "timeout_s"},
                                   {R"({"stages":2,"speed":1})", "speed"}}) {
    const auto made = pipelines_.make(parsed(text));
    ASSERT_FALSE(made) << text;
    EXPECT_NE(made.error().message.find(said), std::string::npos) << made.error().message;
  }
  for (std::size_t i = 0; i < Pipelines::kMost; ++i) ASSERT_TRUE(pipelines_.make(definition()));
  EXPECT_EQ(pipelines_.make(definition()).error().code, ErrorCode::kConflict);
  EXPECT_EQ(pipelines_.ids().size(), Pipelines::kMost);
}

}  // namespace
}  // namespace perjoule
