#include "cli/gantt.h"

#include <gtest/gtest.h>

#include "pipeline/plan/baselines.h"

namespace perjoule::cli {
namespace {

constexpr const char* kRows =
    "0,forward,1400,1,100\n0,forward,1000,1.5,80\n0,backward,1400,2,210\n0,backward,1000,3,170\n"
    "1,forward,1400,1,100\n1,forward,1000,1.5,80\n1,backward,1400,2,210\n1,backward,1000,3,170\n";

/// Two stages and three microbatches of 1F1B, all at the highest setting but those named.
std::string chart(const std::string& rows, const std::vector<std::uint32_t>& slow,
                  const GanttLook& look, const std::vector<std::string>& stage_end = {},
                  const std::string& knobs = "clock") {
  const auto profile =
      PipelineProfile::parse("stage,instruction," + knobs + ",time,energy\n" + rows, "p");
  EXPECT_TRUE(profile);
  const auto schedule =
      make_schedule("1f1b", {.stages = 2, .microbatches = 3, .stage_end = stage_end});
  const auto problem = PipelineProblem::make(*profile, *schedule, {Watts(50), {}});
  EXPECT_TRUE(problem);
  auto option = highest_settings(*problem);
  for (const std::uint32_t a : slow) option[a] = 1;
  return gantt(*problem, option, simulate_iteration(*problem, option), look);
}

TEST(Gantt, ShowsInstructionsSlackWaitingLevelsAndSwitches) {
  // Stage 0: F0 F1 B0 F2 B1 B2; F1 and F2 at the low clock. A column is a quarter of a second.
  EXPECT_EQ(chart(kRows, {1, 3}, {.width = 50, .from = Seconds(0), .until = Seconds(12.5)}),
            "0 |F0==f1----......B0======F2====b1------....B2======|\n"
            "  |9---0-----      9-------0-----9-------    --------| 4\n"
            "1 |....F0==B0======f1--b1------..F2==B2======........|\n"
            "  |    9-----------------------  ------------        | 0\n"
            "  +--------------------------------------------------+\n"
            "  0 s                                          12.50 s\n"
            "F forward, B backward, . waits; small and -: could take longer, by more than 1 %; "
            "capital and =: could not\n"
            "below: clock from 0 (1000) to 9 (1400), a digit where it is set, * several times; "
            "behind: switches\n"
            "a column is 250.0 ms\n");
}

TEST(Gantt, TuplesOfSeveralKnobsAreNumberedInALegend) {
  std::string rows;
  for (const char* const at : {"0,forward", "1,forward"}) {
    rows +=
        std::string(at) + ",1400,1,8,1,100\n" + at + ",1400,2,8,1.5,80\n" + at + ",1000,1,8,2,70\n";
  }
  for (const char* const at : {"0,backward", "1,backward"}) {
    rows += std::string(at) + ",1400,1,8,2,210\n" + at + ",1000,2,8,3,170\n";
  }
  const GanttLook look{.width = 50, .from = Seconds(0), .until = Seconds(12.5)};
  // As above, but that the clock of F1 and F2 is that of the others.
  const std::string text = chart(rows, {1, 3}, look, {}, "clock,nanobatches,sms");
  EXPECT_EQ(text.substr(0, text.find("F forward")),
            "0 |F0==f1----......B0======F2====b1------....B2======|\n"
            "  |0---1-----      0-------1-----0-------    --------| 4\n"
            "1 |....F0==B0======f1--b1------..F2==B2======........|\n"
            "  |    0-----------------------  ------------        | 0\n"
            "  +--------------------------------------------------+\n"
            "  0 s                                          12.50 s\n");
  EXPECT_EQ(text.substr(text.find("below: ")),
            "below: a setting's number where it is set, * several times; behind: switches\n"
            "a column is 250.0 ms\n"
            "0 clock 1400, nanobatches 1, sms 8\n"
            "1 clock 1400, nanobatches 2, sms 8\n");
}

TEST(Gantt, OfSeveralKnobsTheOneThatVariesHasTheLevels) {
  const std::string rows =
      "0,forward,1400,1,1,100\n0,forward,1400,4,1.5,80\n0,backward,1400,1,2,210\n"
      "1,forward,1400,1,1,100\n1,backward,1400,1,2,210\n";
  const std::string text = chart(rows, {0}, {.width = 40, .from = Seconds(0), .until = Seconds(12)},
                                 {}, "clock,nanobatches");
  EXPECT_THAT(text, testing::HasSubstr("nanobatches from 0 (1) to 9 (4), a digit where it is set"));
  EXPECT_THAT(text, testing::HasSubstr("\n  |9"));
}

TEST(Gantt, AWindowBeginsWithTheLevelThere) {
  const std::string text =
      chart(kRows, {1, 3}, {.width = 10, .from = Seconds(2), .until = Seconds(7)});
  EXPECT_EQ(text.substr(0, text.find("F forward")),
            "0 |f...B0==F2|\n"
            "  |0   9---0-| 4\n"
            "1 |B0==f1b1--|\n"
            "  |9---------| 0\n"
            "  +----------+\n"
            "  2.000 s  7.000 s\n");
}

TEST(Gantt, ManySwitchesInAColumnAreAStarAndNothingOverflows) {
  const std::string text =
      chart(kRows, {1, 3}, {.width = 3, .from = Seconds(0), .until = Seconds(12)});
  EXPECT_EQ(text.substr(0, text.find("  +")),
            "0 |fF.|\n"
            "  |**9| 4\n"
            "1 |BbB|\n"
            "  |9--| 0\n");
}

TEST(Gantt, LettersAreUnlikeAndASettingThatIsNoNumberIsAHash) {
  const std::string text = chart(
      "0,forward,fast,1,100\n0,backward,fast,2,210\n0,Flush,fast,1,9\n"
      "1,forward,fast,1,100\n1,backward,fast,2,210\n1,Flush,fast,1,9\n",
      {}, {.width = 26, .from = Seconds(0), .until = Seconds(13)}, {"Flush"});
  EXPECT_EQ(text.substr(0, text.find(", . waits")),
            "0 |F0f1....B0==F2b1--..B2==L0|\n"
            "  |#---    ----------  ------| 0\n"
            "1 |..F0B0==F1B1==F2B2==l0....|\n"
            "  |  #-------------------    | 0\n"
            "  +--------------------------+\n"
            "  0 s                  13.00 s\n"
            "F forward, B backward, L Flush");
}

}  // namespace
}  // namespace perjoule::cli
