#include "pipeline/profile/profile.h"

#include <gtest/gtest.h>

#include <cmath>

#include "device/temp_tree.h"

namespace perjoule {
namespace {

using testing::HasSubstr;

Result<PipelineProfile> parse(const std::string& text) {
  return PipelineProfile::parse(text, "p.csv");
}

std::string error_of(const std::string& text) {
  const auto profile = parse(text);
  return profile ? "no error" : profile.error().text();
}

TEST(PipelineProfile, EveryOtherColumnIsAKnob) {
  const auto profile = parse(
      "stage,instruction,frequency,sms,time,energy\n"
      "0,forward,1410,16,0.05,20\n"
      "0,forward,1200,16,0.06,17\n"
      "0,forward,1200,8,0.055,18\n");
  ASSERT_TRUE(profile) << profile.error().text();
  ASSERT_EQ(profile->instructions().size(), 1U);
  const auto& options = profile->instructions()[0].options;
  ASSERT_EQ(options.size(), 3U);
  EXPECT_EQ(options[2].knob.text(), "frequency 1200, sms 8");
  EXPECT_EQ(options[1].time, Seconds(0.06));
  EXPECT_EQ(options[0].repeats, 1);
  EXPECT_EQ(options[0].energy_spread, Joules(0));
}

TEST(PipelineProfile, RepeatsAreAveragedAndTheirSpreadKept) {
  const auto profile = parse(
      "stage,instruction,frequency,time,energy\n"
      "0,forward,1410,0.050,20\n"
      "0,forward,1410,0.052,22\n"
      "0,forward,1410,0.054,24\n");
  ASSERT_TRUE(profile);
  const KnobOption& option = profile->instructions()[0].options[0];
  EXPECT_EQ(option.repeats, 3);
  EXPECT_NEAR(option.time.value(), 0.052, 1e-12);
  EXPECT_NEAR(option.time_spread.value(), 0.002, 1e-9);
  EXPECT_NEAR(option.energy.value(), 22, 1e-12);
  EXPECT_NEAR(option.energy_spread.value(), 2, 1e-9);
}

TEST(PipelineProfile, NamesInAnotherCaseAreTheSameInstruction) {
  const auto profile = parse(
      "stage,instruction,frequency,time,energy\n"
      "0,Forward,1410,0.050,20\n"
      "0,forward,1410,0.054,24\n"
      "0,FORWARD,1200,0.060,18\n"
      "1,forward,1410,0.050,20\n");
  ASSERT_TRUE(profile) << profile.error().text();
  ASSERT_EQ(profile->instructions().size(), 2U);
  const ProfiledInstruction& first = profile->instructions()[0];
  EXPECT_EQ(first.name, "Forward");  // as it is written first
  ASSERT_EQ(first.options.size(), 2U);
  EXPECT_EQ(first.options[0].repeats, 2);
  EXPECT_NEAR(first.options[0].energy.value(), 22, 1e-12);
  EXPECT_EQ(*profile->find(0, 0, "fOrWaRd"), &first);
}

TEST(PipelineProfile, ASpreadThatIsStatedIsKeptAndThatOfRepeatsComesOnTop) {
  const auto profile = parse(
      "stage,instruction,frequency,time,energy,time_spread\n"
      "0,forward,1410,0.050,20,0.003\n"
      "0,forward,1200,0.060,18,0.003\n"
      "0,forward,1200,0.068,18,0.003\n"
      "0,forward,1000,0.070,17,\n");
  ASSERT_TRUE(profile) << profile.error().text();
  const auto& options = profile->instructions()[0].options;
  EXPECT_EQ(options[0].knob.text(), "frequency 1410");
  EXPECT_NEAR(options[0].time_spread.value(), 0.003, 1e-12);
  EXPECT_NEAR(options[1].time_spread.value(), std::hypot(0.003, 0.008 / std::sqrt(2)), 1e-9);
  EXPECT_EQ(options[2].time_spread.value(), 0);
  const auto below =
      parse("stage,instruction,frequency,time,energy,time_spread\n0,forward,1410,0.050,20,-1\n");
  ASSERT_FALSE(below);
  EXPECT_THAT(below.error().text(), HasSubstr("line 2"));
}

TEST(PipelineProfile, HowWellAnEnergyIsKnownRepeatsAndAColumnSay) {
  const auto profile = parse(
      "stage,tp_rank,instruction,frequency,time,energy,energy_spread\n"
      "0,0,forward,1410,0.05,20,0.3\n0,1,forward,1410,0.05,22,0.4\n"
      // Four rows that scatter by 2 J, and state less: 1 J.
      "0,0,forward,1200,0.06,18,0.1\n0,0,forward,1200,0.06,22,0.1\n"
      "0,0,forward,1200,0.06,20,0.1\n0,0,forward,1200,0.06,20,0.1\n0,1,forward,1200,0.06,18,0.5\n"
      // Two that agree by chance, and state 0.3 J each.
      "0,0,forward,1000,0.07,16,0.3\n0,0,forward,1000,0.07,16,0.3\n0,1,forward,1000,0.07,16,1e-9\n"
      "0,0,forward,800,0.08,15,0.3\n0,1,forward,800,0.08,15,\n");
  ASSERT_TRUE(profile) << profile.error().text();
  const auto& options = profile->instructions()[0].options;
  EXPECT_NEAR(options[0].energy_error->value(), 0.5, 1e-12);
  EXPECT_NEAR(options[1].energy_error->value(), std::hypot(std::sqrt(8.0 / 3) / 2, 0.5), 1e-9);
  EXPECT_NEAR(options[2].energy_error->value(), 0.3 / std::sqrt(2), 1e-9);
  EXPECT_FALSE(options[3].energy_error);
  EXPECT_THAT(error_of("stage,instruction,time,energy,energy_spread\n0,f,1,1,-1\n"),
              HasSubstr("line 2: energy_spread -1 J"));
}

TEST(PipelineProfile, GpusOfAStageTakeTheSlowestsTimeAndAllTheirEnergy) {
  const auto profile = parse(
      "rank,dp_rank,pp_rank,tp_rank,instruction,frequency,time,energy\n"
      "0,0,0,0,forward,1410,0.050,20\n"
      "1,0,0,1,forward,1410,0.056,23\n"
      "2,1,0,0,forward,1410,0.052,22\n"
      "3,1,0,1,forward,1410,0.054,25\n");
  ASSERT_TRUE(profile) << profile.error().text();
  const KnobOption& option = profile->instructions()[0].options[0];
  EXPECT_NEAR(option.time.value(), 0.055, 1e-12);  // replicas are repeats, tensor ranks are not
  EXPECT_NEAR(option.energy.value(), 21 + 24, 1e-12);
  EXPECT_EQ(option.repeats, 2);
}

TEST(PipelineProfile, OnlySettingsOfAllGpusOfAStageAreOptions) {
  const auto profile = parse(
      "stage,tp_rank,instruction,frequency,time,energy\n"
      "0,0,forward,1410,0.050,20\n"
      "0,1,forward,1410,0.056,23\n"
      "0,0,forward,1200,0.060,17\n"  // of one GPU: half an energy is no option
      "0,0,backward,1410,0.1,40\n"
      "0,1,backward,1410,0.1,40\n"
      "0,1,backward,1200,0.2,30\n"
      "1,0,forward,1410,0.050,20\n"  // a stage of one GPU
      "1,0,forward,1200,0.060,17\n");
  ASSERT_TRUE(profile) << profile.error().text();
  const auto& instructions = profile->instructions();
  ASSERT_EQ(instructions.size(), 3U);
  ASSERT_EQ(instructions[0].options.size(), 1U);
  EXPECT_NEAR(instructions[0].options[0].energy.value(), 43, 1e-12);
  EXPECT_EQ(instructions[1].options.size(), 1U);
  EXPECT_EQ(instructions[2].options.size(), 2U);
  EXPECT_EQ(profile->left_out().options, 2U);
  EXPECT_EQ(profile->left_out().example,
            "forward of stage 0 at frequency 1200 (tp_rank 1 has no row)");
  EXPECT_THAT(profile->left_out().text("p.csv"), HasSubstr("p.csv: 2 settings left out"));
  EXPECT_EQ(profile->gpus(0), 2);
  EXPECT_EQ(profile->gpus(1), 1);
}

TEST(PipelineProfile, AReplicaThatLacksAGpuIsARepeatLess) {
  const auto profile = parse(
      "dp_rank,stage,tp_rank,instruction,frequency,time,energy\n"
      "0,0,0,forward,1410,0.050,20\n0,0,1,forward,1410,0.056,23\n1,0,0,forward,1410,0.052,22\n");
  ASSERT_TRUE(profile) << profile.error().text();
  EXPECT_EQ(profile->left_out().options, 0U);
  EXPECT_EQ(profile->left_out().text("p.csv"), "");
  EXPECT_NEAR(profile->instructions()[0].options[0].energy.value(), 21 + 23, 1e-12);
  EXPECT_EQ(profile->instructions()[0].options[0].repeats, 1);
}

TEST(PipelineProfile, AnInstructionThatNoSettingIsLeftOfIsRefused) {
  EXPECT_THAT(error_of("stage,chunk,tp_rank,instruction,frequency,time,energy\n"
                       "0,0,0,forward,1410,0.05,20\n0,0,2,forward,1410,0.05,20\n"
                       "0,1,0,forward,1410,0.05,20\n0,1,2,forward,1200,0.06,18\n"),
              HasSubstr("p.csv: forward of stage 0, chunk 1 was measured at no setting on all 2 "
                        "GPUs of the stage: tp_rank 2 has none at frequency 1410, tp_rank 0 has "
                        "none at frequency 1200; "));
}

TEST(PipelineProfile, GpusOfAStageAreThoseThatItsRowsTellApart) {
  const auto gpus = [](const std::string& text) {
    const auto profile = parse(text);
    EXPECT_TRUE(profile) << profile.error().text();
    return profile ? profile->gpus(0) : 0;
  };
  EXPECT_EQ(gpus("stage,instruction,time,energy\n0,f,1,1\n0,f,1,1\n"), 1);
  EXPECT_EQ(gpus("rank,stage,instruction,time,energy\n0,0,f,1,1\n1,0,f,1,1\n7,0,f,1,1\n"), 3);
  // Replicas are repeats, and rank numbers those of all of them.
  EXPECT_EQ(gpus("rank,dp_rank,stage,instruction,time,energy\n0,0,0,f,1,1\n1,1,0,f,1,1\n"), 1);
  EXPECT_EQ(gpus("dp_rank,tp_rank,stage,instruction,time,energy\n"
                 "0,0,0,f,1,1\n0,1,0,f,1,1\n1,0,0,f,1,1\n1,1,0,f,1,1\n"),
            2);
  // A GPU that only some instruction names is one all the same.
  EXPECT_EQ(gpus("stage,tp_rank,instruction,time,energy\n"
                 "0,0,f,1,1\n0,1,f,1,1\n0,0,b,1,1\n0,1,b,1,1\n0,1,b,1,1\n"),
            2);
}

TEST(PipelineProfile, ChunksAreToldApartOnlyWhereTheProfileDoes) {
  const auto plain = parse("stage,instruction,f,time,energy\n0,forward,1,0.05,20\n");
  ASSERT_TRUE(plain);
  EXPECT_TRUE(plain->find(0, 1, "Forward"));
  const auto chunked = parse(
      "stage,chunk,instruction,f,time,energy\n"
      "0,0,forward,1,0.05,20\n0,1,forward,1,0.07,30\n");
  ASSERT_TRUE(chunked);
  EXPECT_EQ((*chunked->find(0, 1, "forward"))->options[0].time, Seconds(0.07));
  const auto missing = chunked->find(0, 2, "forward");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
}

TEST(PipelineProfile, WhatIsMissingIsNamedWithWhatThereIs) {
  const auto profile = parse("stage,instruction,f,time,energy\n0,forward,1,0.05,20\n");
  ASSERT_TRUE(profile);
  const auto found = profile->find(0, 0, "backward");
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().text(), HasSubstr("no instruction 'backward' for stage 0"));
  EXPECT_THAT(found.error().text(), HasSubstr("forward"));
}

TEST(PipelineProfile, BadRowsAreRefusedWithTheirLine) {
  const std::string head = "stage,instruction,f,time,energy\n0,forward,1,0.05,20\n";
  EXPECT_THAT(error_of(head + "x,forward,2,0.05,20\n"), HasSubstr("p.csv line 3"));
  EXPECT_THAT(error_of(head + "-1,forward,2,0.05,20\n"), HasSubstr("line 3"));
  EXPECT_THAT(error_of(head + "1.5,forward,2,0.05,20\n"), HasSubstr("line 3"));
  EXPECT_THAT(error_of(head + "0,,2,0.05,20\n"), HasSubstr("line 3: the instruction is empty"));
  EXPECT_THAT(error_of(head + "0,forward,2,0,20\n"), HasSubstr("line 3: time 0 s"));
  EXPECT_THAT(error_of(head + "0,forward,2,-1,20\n"), HasSubstr("line 3: time -1 s"));
  EXPECT_THAT(error_of(head + "0,forward,2,1,-20\n"), HasSubstr("energy -20 J"));
  EXPECT_THAT(error_of(head + "0,forward,2,nan,20\n"), HasSubstr("line 3"));
  EXPECT_THAT(error_of(head + "2,forward,2,0.05,20\n"),
              HasSubstr("none of its rows is of stage 1"));
  EXPECT_THAT(error_of("stage,instruction,time,energy\n1,f,1,1\n"), HasSubstr("has 2 stages"));
  EXPECT_THAT(error_of("stage,instruction,f,time,energy\n"), HasSubstr("no rows"));
  EXPECT_THAT(error_of("stage,f,time,energy\n0,1,1,1\n"), HasSubstr("instruction"));
  EXPECT_THAT(error_of("instruction,f,time,energy\nforward,1,1,1\n"), HasSubstr("stage"));
}

TEST(PipelineProfile, RanksAreWholeNumbersFromZero) {
  for (const char* const column : {"rank", "dp_rank", "tp_rank", "pp_rank"}) {
    const bool is_stage = std::string(column) == "pp_rank";
    for (const char* const bad : {"-1", "a", "0.5", "", "1e3", "99999999999"}) {
      const std::string text = std::string(column) + (is_stage ? "" : ",stage") +
                               ",instruction,time,energy\n" + bad + (is_stage ? "" : ",0") +
                               ",forward,1,1\n";
      EXPECT_THAT(error_of(text), HasSubstr(std::string("p.csv line 2: ") + column +
                                            " is not a whole number from 0 up: '" + bad + "'"));
    }
  }
}

TEST(PipelineProfile, FiguresThatAreNoMeasurementsAreRefusedWithTheirLine) {
  const std::string head =
      "stage,instruction,f,time,energy,time_spread\n0,forward,1,0.05,20,0.001\n";
  EXPECT_EQ(error_of(head + "0,forward,2,1e9,1e15,1e9\n"), "no error");
  EXPECT_THAT(error_of(head + "0,forward,2,1.1e9,20,0\n"),
              HasSubstr("p.csv line 3: time 1100000000 s"));
  EXPECT_THAT(error_of(head + "0,forward,2,1e308,20,0\n"), HasSubstr("line 3: time 1e+308 s"));
  EXPECT_THAT(error_of(head + "0,forward,2,1,1.1e15,0\n"), HasSubstr("energy 1100000000000000 J"));
  EXPECT_THAT(error_of(head + "0,forward,2,1,1e300,0\n"), HasSubstr("at most 1e+09 s and 1e+15 J"));
  EXPECT_THAT(error_of(head + "0,forward,2,1,20,1e200\n"), HasSubstr("line 3: time_spread 1e+200"));
  EXPECT_THAT(error_of(head + "0,forward,2,1,20,inf\n"), HasSubstr("line 3"));
}

TEST(PipelineProfile, ScalesTimesEnergiesAndTheirSpreads) {
  auto profile = parse("stage,instruction,f,time,energy\n0,a,1,0.05,20\n0,a,1,0.07,24\n");
  ASSERT_TRUE(profile);
  profile->scale(10, 80);
  const KnobOption& option = profile->instructions()[0].options[0];
  EXPECT_NEAR(option.time.value(), 0.6, 1e-12);
  EXPECT_NEAR(option.energy.value(), 22 * 80, 1e-9);
  EXPECT_GT(option.time_spread.value(), 0.1);
}

TEST(BlockingPower, ATableSaysItForEachSettingAndTheHighestElsewhere) {
  const TempTree tree;
  tree.write_bytes("power.csv", "frequency,power\n1410,90\n210,60\n");
  const auto power = read_blocking_power(tree.path() + "/power.csv");
  ASSERT_TRUE(power) << power.error().text();
  EXPECT_EQ(power->least(), Watts(60));
  EXPECT_EQ(power->at(Config(std::vector<Setting>{{"frequency", "210"}})), Watts(60));
  EXPECT_EQ(power->at(Config(std::vector<Setting>{{"frequency", "999"}})), Watts(90));
  tree.write_bytes("bad.csv", "frequency,power\n1410,-90\n");
  const auto bad = read_blocking_power(tree.path() + "/bad.csv");
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().text(), HasSubstr("line 2"));
  tree.write_bytes("most.csv", "frequency,power\n1410,1e9\n210,1.1e9\n");
  const auto most = read_blocking_power(tree.path() + "/most.csv");
  ASSERT_FALSE(most);
  EXPECT_THAT(most.error().text(), HasSubstr("line 3: power 1100000000"));
}

}  // namespace
}  // namespace perjoule
