// The library's calls of a pipeline's rank as a program in C makes them, on a simulated GPU, with a
// plan server in a thread of this process.
#include <filesystem>

#include "library_on_twin.h"
#include "pipeline/runtime/plan_server.h"
#include "pipeline_rank.h"

namespace perjoule {
namespace {

class PipelineRankOnTwin : public LibraryOnTwin {
 protected:
  void SetUp() override {
    LibraryOnTwin::SetUp();
    discover_on({"a100"});
    RuntimeRequest request{.only_profile = true, .warm_up = 1, .rounds = 1};
    for (const char* clock : {"1410 MHz", "1200 MHz", "1005 MHz"})
      request.settings.emplace_back().set("clock", clock);
    PipelineJob job;
    job.shape = {.stages = 1, .microbatches = 3};
    auto service = PlanService::make(std::move(job), std::move(request));
    ASSERT_TRUE(service) << service.error().text();
    service_ = std::move(*service);
    auto server = PlanServer::start(path(), *service_);
    ASSERT_TRUE(server) << server.error().text();
    server_ = std::move(*server);
    found_ = clock_value();
  }
  void TearDown() override {
    server_.reset();
    LibraryOnTwin::TearDown();
  }
  std::string path() const { return tree_ / "plan"; }
  /// What the clock is locked to, as the driver says it.
  std::string clock_value() { return knob("clock")->get().value_or("unknown"); }

  std::unique_ptr<PlanService> service_;
  std::unique_ptr<PlanServer> server_;
  std::string found_;
};

TEST_F(PipelineRankOnTwin, AProgramInCTrainsAndLeavesTheGpuAsFound) {
  struct Seen {
    PlanService* service;
    std::vector<RuntimePhase> phases;
  } seen{service_.get(), {}};
  const auto begun = [](void* user, int iteration) {
    auto& its = *static_cast<Seen*>(user);
    its.phases.push_back(its.service->progress().phase);
    EXPECT_EQ(its.service->progress().iteration, iteration);
  };
  EXPECT_EQ(pipeline_rank_trains(path().c_str(), 3, begun, &seen), 0);
  EXPECT_EQ(seen.phases,
            (std::vector{RuntimePhase::kWarmUp, RuntimePhase::kProfile, RuntimePhase::kProfile}));
  EXPECT_EQ(clock_value(), found_);
  EXPECT_TRUE(std::filesystem::is_empty(folder_ + "/knobs"));
  // It ended before all settings had been gone through, and the service knows.
  ASSERT_TRUE(service_->failure());
  EXPECT_NE(service_->failure()->text().find("after 3 iterations"), std::string::npos)
      << service_->failure()->text();
}

TEST_F(PipelineRankOnTwin, TheServerIsFoundByItsVariable) {
  set("PERJOULE_PIPELINE", path());
  EXPECT_EQ(pipeline_rank_trains(
                nullptr, 1, [](void*, int) {}, nullptr),
            0);
}

TEST_F(PipelineRankOnTwin, WhatMakesNoSenseIsRefused) {
  EXPECT_EQ(pipeline_rank_is_refused(path().c_str()), 0);
  EXPECT_EQ(clock_value(), found_);
}

TEST_F(PipelineRankOnTwin, TheTrainingOutlivesTheServer) {
  const auto end_server = [](void* server) {
    static_cast<std::unique_ptr<PlanServer>*>(server)->reset();
  };
  EXPECT_EQ(pipeline_rank_outlives(path().c_str(), end_server, &server_), 0);
  EXPECT_EQ(clock_value(), found_);
  EXPECT_TRUE(std::filesystem::is_empty(folder_ + "/knobs"));
}

}  // namespace
}  // namespace perjoule
