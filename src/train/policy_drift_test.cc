// Simulated jobs whose data change on the way: after the change the epochs to the target are
// others.
#include <gtest/gtest.h>

#include <map>

#include "train/policies.h"

namespace perjoule {
namespace {

WorkloadTrace traced() {
  WorkloadTrace trace;
  trace.workload = {"w", "d", "n", "o", 0.5, 50, 64};
  trace.max_power = Watts(300);
  for (const int size : {32, 64, 128}) {
    trace.batches.push_back({size,
                             {4, 5, 4},
                             {{Watts(300), Seconds(10 + 640.0 / size), Watts(280)},
                              {Watts(200), Seconds(12 + 640.0 / size), Watts(190)}}});
  }
  return trace;
}

/// Recurrences, each with new trainings until one reaches the target; how many trainings missed it.
/// `picked`: of those that reached it, how many had which batch size.
int missed(JobSimulator& job, BatchSizePolicy& policy, int recurrences, Random& random,
           std::map<int, int>* picked = nullptr) {
  int failures = 0;
  for (int i = 0; i < recurrences; ++i) {
    Joules spent;
    for (bool reached = false; !reached;) {
      const auto trained = job.train(policy.next(random, {}), random);
      if (!trained) {
        ++failures;
        continue;
      }
      spent += trained->result.cost;
      policy.report(trained->result, spent);
      reached = trained->run.reached;
      failures += reached ? 0 : 1;
      if (picked != nullptr && reached) ++(*picked)[trained->run.batch_size];
      if (failures > 1000) return failures;
    }
  }
  return failures;
}

TEST(Drift, DataThatNeedThreeTimesTheEpochsAreLearned) {
  for (const char* name : {"zeus", "perjoule"}) {
    for (const int window : {0, 4}) {
      WorkloadTrace trace = traced();
      const auto cost = JobCost::make(0.5, trace.max_power);
      PolicyChoice choice;
      choice.name = name;
      choice.window = window;
      const auto played = make_policy(choice, trace, *cost);
      ASSERT_TRUE(played);
      JobSimulator job(trace, *cost, *played->policy, played->search);
      Random random(3);
      EXPECT_LE(missed(job, *played->policy, 20, random), 3) << name << window;
      for (BatchRecord& batch : trace.batches) batch.epochs = {13, 14, 15};
      EXPECT_LE(missed(job, *played->policy, 20, random), 6) << name << window;
      // From then on as if it had never been otherwise.
      EXPECT_LE(missed(job, *played->policy, 40, random), 2) << name << window;
    }
  }
}

TEST(Drift, WithAWindowTheBestSizeMayMove) {
  WorkloadTrace trace = traced();
  trace.batches[0].epochs = trace.batches[1].epochs = {8, 9};
  const auto cost = JobCost::make(0.5, trace.max_power);
  PolicyChoice choice;
  choice.name = "perjoule";
  choice.window = 5;
  const auto played = make_policy(choice, trace, *cost);
  ASSERT_TRUE(played);
  JobSimulator job(trace, *cost, *played->policy, played->search);
  Random random(3);
  missed(job, *played->policy, 10, random);
  std::map<int, int> before;
  missed(job, *played->policy, 20, random, &before);
  EXPECT_GE(before[128], 14);
  trace.batches[0].epochs = {2, 3};
  trace.batches[1].epochs = {7, 8};
  trace.batches[2].epochs = {12, 13};
  missed(job, *played->policy, 60, random);
  std::map<int, int> after;
  missed(job, *played->policy, 20, random, &after);
  EXPECT_GE(after[32], 14);
}

}  // namespace
}  // namespace perjoule
