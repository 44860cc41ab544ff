#include "pipeline/runtime/plan_questions.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

/// A service of one pipeline of two stages, and clients that ask it.
class PlanQuestionsTest : public testing::Test {
 protected:
  PlanQuestionsTest() {
    RuntimeRequest request{.only_profile = true, .warm_up = 1, .rounds = 1};
    for (const char* clock : {"1410 MHz", "1000 MHz"})
      request.settings.emplace_back().set("clock", clock);
    PipelineJob job;
    job.shape = {.stages = 2, .microbatches = 2};
    auto service = PlanService::make(std::move(job), std::move(request));
    EXPECT_TRUE(service) << service.error().text();
    service_ = std::move(*service);
    questions_.emplace(*service_, [this](int rank) { lost_.push_back(rank); });
  }

  Json ask(int client, std::string_view line) {
    const std::string answer = questions_->answer(client, line);
    EXPECT_EQ(answer.find('\n'), std::string::npos);
    auto json = parse_json(answer);
    EXPECT_TRUE(json) << answer;
    return json ? *json : Json();
  }
  /// The name of the error that is answered; empty where none is.
  std::string refusal(int client, std::string_view line) {
    const auto error = error_of(ask(client, line));
    return error ? std::string(name_of(error->code)) : "";
  }
  static std::string join(int stage) {
    RankPlace place;
    place.stage = stage;
    place.counter.id = place.counter.device = "gpu:" + std::to_string(stage);
    Json question = to_json(place);
    question["call"] = "join";
    return question.dump();
  }

  std::unique_ptr<PlanService> service_;
  std::vector<int> lost_;
  std::optional<PlanQuestions> questions_;
};

TEST_F(PlanQuestionsTest, ARankJoinsAsksAndLeaves) {
  const auto welcome = rank_welcome_of(ask(7, join(1)));
  ASSERT_TRUE(welcome) << welcome.error().text();
  EXPECT_EQ(welcome->rank, 0);
  EXPECT_EQ(welcome->order.size(), 4U);
  const auto orders = rank_orders_of(ask(7, R"({"call":"next","iteration":0,"have":-1})"));
  ASSERT_TRUE(orders) << orders.error().text();
  EXPECT_EQ(orders->knob.size(), 4U);
  EXPECT_EQ(orders->phase, RuntimePhase::kWarmUp);
  // Orders that the rank has are not sent again.
  const Json same =
      ask(7, R"({"call":"next","iteration":0,"have":)" + std::to_string(orders->epoch) + "}");
  EXPECT_EQ(same.as_object()->size(), 1U);
  EXPECT_EQ(same.integer("epoch"), orders->epoch);
  EXPECT_EQ(refusal(7, R"({"call":"leave"})"), "");
  questions_->left(7);
  EXPECT_EQ(questions_->lost(), 0) << "it has left before it ended";
  EXPECT_EQ(refusal(7, R"({"call":"next","iteration":1})"), "invalid_argument");
}

TEST_F(PlanQuestionsTest, ARankThatEndsWithoutLeavingIsLostAndItsPlaceIsFree) {
  ask(3, join(0));
  ask(4, join(1));
  questions_->left(4);
  EXPECT_EQ(lost_, std::vector<int>{1});
  EXPECT_EQ(questions_->lost(), 1);
  questions_->left(4);
  questions_->left(99);
  EXPECT_EQ(questions_->lost(), 1);
  EXPECT_EQ(refusal(5, join(1)), "");
  EXPECT_EQ(refusal(6, join(0)), "conflict");
}

TEST_F(PlanQuestionsTest, AClientIsOneRank) {
  EXPECT_EQ(refusal(3, join(0)), "");
  // Else the end of the client would leave the place of the first one taken for good.
  EXPECT_EQ(refusal(3, join(1)), "conflict");
  EXPECT_EQ(refusal(3, R"({"call":"leave"})"), "");
  EXPECT_EQ(refusal(3, join(1)), "");
  questions_->left(3);
  EXPECT_EQ(questions_->lost(), 1);
}

TEST_F(PlanQuestionsTest, WhatIsNoQuestionIsRefused) {
  for (const char* line :
       {"", "join", "{", "[]", "null", "{}", R"({"call":3})", R"({"call":"next"})",
        R"({"call":"leave"})", R"({"call":"sing"})", R"({"call":"join","stage":0})", "\xff\xfe"}) {
    EXPECT_EQ(refusal(1, line), "invalid_argument") << line;
  }
  EXPECT_EQ(refusal(1, std::string_view("\0", 1)), "invalid_argument");
  ask(1, join(0));
  for (const char* line : {R"({"call":"next"})", R"({"call":"next","iteration":"0"})",
                           R"({"call":"next","iteration":0,"report":{}})",
                           R"({"call":"next","iteration":0,"report":3})"}) {
    EXPECT_EQ(refusal(1, line), "invalid_argument") << line;
  }
}

TEST_F(PlanQuestionsTest, AnybodyMayTellOfAStragglerAndAskHowItGoes) {
  EXPECT_EQ(refusal(1, R"({"call":"straggle","pipeline":0,"slowdown":1.2})"), "");
  EXPECT_EQ(refusal(2, R"({"call":"straggle","pipeline":0,"over":true})"), "");
  EXPECT_EQ(refusal(2, R"({"call":"straggle","pipeline":0,"over":true})"), "not_found");
  EXPECT_EQ(refusal(1, R"({"call":"straggle","pipeline":0,"until_s":2.5})"), "");
  for (const char* line :
       {R"({"call":"straggle"})", R"({"call":"straggle","pipeline":-1,"slowdown":1.2})",
        R"({"call":"straggle","pipeline":7,"slowdown":1.2})",
        R"({"call":"straggle","pipeline":99999999999,"slowdown":1.2})",
        R"({"call":"straggle","pipeline":0})",
        R"({"call":"straggle","pipeline":0,"slowdown":0.5})"})
    EXPECT_EQ(refusal(1, line), "invalid_argument") << line;
  const Json status = ask(1, R"({"call":"status"})");
  EXPECT_EQ(status.string("schema"), "perjoule.pipeline-run.v1");
  EXPECT_EQ(status.integer("stages"), 2);
}

}  // namespace
}  // namespace perjoule
