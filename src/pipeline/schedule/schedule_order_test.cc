#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "pipeline/schedule/schedules.h"

namespace perjoule {
namespace {

using testing::HasSubstr;

/// A schedule written as an order file.
std::string written(const PipelineSchedule& schedule) {
  std::string text = "stage,instruction,microbatch,chunk\n";
  for (std::size_t stage = 0; stage < schedule.stages.size(); ++stage) {
    for (const PipelineStep& step : schedule.stages[stage]) {
      text += std::to_string(stage) + "," + schedule.instructions[step.instruction] + "," +
              std::to_string(step.microbatch) + "," + std::to_string(step.chunk) + "\n";
    }
  }
  return text;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> sorted(const PipelineSchedule& schedule) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const Precedence& one : schedule.across) pairs.emplace_back(one.before, one.after);
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

TEST(ScheduleOrder, AWrittenScheduleReadsBackAsItself) {
  for (const std::string_view name :
       {"1f1b", "gpipe", "early-recompute", "interleaved", "zb-h1", "zb-h2"}) {
    SCOPED_TRACE(name);
    const ScheduleShape shape{
        .stages = 4, .microbatches = 8, .chunks = name == "interleaved" ? 2 : 1};
    const auto schedule = make_schedule(name, shape);
    ASSERT_TRUE(schedule);
    const auto read =
        parse_order(written(*schedule), "order.csv", {.stages = 4, .microbatches = 0});
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(read->size(), schedule->size());
    EXPECT_EQ(read->shape.microbatches, 8);
    EXPECT_EQ(read->shape.chunks, shape.chunks);
    EXPECT_EQ(sorted(*read), sorted(*schedule));
  }
}

TEST(ScheduleOrder, RowsOfStagesMayBeMixedAndAfterAddsPrecedences) {
  const auto order = parse_order(
      "stage,microbatch,instruction,after\n"
      "1,0,Forward,\n0,0,forward,\n1,0,backward,\n0,0,step,\" forward:1:0 ; Backward:1:0:0\"\n",
      "order.csv", {.stages = 2, .microbatches = 1});
  ASSERT_TRUE(order) << order.error().text();
  EXPECT_EQ(order->instructions, (std::vector<std::string>{"Forward", "backward", "step"}));
  // forward 0 -> forward of stage 1, and the two that were asked for.
  EXPECT_EQ(sorted(*order),
            (std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 2}, {2, 1}, {3, 1}}));
}

TEST(ScheduleOrder, LoadsAndStageEndsAreAddedBehindTheRowsNumbers) {
  const auto order = parse_order(
      "stage,microbatch,instruction,after\n0,0,forward,\n0,1,forward,backward:0:0\n"
      "0,0,backward,\n",
      "order.csv", {.stages = 1, .microbatches = 2, .load = "load", .stage_end = {"step"}});
  ASSERT_TRUE(order) << order.error().text();
  ASSERT_EQ(order->size(), 6U);
  EXPECT_EQ(order->describe(0), "load 0 of stage 0");
  EXPECT_EQ(order->describe(3), "forward 1 of stage 0");
  EXPECT_EQ(sorted(*order), (std::vector<std::pair<std::uint32_t, std::uint32_t>>{{4, 3}}));
  EXPECT_FALSE(order->network().topological_order());  // forward 1 waits for what comes behind it
}

TEST(ScheduleOrder, AnOrderThatCannotBeHasACircle) {
  for (const char* rows : {"0,backward,0\n0,forward,0\n1,forward,0\n1,backward,0\n",
                           "0,forward,0\n0,backward,0\n1,backward,0\n1,forward,0\n",
                           "0,forward,0\n0,weight,0\n0,backward,0\n"}) {
    const auto order = parse_order(std::string("stage,instruction,microbatch\n") + rows, "o",
                                   {.stages = 0, .microbatches = 0});
    ASSERT_TRUE(order) << order.error().text();
    EXPECT_FALSE(order->network().find_cycle().empty()) << rows;
  }
}

TEST(ScheduleOrder, BadRowsAreNamedByFileAndLine) {
  const auto refused = [](std::string_view rows,
                          const ScheduleShape& shape = {.stages = 0, .microbatches = 0}) {
    const auto order = parse_order("stage,instruction,microbatch,chunk,after\n" + std::string(rows),
                                   "o.csv", shape);
    EXPECT_FALSE(order) << rows;
    return order ? std::string() : order.error().text();
  };
  EXPECT_THAT(refused("0,forward,0,,\n0,forward,x,,\n"), HasSubstr("o.csv line 3: microbatch"));
  EXPECT_THAT(refused("-1,forward,0,,\n"), HasSubstr("o.csv line 2: stage"));
  EXPECT_THAT(refused("0,forward,0,a,\n"), HasSubstr("o.csv line 2: chunk"));
  EXPECT_THAT(refused("0,,0,,\n"), HasSubstr("o.csv line 2: the instruction is empty"));
  EXPECT_THAT(refused("0,forward,0,,\n0,FORWARD,0,0,\n"), HasSubstr("line 3: the same"));
  EXPECT_THAT(refused("0,forward,0,,\n2,forward,0,,\n"), HasSubstr("no row is of stage 1"));
  EXPECT_THAT(refused("0,forward,0,,\n0,forward,2,,\n"), HasSubstr("no row is of microbatch 1"));
  EXPECT_THAT(refused("0,forward,0,,forward:0:1\n"), HasSubstr("line 2: after names no row"));
  EXPECT_THAT(refused("0,forward,0,,forward\n"), HasSubstr("instruction:stage:microbatch"));
  EXPECT_THAT(refused(""), HasSubstr("no rows"));
  EXPECT_THAT(refused("0,forward,0,,\n", {.stages = 2, .microbatches = 0}),
              HasSubstr("1 stage, asked for were 2"));
  EXPECT_THAT(refused("0,forward,0,,\n", {.stages = 1, .microbatches = 3}),
              HasSubstr("1 microbatch, asked for were 3"));
  EXPECT_THAT(parse_order("stage,microbatch\n0,0\n", "o.csv", {}).error().text(),
              HasSubstr("instruction"));
}

TEST(ScheduleOrder, MakeScheduleReadsAFileAndNamesWhatIsNone) {
  const std::string path =
      testing::TempDir() + "perjoule_order-" + std::to_string(getpid()) + ".csv";
  std::ofstream(path) << "stage,instruction,microbatch\n0,forward,0\n0,backward,0\n";
  const auto order = make_schedule(path, {.stages = 1, .microbatches = 1});
  ASSERT_TRUE(order) << order.error().text();
  EXPECT_EQ(order->size(), 2U);
  const auto none = make_schedule("no-such-order.csv", {.stages = 1, .microbatches = 1});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(none.error().text(), HasSubstr("zb-h1"));
}

}  // namespace
}  // namespace perjoule
