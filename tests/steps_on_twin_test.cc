// The library's call a step on simulated GPUs: which of them a program's power limit concerns, and
// that they are left as found.
#include <stdexcept>

#include "library_on_twin.h"
#include "perjoule/perjoule.hpp"

namespace perjoule {
namespace {

class StepsOnTwin : public LibraryOnTwin {
 protected:
  /// Measures a step or so under each limit.
  static pj_steps_options quick() {
    pj_steps_options options{};
    options.struct_size = sizeof(options);
    options.rule = "eta=1";
    options.warm_up_steps = -1;
    options.profile_steps = 1;
    options.least_s = -1;
    options.drift = -1;
    return options;
  }
  void train(pj::Steps& steps, int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(world_->run(0, {.flop = 6e12, .activity = 1}));
      steps.done();
    }
  }
  /// Until this limit is the one being measured: 275 W, the second, is always reached. What is
  /// measured means nothing, for the session's clock is the real one and the GPUs' is moved by
  /// hand; so the search may end at any limit behind it.
  void train_until(pj::Steps& steps, Watts limit) {
    for (int i = 0; i < 100 && Watts(steps.limit_w()) != limit; ++i) train(steps, 1);
  }
  Watts limit(std::size_t index) { return gpu(index).state().power_limit.value_or(Watts(0)); }
};

TEST_F(StepsOnTwin, AllGpusOfTheJobGetOneLimit) {
  discover_on({"v100", "v100"});
  pj::Session session;
  pj::Steps steps(session, quick());
  train_until(steps, Watts(275));
  EXPECT_EQ(limit(0), Watts(275));
  EXPECT_EQ(limit(1), Watts(275));
}

TEST_F(StepsOnTwin, GpusThatTheProcessMayNotSeeAreLeftAlone) {
  discover_on({"v100", "v100"});
  ASSERT_TRUE(world_->set_limit(1, Watts(250)));
  set("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
  set("CUDA_VISIBLE_DEVICES", "0");
  pj::Session session;
  pj::Steps steps(session, quick());
  train_until(steps, Watts(275));
  EXPECT_EQ(limit(0), Watts(275));
  EXPECT_EQ(limit(1), Watts(250));
  // Nor does what they draw count.
  const std::string told = steps.json();
  EXPECT_NE(told.find(gpu(0).info().id), std::string::npos) << told;
  EXPECT_EQ(told.find(gpu(1).info().id), std::string::npos) << told;
  EXPECT_NE(told.find("Pmax 300.0 W"), std::string::npos) << told;
  steps.end();
  EXPECT_EQ(limit(0), Watts(300));
  EXPECT_EQ(limit(1), Watts(250));
}

TEST_F(StepsOnTwin, ALimitThatIsRefusedEndsTheSearchAndNotTheTraining) {
  discover_on({"v100", "v100"});
  ASSERT_TRUE(world_->set_limit(0, Watts(250)));
  pj::Session session;
  pj::Steps steps(session, quick());
  fault("return:call=nvmlDeviceSetPowerManagementLimit,code=4,gpu=1,count=1");
  EXPECT_THROW(train_until(steps, Watts(150)), pj::Error);
  EXPECT_EQ(limit(0), Watts(250));
  EXPECT_EQ(limit(1), Watts(300));
  train(steps, 50);
  EXPECT_FALSE(steps.settled());
  EXPECT_EQ(limit(0), Watts(250));
  EXPECT_NE(steps.json().find("every limit was put back"), std::string::npos) << steps.json();
}

TEST_F(StepsOnTwin, WithoutAGpuToSeeThereIsNoneToLimit) {
  discover_on({"v100"});
  set("CUDA_VISIBLE_DEVICES", "");
  pj::Session session;
  const pj_steps_options options = quick();
  EXPECT_THROW(pj::Steps(session, options), pj::Error);
  EXPECT_EQ(limit(0), Watts(300));
}

TEST_F(StepsOnTwin, AnExceptionInTheTrainingPutsTheLimitBack) {
  discover_on({"v100"});
  // Neither the highest limit nor the default: setting either back would be wrong.
  ASSERT_TRUE(world_->set_limit(0, Watts(250)));
  pj::Session session;
  bool thrown = false;
  try {
    pj::Steps steps(session, quick());
    train_until(steps, Watts(275));
    ASSERT_EQ(limit(0), Watts(275));
    throw std::runtime_error("the data cannot be read");
  } catch (const std::runtime_error&) {
    thrown = true;
  }
  EXPECT_TRUE(thrown);
  EXPECT_EQ(limit(0), Watts(250));
}

}  // namespace
}  // namespace perjoule
