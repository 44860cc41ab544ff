#include "train/job_service.h"

#include <gtest/gtest.h>

#include <map>

#include "train/evaluate.h"

namespace perjoule {
namespace {

/// A log in memory.
class MemoryLog final : public EventLog {
 public:
  Outcome update(std::string_view log, const Change& change) override {
    Entries& entries = logs_[std::string(log)];
    PJ_TRY(const Entries more, change(entries));
    entries.insert(entries.end(), more.begin(), more.end());
    return {};
  }
  Result<Entries> read(std::string_view log) const override {
    const auto at = logs_.find(std::string(log));
    return at == logs_.end() ? Entries() : at->second;
  }
  Result<std::vector<std::string>> names(std::string_view beginning) const override {
    std::vector<std::string> names;
    for (const auto& [name, entries] : logs_) {
      if (name.rfind(beginning, 0) == 0 && !entries.empty()) names.push_back(name);
    }
    return names;
  }
  Outcome erase(std::string_view log) override {
    logs_.erase(std::string(log));
    return {};
  }

 private:
  std::map<std::string, Entries> logs_;
};

JobDefinition nightly() {
  JobDefinition job;
  job.name = "nightly";
  job.spec = {{32, 64, 128}, 64, 2, 0};
  job.max_power = Watts(300);
  job.target = 0.9;
  job.most_epochs = 20;
  job.timeout = Seconds(3600);
  return job;
}

class JobServiceTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(service_.create(nightly())); }

  /// Trains until the service says so; the target is reached after so many epochs.
  Verdict train(const Trial& trial, int needed, double epoch_s) {
    for (int epoch = 1;; ++epoch) {
      clock_.advance(Seconds(epoch_s));
      const TrialProgress progress{epoch, Joules(200 * epoch_s * epoch), Seconds(epoch_s * epoch),
                                   epoch >= needed ? 0.95 : 0.5};
      const auto verdict = service_.report("nightly", trial.number, progress);
      EXPECT_TRUE(verdict) << verdict.error().text();
      if (!verdict || *verdict != Verdict::kContinue) return verdict.value_or(Verdict::kStop);
    }
  }

  MemoryLog log_;
  VirtualClock clock_;
  JobService service_{log_, clock_};
};

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
  EXPECT_GE(status->recurrences, 18);
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

TEST_F(JobServiceTest, ATrainerThatIsNeverHeardOfIsGivenUp) {
  const auto silent = service_.ask("nightly");
  ASSERT_TRUE(service_.report("nightly", silent->number, {1, Joules(500), Seconds(5), 0.1}));
  clock_.advance(Seconds(3601));
  const auto next = service_.ask("nightly");
  ASSERT_TRUE(next);
  EXPECT_EQ(next->batch_size, silent->batch_size);  // nothing is known against it
  const auto status = service_.status("nightly");
  EXPECT_EQ(status->trials[0].state, TrialState::kLost);
  EXPECT_EQ(status->energy, Joules(500));  // what it spent is spent
  const auto late = service_.report("nightly", silent->number, {2, Joules(900), Seconds(9), 0.1});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kConflict);
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
  EXPECT_FALSE(service_.report("nightly", 99, {1, Joules(1), Seconds(1), 0.1}));
  EXPECT_TRUE(service_.abandon("nightly", trial->number));
  EXPECT_FALSE(service_.abandon("nightly", trial->number));
  EXPECT_TRUE(service_.remove("nightly"));
  EXPECT_FALSE(service_.remove("nightly"));
}

}  // namespace
}  // namespace perjoule
