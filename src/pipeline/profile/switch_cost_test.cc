#include "pipeline/profile/switch_cost.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "pipeline/plan/iteration.h"
#include "pipeline/plan/problem.h"

namespace perjoule {
namespace {

Config clock(int mhz) {
  Config config;
  config.set("frequency", std::to_string(mhz));
  return config;
}

class SwitchTimes : public testing::Test {
 protected:
  Result<SwitchCost> read(const std::string& text) {
    std::ofstream(path_) << text;
    return read_switch_times(path_);
  }
  ~SwitchTimes() override { std::filesystem::remove(path_); }
  std::string path_ = testing::TempDir() + "switch_times_" +
                      testing::UnitTest::GetInstance()->current_test_info()->name() + ".csv";
};

TEST_F(SwitchTimes, AreByPairAndElseTheLongest) {
  const auto cost =
      read("from_frequency,to_frequency,time\n1050,1410,0.003\n1410,1050,0\n1230,1410,0.001\n");
  ASSERT_TRUE(cost) << cost.error().text();
  EXPECT_DOUBLE_EQ(cost->time_of(clock(1050), clock(1410)).value(), 0.003);
  EXPECT_DOUBLE_EQ(cost->time_of(clock(1410), clock(1050)).value(), 0);
  EXPECT_DOUBLE_EQ(cost->time_of(clock(900), clock(1410)).value(), 0.003);
  EXPECT_DOUBLE_EQ(cost->time_of(clock(900), clock(900)).value(), 0);
  EXPECT_TRUE(cost->any());
  const auto again = read(switch_times_csv(*cost));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(switch_times_csv(*again), switch_times_csv(*cost));
}

TEST_F(SwitchTimes, RefusesWhatIsNone) {
  for (const auto& [text, wanted] :
       {std::pair{"from_frequency,time\n1050,0.003\n", "to_frequency"},
        {"from_frequency,to_frequency\n1,2\n", "time"},
        {"frequency,time\n1,2\n", "from_"},
        {"from_frequency,to_frequency,time\n", "rows"},
        {"from_frequency,to_frequency,time\n1050,1410,-1\n", "line 2"},
        {"from_frequency,to_frequency,time\n1050,1410,soon\n", "line 2"}}) {
    const auto cost = read(text);
    ASSERT_FALSE(cost) << text;
    EXPECT_NE(cost.error().text().find(wanted), std::string::npos) << cost.error().text();
  }
  EXPECT_FALSE(read_switch_times(path_ + ".none"));
}

TEST_F(SwitchTimes, DelayTheInstructionBehindAChangeOfThatPair) {
  std::string text = "stage,instruction,frequency,time,energy\n";
  for (const char* const name : {"forward", "backward"}) {
    text += std::string("0,") + name + ",1410,1.0,10\n";
    text += std::string("0,") + name + ",1050,1.3,8\n";
  }
  const auto profile = PipelineProfile::parse(text, "test");
  ASSERT_TRUE(profile);
  const auto schedule = make_schedule("1f1b", {.stages = 1, .microbatches = 2});
  ASSERT_TRUE(schedule);
  SwitchCost cost;
  cost.pairs = {{clock(1050), clock(1410), Seconds(0.25)}};
  const auto problem = PipelineProblem::make(*profile, *schedule, {Watts(1), {}}, cost);
  ASSERT_TRUE(problem);
  // Forward, backward, forward, backward: down costs nothing, up a quarter of a second, the first
  // forward's after the last backward of the iteration before too.
  const std::vector<std::uint32_t> option = {0, 1, 0, 1};
  const Iteration iteration = simulate_iteration(*problem, option);
  EXPECT_EQ(iteration.switches, 4U);
  EXPECT_DOUBLE_EQ(problem->seconds(iteration.makespan).value(), 0.25 + 1 + 1.3 + 0.25 + 1 + 1.3);
}

}  // namespace
}  // namespace perjoule
