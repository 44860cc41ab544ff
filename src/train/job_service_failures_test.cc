// Trainers that crash, diverge or fall silent, data that change, clocks that are set: no batch size
// may come up for ever, and the job goes on.
#include <cmath>
#include <limits>
#include <set>

#include "train/job_service_fixture.h"

namespace perjoule {
namespace {

class FailingTrainers : public JobServiceTest, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Policies, FailingTrainers, testing::Values("perjoule", "zeus"));

TEST_P(FailingTrainers, ASizeWhoseTrainersAlwaysCrashDoesNotComeUpForEver) {
  for (const int bad : {32, 64, 128}) {
    JobDefinition job = nightly();
    job.name = GetParam() + std::to_string(bad);
    job.policy = GetParam();
    ASSERT_TRUE(service_.create(job));
    int crashes = 0;
    for (int i = 0; i < 30; ++i) {
      const auto trial = service_.ask(job.name);
      ASSERT_TRUE(trial);
      if (trial->batch_size == bad) {
        ++crashes;
        ASSERT_TRUE(service_.abandon(job.name, trial->number));
      } else {
        train(*trial, 3, 640.0 / (trial->batch_size + 64), job.name);
      }
    }
    // Zeus's exploration comes back to every size in its second round, and its sampling now and
    // then.
    EXPECT_LE(crashes, 8) << job.name;
    EXPECT_GE(service_.status(job.name)->recurrences.size(), 22U) << job.name;
  }
}

TEST_P(FailingTrainers, ASizeThatDivergesIsStoppedAndHasFailed) {
  const std::string job = job_with(GetParam(), 0);
  int diverged = 0;
  for (int i = 0; i < 20; ++i) {
    const auto trial = service_.ask(job);
    ASSERT_TRUE(trial);
    if (trial->batch_size != 128) {
      train(*trial, 3, 10, job);
      continue;
    }
    ++diverged;
    const double metric = diverged % 2 == 1 ? NAN : INFINITY;
    const auto verdict = service_.report(job, trial->number, {1, Joules(100), Seconds(1), metric});
    ASSERT_TRUE(verdict) << verdict.error().text();
    EXPECT_EQ(*verdict, Verdict::kStop);
    const auto status = service_.status(job);
    EXPECT_EQ(status->trials.back().state, TrialState::kDiverged);
    EXPECT_FALSE(std::isfinite(status->trials.back().progress.metric));
  }
  EXPECT_GE(diverged, 1);
  EXPECT_LE(diverged, 4);
}

TEST_P(FailingTrainers, TheBestSizeMayBeginToCrash) {
  const std::string job = job_with(GetParam(), 0);
  const auto cost = [](int size) { return 640.0 / size; };
  for (int i = 0; i < 15; ++i) {
    const auto trial = service_.ask(job);
    train(*trial, 3, cost(trial->batch_size), job);
  }
  int crashes = 0;
  for (int i = 0; i < 30; ++i) {
    const auto trial = service_.ask(job);
    if (trial->batch_size == 128) {
      ++crashes;
      ASSERT_TRUE(service_.abandon(job, trial->number));
    } else {
      train(*trial, 3, cost(trial->batch_size), job);
    }
  }
  EXPECT_LE(crashes, 12);
}

TEST_P(FailingTrainers, SilentTrainersAreGivenUpAndTheOthersComeUp) {
  const std::string job = job_with(GetParam(), 0);
  std::set<int> asked;
  for (int i = 0; i < 9; ++i) {
    const auto trial = service_.ask(job);
    ASSERT_TRUE(trial);
    asked.insert(trial->batch_size);
    clock_.advance(Seconds(3601));
  }
  EXPECT_GE(asked.size(), 2U);
  // Once another size works, the job goes on with it.
  int reached = 0;
  for (int i = 0; i < 10; ++i) {
    const auto trial = service_.ask(job);
    if (trial->batch_size == 64) {
      clock_.advance(Seconds(3601));
    } else {
      reached += train(*trial, 3, 10, job) == Verdict::kReached ? 1 : 0;
    }
  }
  EXPECT_GE(reached, 5);
}

// 10 trainings of 2 epochs, then the data need 5: more than beta times the lowest cost allows.
TEST_P(FailingTrainers, DataThatNeedMoreEpochsAreLearned) {
  for (const int window : {0, 3}) {
    for (const double beta : {2.0, std::numeric_limits<double>::infinity()}) {
      const std::string job = job_with(GetParam(), window + (std::isfinite(beta) ? 0 : 10), beta);
      for (int i = 0; i < 10; ++i) {
        const auto trial = service_.ask(job);
        EXPECT_EQ(train(*trial, 2, 10, job), Verdict::kReached);
      }
      int stopped = 0;
      int late = 0;
      for (int i = 0; i < 30; ++i) {
        const auto trial = service_.ask(job);
        if (train(*trial, 5, 10, job) != Verdict::kStop) continue;
        ++stopped;
        late += i >= 15 ? 1 : 0;
      }
      EXPECT_LE(stopped, 5) << job;
      EXPECT_EQ(late, 0) << job;
    }
  }
}

// The size that was best no longer is: with a window the other one takes over.
TEST_P(FailingTrainers, WithAWindowADriftOfTheBestSizeIsFollowed) {
  const std::string job = job_with(GetParam(), 4);
  const auto played = [&](const std::map<int, int>& epochs, int trainings) {
    std::map<int, int> last;
    for (int i = 0; i < trainings; ++i) {
      const auto trial = service_.ask(job);
      train(*trial, epochs.at(trial->batch_size), 10, job);
      if (i >= trainings - 20) ++last[trial->batch_size];
    }
    return last;
  };
  EXPECT_GE(played({{32, 8}, {64, 6}, {128, 4}}, 60)[128], 14);
  auto after = played({{32, 4}, {64, 6}, {128, 8}}, 100);
  // Zeus never samples an arm again whose costs had no spread; ours comes back to it.
  EXPECT_LE(after[128], 6);
  if (GetParam() == std::string("perjoule")) {
    EXPECT_GE(after[32], 14);
  }
}

TEST_F(JobServiceTest, ATrainerThatIsNeverHeardOfIsGivenUpAndMayComeBack) {
  const auto silent = service_.ask("nightly");
  ASSERT_TRUE(service_.report("nightly", silent->number, {1, Joules(500), Seconds(5), 0.1}));
  clock_.advance(Seconds(3601));
  // Shown as the next call will find it, though nothing was written yet.
  EXPECT_EQ(service_.status("nightly")->trials[0].state, TrialState::kLost);
  const auto next = service_.ask("nightly");
  ASSERT_TRUE(next);
  EXPECT_EQ(next->batch_size, silent->batch_size);  // one silence says nothing against it
  auto status = service_.status("nightly");
  EXPECT_EQ(status->trials[0].state, TrialState::kLost);
  EXPECT_EQ(status->energy, Joules(500));  // what it spent is spent
  EXPECT_FALSE(status->unreported);        // nobody knows what a training takes
  const auto late = service_.report("nightly", silent->number, {2, Joules(900), Seconds(9), 0.1});
  ASSERT_TRUE(late) << late.error().text();
  EXPECT_EQ(*late, Verdict::kContinue);
  EXPECT_EQ(service_.status("nightly")->trials[0].state, TrialState::kRunning);
  EXPECT_EQ(*service_.report("nightly", silent->number, {3, Joules(1200), Seconds(12), 0.95}),
            Verdict::kReached);
  status = service_.status("nightly");
  ASSERT_EQ(status->recurrences.size(), 1U);
  // Charged once, although it was lost in between.
  EXPECT_EQ(status->recurrences[0].energy, Joules(1200));
  EXPECT_EQ(status->recurrences[0].time, Seconds(12));
  EXPECT_EQ(status->recurrences[0].trainings, 1);
  EXPECT_EQ(status->energy, Joules(1200));
}

TEST_F(JobServiceTest, OneThatCameBackIsNotCensored) {
  const auto silent = service_.ask("nightly");
  ASSERT_TRUE(service_.report("nightly", silent->number, {1, Joules(500), Seconds(5), 0.1}));
  clock_.advance(Seconds(3601));
  EXPECT_EQ(service_.status("nightly")->unfinished.trainings, 1);
  ASSERT_TRUE(service_.abandon("nightly", service_.ask("nightly")->number));
  EXPECT_EQ(service_.status("nightly")->unfinished.trainings, 2);
  ASSERT_TRUE(service_.report("nightly", silent->number, {2, Joules(900), Seconds(9), 0.1}));
  auto status = service_.status("nightly");
  EXPECT_EQ(status->unfinished.trainings, 1);  // the other one
  EXPECT_EQ(status->unfinished.energy, Joules(0));
  EXPECT_EQ(status->unfinished.time, Seconds(0));
  EXPECT_EQ(status->energy, Joules(900));
  // Lost and back once more, it still counts once when it ends.
  clock_.advance(Seconds(3601));
  service_.ask("nightly");
  EXPECT_EQ(service_.status("nightly")->unfinished.energy, Joules(900));
  EXPECT_EQ(*service_.report("nightly", silent->number, {3, Joules(1200), Seconds(12), 0.95}),
            Verdict::kReached);
  status = service_.status("nightly");
  ASSERT_EQ(status->recurrences.size(), 1U);
  EXPECT_EQ(status->recurrences[0].trainings, 2);
  EXPECT_EQ(status->recurrences[0].energy, Joules(1200));
  EXPECT_EQ(status->unfinished.trainings, 0);
}

TEST_F(JobServiceTest, WhatStandsInARecurrenceThatIsOverStaysThere) {
  const auto silent = service_.ask("nightly");
  ASSERT_TRUE(service_.report("nightly", silent->number, {1, Joules(500), Seconds(5), 0.1}));
  clock_.advance(Seconds(3601));
  train(*service_.ask("nightly"), 3, 10);
  EXPECT_EQ(service_.status("nightly")->recurrences[0].energy, Joules(6500));
  ASSERT_TRUE(service_.report("nightly", silent->number, {2, Joules(900), Seconds(9), 0.1}));
  const auto status = service_.status("nightly");
  EXPECT_EQ(status->recurrences[0].energy, Joules(6500));
  EXPECT_EQ(status->unfinished.trainings, 0);
  EXPECT_EQ(status->energy, Joules(6900));
}

TEST_F(JobServiceTest, WhatALostTrainingTookUnreportedIsEstimated) {
  train(*service_.ask("nightly"), 3, 10);  // 6000 J
  const auto silent = service_.ask("nightly");
  ASSERT_TRUE(service_.report("nightly", silent->number, {1, Joules(2000), Seconds(10), 0.1}));
  clock_.advance(Seconds(4000));
  EXPECT_EQ(*service_.status("nightly")->unreported, Joules(4000));
}

TEST_F(JobServiceTest, ASilentTrainerDoesNotHoldTheOthersBackForLong) {
  const std::string job = job_with("zeus", 0);
  train(*service_.ask(job), 3, 10, job);
  const auto silent = service_.ask(job);
  EXPECT_EQ(silent->batch_size, 32);
  EXPECT_EQ(service_.ask(job)->batch_size, 64);  // the exploration waits for it
  clock_.advance(Seconds(101));                  // ten of its slowest epochs, far from the timeout
  EXPECT_EQ(service_.ask(job)->batch_size, 32);
}

TEST_F(JobServiceTest, TheLastReportMayBeRepeated) {
  const auto trial = service_.ask("nightly");
  const TrialProgress done{2, Joules(900), Seconds(9), 0.95};
  EXPECT_EQ(*service_.report("nightly", trial->number, done), Verdict::kReached);
  EXPECT_EQ(*service_.report("nightly", trial->number, done), Verdict::kReached);
  EXPECT_EQ(service_.status("nightly")->energy, Joules(900));
  const auto other = service_.report("nightly", trial->number, {3, Joules(950), Seconds(10), 0.96});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kConflict);
  const auto diverging = service_.ask("nightly");
  const TrialProgress bad{1, Joules(100), Seconds(1), NAN};
  EXPECT_EQ(*service_.report("nightly", diverging->number, bad), Verdict::kStop);
  EXPECT_EQ(*service_.report("nightly", diverging->number, bad), Verdict::kStop);
  const auto given_up = service_.ask("nightly");
  EXPECT_TRUE(service_.abandon("nightly", given_up->number));
  EXPECT_FALSE(service_.report("nightly", given_up->number, bad));
}

TEST_F(JobServiceTest, RecurrencesHaveTheirEnergyAndTimeToAccuracy) {
  train(*service_.ask("nightly"), 3, 10);
  const auto stopped = service_.ask("nightly");
  train(*stopped, 20, 100);  // too dear
  const auto open = service_.status("nightly");
  EXPECT_EQ(open->recurrences.size(), 1U);
  EXPECT_EQ(open->unfinished.trainings, 1);
  EXPECT_GT(open->unfinished.energy.value(), 0);
  train(*service_.ask("nightly"), 3, 10);
  const auto status = service_.status("nightly");
  ASSERT_EQ(status->recurrences.size(), 2U);
  EXPECT_EQ(status->unfinished.trainings, 0);
  EXPECT_EQ(status->recurrences[0].energy, Joules(6000));
  EXPECT_EQ(status->recurrences[1].trainings, 2);
  EXPECT_EQ(status->recurrences[1].energy, open->unfinished.energy + Joules(6000));
  EXPECT_EQ(status->recurrences[1].time, open->unfinished.time + Seconds(30));
}

TEST_F(JobServiceTest, SettingTheClockGivesNobodyUp) {
  const auto trial = service_.ask("nightly");
  clock_.set(Seconds(1e6));
  EXPECT_EQ(service_.status("nightly")->trials[0].state, TrialState::kRunning);
  ASSERT_TRUE(service_.report("nightly", trial->number, {1, Joules(500), Seconds(5), 0.1}));
  clock_.set(Seconds(-2e6));
  clock_.advance(Seconds(3601));
  EXPECT_EQ(service_.status("nightly")->trials[0].state, TrialState::kLost);
  // After a restart, or on another machine, only the wall clock is left.
  const JobService restarted(log_, clock_, "another boot");
  EXPECT_EQ(restarted.status("nightly")->trials[0].state, TrialState::kRunning);
  clock_.set(Seconds(2e6));
  EXPECT_EQ(restarted.status("nightly")->trials[0].state, TrialState::kLost);
}

TEST_F(JobServiceTest, FiguresThatCannotBeAreNamed) {
  const auto trial = service_.ask("nightly");
  const auto message = [&](const TrialProgress& progress) {
    const auto verdict = service_.report("nightly", trial->number, progress);
    return verdict ? std::string("accepted") : verdict.error().message;
  };
  EXPECT_NE(message({1, Joules(-1), Seconds(1), 0.95}).find("energy is not above 0: -1 J"),
            std::string::npos);
  EXPECT_NE(message({1, Joules(0), Seconds(1), 0.95}).find("energy is not above 0"),
            std::string::npos);
  EXPECT_NE(message({1, Joules(5), Seconds(0), 0.95}).find("time is not above 0"),
            std::string::npos);
  EXPECT_NE(message({1, Joules(1e200), Seconds(1), 0.95}).find("1e+200 J is above the most"),
            std::string::npos);
  EXPECT_NE(message({1, Joules(5), Seconds(1e200), 0.95}).find("1e+200 s is above the most"),
            std::string::npos);
  EXPECT_EQ(service_.status("nightly")->trials[0].progress.epochs, 0);
  EXPECT_EQ(message({1, kMostTrialEnergy, kMostTrialTime, 0.5}), "accepted");
  JobDefinition fastest = nightly();
  fastest.name = "fastest";
  fastest.eta = 0;
  ASSERT_TRUE(service_.create(fastest));
  EXPECT_TRUE(service_.report("fastest", service_.ask("fastest")->number,
                              {1, Joules(0), Seconds(1), 0.95}));
  JobDefinition bad = nightly();
  bad.name = "bad";
  bad.eta = 2;
  EXPECT_EQ(service_.create(bad).error().message, "eta 2 lies outside 0 to 1");
  bad = nightly();
  bad.spec.batch_sizes = {32, 64, 64};
  EXPECT_EQ(service_.create(bad).error().message, "a batch size stands twice: 64");
  bad = nightly();
  bad.spec.prior.noise = Joules(5);
  EXPECT_NE(service_.create(bad).error().message.find("policy perjoule"), std::string::npos);
}

}  // namespace
}  // namespace perjoule
