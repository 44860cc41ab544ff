#include "pipeline/runtime/plan_server.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <thread>

#include "device/temp_tree.h"

namespace perjoule {
namespace {

constexpr Seconds kPatience{60};

class PlanServerTest : public testing::Test {
 protected:
  PlanServerTest() {
    RuntimeRequest request{.only_profile = true, .warm_up = 2, .rounds = 1};
    request.settings.emplace_back().set("clock", "1410 MHz");
    PipelineJob job;
    job.shape = {.stages = 2, .microbatches = 2};
    auto service = PlanService::make(std::move(job), std::move(request));
    EXPECT_TRUE(service) << service.error().text();
    service_ = std::move(*service);
    auto server = PlanServer::start(tree_ / "plan", *service_, [this](int rank) {
      const std::lock_guard lock(mutex_);
      lost_ = rank;
      changed_.notify_all();
    });
    EXPECT_TRUE(server) << server.error().text();
    server_ = std::move(*server);
  }
  ~PlanServerTest() override { server_.reset(); }

  Result<Json> ask(LineClient& client, const char* call, int stage = 0) {
    Json question;
    if (std::string_view(call) == "join") {
      RankPlace place;
      place.stage = stage;
      question = to_json(place);
    }
    question["call"] = call;
    question["iteration"] = 0;
    return ask_plan_server(client, question, kPatience);
  }
  LineClient client() {
    auto connected = LineClient::connect(server_->path(), kPatience);
    EXPECT_TRUE(connected) << connected.error().text();
    return std::move(*connected);
  }
  int wait_for_lost_rank() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(60), [this] { return lost_ >= 0; });
    return lost_;
  }

  TempTree tree_;
  std::unique_ptr<PlanService> service_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int lost_ = -1;
  std::unique_ptr<PlanServer> server_;
};

TEST_F(PlanServerTest, WhatIsRefusedComesAsTheErrorThatItIs) {
  LineClient one = client();
  EXPECT_TRUE(ask(one, "join", 1));
  EXPECT_TRUE(ask(one, "next"));
  LineClient two = client();
  const auto taken = ask(two, "join", 1);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::kConflict);
  EXPECT_EQ(taken.error().message, "stage 1 of pipeline 0 has its rank already");
  EXPECT_TRUE(ask(two, "join", 0)) << "the connection is of use still";
}

TEST_F(PlanServerTest, TheEndOfARanksProcessIsTold) {
  {
    LineClient leaves = client();
    EXPECT_TRUE(ask(leaves, "join", 0));
    EXPECT_TRUE(ask(leaves, "leave"));
    LineClient dies = client();
    EXPECT_TRUE(ask(dies, "join", 1));
  }
  EXPECT_EQ(wait_for_lost_rank(), 1);
  EXPECT_EQ(server_->lost(), 1);
}

TEST_F(PlanServerTest, ARankThatHasNotLeftIsKnownByItsProcessUntilThatIsDead) {
  int pipe[2] = {};
  ASSERT_EQ(::pipe(&pipe[0]), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    LineClient mine = client();
    const bool joined = ask(mine, "join", 1).has_value();
    (void)!::write(pipe[1], joined ? "y" : "n", 1);
    for (;;) ::pause();
  }
  char joined = 0;
  ASSERT_EQ(::read(pipe[0], &joined, 1), 1);
  EXPECT_EQ(joined, 'y');
  {
    LineClient leaves = client();
    EXPECT_TRUE(ask(leaves, "join", 0));
    EXPECT_EQ(server_->not_left().size(), 2U);
    EXPECT_TRUE(ask(leaves, "leave"));
  }
  ASSERT_EQ(server_->not_left().size(), 1U);
  const ProcessIdentity rank = server_->not_left().front();
  EXPECT_EQ(rank.pid, child);
  EXPECT_EQ(rank.fate(), ProcessIdentity::Fate::kAlive);
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(wait_for_lost_rank(), 0);
  EXPECT_EQ(server_->not_left().front().fate(), ProcessIdentity::Fate::kDead);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST_F(PlanServerTest, RanksAskWhileOthersLook) {
  std::vector<std::thread> ranks;
  for (int stage = 0; stage < 2; ++stage) {
    ranks.emplace_back([this, stage] {
      LineClient mine = client();
      EXPECT_TRUE(ask(mine, "join", stage));
      for (int i = 0; i < 50; ++i) EXPECT_TRUE(ask(mine, "next"));
      EXPECT_TRUE(ask(mine, "leave"));
    });
  }
  LineClient other = client();
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(ask(other, "status"));
    EXPECT_EQ(status_json(*service_).integer("stages"), 2);
    EXPECT_EQ(server_->lost(), 0);
  }
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(server_->lost(), 0);
}

}  // namespace
}  // namespace perjoule
