#include "twin/workload.h"

#include "twin/standin_client.h"

namespace perjoule::twin {
namespace {

class Workload : public StandinTest {
 protected:
  double seconds(const WorkOptions& options) {
    const Seconds begin = world_->now();
    int last = 0;
    const auto done = run_work(standin_path(), options, [&](int step) { last = step; });
    EXPECT_TRUE(done) << done.error().text();
    EXPECT_EQ(last, options.steps);
    return (world_->now() - begin).value();
  }
};

TEST_F(Workload, EveryKindRunsOnAllDevices) {
  start({"h100", "a100"});
  for (const char* word : {"training", "matmul", "decode", "allreduce", "straggler"}) {
    WorkOptions named;
    ASSERT_TRUE(set_work(word, named));
    const Joules before[] = {world_->truth(0), world_->truth(1)};
    const double took = seconds({.kind = named.kind, .steps = 3});
    EXPECT_GT(took, 0.05) << word;
    EXPECT_LT(took, 1.5) << word;
    EXPECT_GT((world_->truth(0) - before[0]).value(), 70 * took);
    EXPECT_GT((world_->truth(1) - before[1]).value(), 40 * took);
  }
}

TEST_F(Workload, AFittedJobTakesItsPace) {
  start({"v100"});
  WorkOptions job{.steps = 3};
  ASSERT_TRUE(set_work("resnet50", job));
  EXPECT_NEAR(seconds(job), 3 * 26.7771 / 40, 0.01);
}

TEST_F(Workload, AJobThatWasFittedToNoSuchDeviceIsRefused) {
  start({"h100"});
  WorkOptions job;
  ASSERT_TRUE(set_work("resnet50", job));
  EXPECT_FALSE(run_work(standin_path(), job, [](int) {}));
}

TEST_F(Workload, StragglerHoldsTheOthersBack) {
  start({"h100", "h100"});
  const double even = seconds({.kind = WorkKind::kAllreduce, .steps = 10});
  const double uneven = seconds({.kind = WorkKind::kStraggler, .steps = 10});
  EXPECT_GT(uneven / even, 1.3);
}

TEST_F(Workload, CapSlowsTrainingButNotDecode) {
  start({"h200"});
  const WorkOptions training{.kind = WorkKind::kTraining, .steps = 5};
  const WorkOptions decode{.kind = WorkKind::kDecode, .steps = 20};
  seconds(training);
  const double fast = seconds(training);
  const double tokens = seconds(decode);
  ASSERT_TRUE(world_->set_limit(0, Watts(350)));
  seconds(training);
  EXPECT_GT(seconds(training) / fast, 1.2);
  EXPECT_NEAR(seconds(decode) / tokens, 1, 0.02);
}

TEST_F(Workload, RefusesNonsense) {
  start({"h100"});
  const auto ignore = [](int) {};
  WorkOptions none;
  EXPECT_FALSE(set_work("mining", none));
  EXPECT_FALSE(run_work(standin_path(), {.steps = 0}, ignore));
  EXPECT_FALSE(run_work(standin_path(), {.duty = 2}, ignore));
  EXPECT_FALSE(run_work(standin_path(), {.devices = {4}}, ignore));
  EXPECT_FALSE(run_work("libnothing.so.9", {}, ignore));
}

}  // namespace
}  // namespace perjoule::twin
