#include "train/job_service.h"

#include <cmath>
#include <functional>

#include "train/job_service_fixture.h"

namespace perjoule {
namespace {

TEST_F(JobServiceTest, AsksReportsAndSettlesOnTheCheapest) {
  // 128 needs no more epochs and an epoch takes half the time.
  std::map<int, int> asked;
  for (int i = 0; i < 20; ++i) {
    const auto trial = service_.ask("nightly");
    ASSERT_TRUE(trial);
    EXPECT_EQ(trial->number, i + 1);
    ++asked[trial->batch_size];
    train(*trial, 5, 64.0 / trial->batch_size * 10);
  }
  EXPECT_GE(asked[128], 15);
  const auto status = service_.status("nightly");
  ASSERT_TRUE(status);
  EXPECT_EQ(status->trials.size(), 20U);
  EXPECT_GE(status->recurrences.size(), 18U);
  EXPECT_NEAR(status->lowest_cost->value(), 0.5 * 200 * 25 + 0.5 * 300 * 25, 1e-6);
}

TEST_F(JobServiceTest, ADearTrainingIsStopped) {
  train(*service_.ask("nightly"), 3, 10);
  bool stopped = false;
  for (int i = 0; i < 6; ++i) {
    const auto trial = service_.ask("nightly");
    if (trial->batch_size == 64) {
      train(*trial, 3, 10);
    } else {
      stopped = stopped || train(*trial, 20, 30) == Verdict::kStop;
    }
  }
  EXPECT_TRUE(stopped);
}

TEST_F(JobServiceTest, ConcurrentTrainersDoNotTryTheSameStepTwice) {
  train(*service_.ask("nightly"), 3, 10);
  const auto one = service_.ask("nightly");
  const auto other = service_.ask("nightly");
  EXPECT_NE(one->batch_size, other->batch_size);
  // Reports may come in any order, also by one whose turn is long over.
  EXPECT_EQ(train(*other, 3, 10), Verdict::kReached);
  EXPECT_EQ(train(*one, 3, 10), Verdict::kReached);
}

TEST_F(JobServiceTest, AnotherProcessSeesTheSameState) {
  train(*service_.ask("nightly"), 3, 10);
  JobService other(log_, clock_);
  const auto here = service_.status("nightly");
  const auto there = other.status("nightly");
  EXPECT_EQ(here->trials.size(), there->trials.size());
  EXPECT_EQ(*service_.list(), std::vector<std::string>{"nightly"});
  const auto trial = other.ask("nightly");
  EXPECT_EQ(trial->number, 2);
}

TEST_F(JobServiceTest, MistakesAreRefusedAndChangeNothing) {
  EXPECT_EQ(service_.ask("weekly").error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(service_.create(nightly()));  // the same again
  JobDefinition other = nightly();
  other.target = 0.8;
  EXPECT_EQ(service_.create(other).error().code, ErrorCode::kConflict);
  for (const auto& spoil : std::vector<std::function<void(JobDefinition&)>>{
           [](JobDefinition& job) { job.name = "a/b"; }, [](JobDefinition& job) { job.eta = 2; },
           [](JobDefinition& job) { job.max_power = Watts(0); },
           [](JobDefinition& job) { job.policy = "magic"; },
           [](JobDefinition& job) { job.spec.default_batch = 48; },
           [](JobDefinition& job) { job.most_epochs = 0; },
           [](JobDefinition& job) { job.timeout = Seconds(0); }}) {
    JobDefinition bad = nightly();
    bad.name = "bad";
    spoil(bad);
    EXPECT_FALSE(service_.create(bad));
  }
  EXPECT_EQ(service_.list()->size(), 1U);
  const auto trial = service_.ask("nightly");
  ASSERT_TRUE(service_.report("nightly", trial->number, {2, Joules(100), Seconds(2), 0.1}));
  EXPECT_FALSE(service_.report("nightly", trial->number, {1, Joules(100), Seconds(2), 0.1}));
  EXPECT_FALSE(service_.report("nightly", trial->number, {3, Joules(90), Seconds(3), 0.1}));
  EXPECT_FALSE(service_.report("nightly", trial->number, {0, Joules(100), Seconds(2), 0.1}));
  EXPECT_FALSE(service_.report("nightly", trial->number, {3, Joules(NAN), Seconds(3), 0.1}));
  EXPECT_FALSE(service_.report("nightly", 99, {1, Joules(1), Seconds(1), 0.1}));
  EXPECT_TRUE(service_.abandon("nightly", trial->number));
  EXPECT_FALSE(service_.abandon("nightly", trial->number));
  EXPECT_TRUE(service_.remove("nightly"));
  EXPECT_FALSE(service_.remove("nightly"));
}

}  // namespace
}  // namespace perjoule
