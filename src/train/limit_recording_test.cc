#include "train/limit_recording.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/test_data.h"
#include "base/text.h"
#include "frontier/frontier.h"

namespace perjoule {
namespace {

constexpr std::string_view kTwoGpus =
    "start_time,window_name,elapsed_time,gpu0_energy,gpu1_energy\n"
    "1,__GlobalPowerLimitOptimizer_250,10,2000,2100\n"
    "2,__GlobalPowerLimitOptimizer_200,11,1800,1900\n"
    "3,__GlobalPowerLimitOptimizer_200,13,1900,2000\n";

std::string chosen(const LimitRecording& recording, const Rule& rule) {
  const auto frontier = Frontier::make(recording.points);
  if (!frontier) return frontier.error().text();
  const auto choice = frontier->choose(recording.with_max_power(rule));
  if (!choice) return choice.error().text();
  return std::string(*recording.points[choice->chosen].config.find("power limit"));
}

TEST(LimitRecording, WindowsOfOneLimitAreAveragedAndGpusAdded) {
  const auto recording = parse_limit_recording(kTwoGpus, "two.csv");
  ASSERT_TRUE(recording) << recording.error().text();
  ASSERT_EQ(recording->points.size(), 2U);
  EXPECT_EQ(recording->unit, "window");
  EXPECT_EQ(recording->max_power, Watts(500));
  EXPECT_EQ(recording->points[0].energy.joules, Joules(4100));
  EXPECT_EQ(recording->points[1].time, Seconds(12));
  EXPECT_EQ(recording->points[1].energy.joules, Joules(3800));
  EXPECT_EQ(recording->points[1].energy.status, Status::kReconstructed);
  EXPECT_EQ(chosen(*recording, EtaCost{0}), "250 W");
  EXPECT_EQ(chosen(*recording, EtaCost{1}), "200 W");
}

TEST(LimitRecording, WindowsThatDifferAreSaidAndThoseThatDoNotAreNot) {
  const auto recording = parse_limit_recording(kTwoGpus, "two.csv");
  ASSERT_TRUE(recording);
  EXPECT_EQ(recording->notes,
            std::vector<std::string>{"200 W: the mean of 2 windows is taken; from lowest to "
                                     "highest they differ by 16.7 % in time and 5.3 % in energy"});
  const auto same = parse_limit_recording(
      "window_name,elapsed_time,gpu0_energy\na_250,10,2000\na_250,10,2000\n", "same.csv");
  ASSERT_TRUE(same);
  EXPECT_TRUE(same->notes.empty());
}

TEST(LimitRecording, WindowsOfOneLimitAreOfTheSameWork) {
  const auto said = [](std::string_view text) {
    const auto recording = parse_limit_recording(text, "x");
    return recording ? "read" : recording.error().text();
  };
  const std::string jobs =
      said("window_name,elapsed_time,gpu0_energy\na_250,1,2\nb_200,1,2\nb_250,1,2\n");
  EXPECT_NE(jobs.find("x:4: window_name before the limit 'b' where line 2 has 'a'"),
            std::string::npos)
      << jobs;
  const std::string models = said(
      "start_time,window_name,elapsed_time,gpu0_energy,model\n1,a_250,1,2,bert\n2,a_200,1,2,bert\n"
      "3,a_250,1,2,resnet\n");
  EXPECT_NE(models.find("x:4: model 'resnet' where line 2 has 'bert' for the same limit"),
            std::string::npos)
      << models;
  // Other energies than the GPUs' are measurements too.
  EXPECT_EQ(said("window_name,elapsed_time,gpu0_energy,cpu0_energy\na_250,1,2,3\na_250,1,2,4\n"),
            "read");
}

TEST(LimitRecording, OurOwnDocumentsAreRead) {
  const std::string energy = R"({"joules": 12.5, "expanded_j": 0.4, "status": "measured"})";
  const auto verb = parse_limit_recording(
      R"({"schema": "perjoule.train-power-limit.v1", "max_power_w": 300, "steps_are": "activity",
          "result": {"points": [{"settings": {"power limit": "250 W"}, "time_s": 0.5,
          "time_expanded_s": 0.02, "energy": )" +
          energy + "}]}}",
      "a.json");
  ASSERT_TRUE(verb) << verb.error().text();
  EXPECT_EQ(verb->unit, "period");
  EXPECT_EQ(chosen(*verb, EtaCost{}), "250 W");
  EXPECT_EQ(verb->points[0].energy.random, Joules(0.2));
  EXPECT_EQ(verb->points[0].time_random, Seconds(0.01));
  const auto library = parse_limit_recording(
      R"({"schema": "perjoule.train-steps.v1", "max_power_w": 300,
          "points": [{"power_limit_w": 250, "time_s": 0.5, "energy": )" +
          energy + "}]}",
      "b.json");
  ASSERT_TRUE(library) << library.error().text();
  EXPECT_EQ(chosen(*library, EtaCost{}), "250 W");
}

TEST(LimitRecording, MistakesAreNamed) {
  const auto said = [](std::string_view text) {
    const auto recording = parse_limit_recording(text, "x");
    return recording ? "read" : recording.error().text();
  };
  const auto expect = [&](std::string_view text, std::string_view part) {
    EXPECT_NE(said(text).find(part), std::string::npos) << said(text);
  };
  expect("", "x");
  expect("window_name,elapsed_time\na_1,2\n", "no column gpu0_energy");
  expect("window_name,gpu0_energy\na_1,2\n", "elapsed_time");
  expect("window_name,elapsed_time,gpu0_energy\n", "no power limit was measured");
  expect("window_name,elapsed_time,gpu0_energy\nx,1,2\n", "x:2: window_name 'x'");
  expect("window_name,elapsed_time,gpu0_energy\nx_0,1,2\n", "x:2: window_name 'x_0'");
  expect("window_name,elapsed_time,gpu0_energy\nx_100,nan,2\n", "elapsed_time");
  expect("{", "x");
  expect(R"({"schema": "perjoule.run.v1"})", "schema 'perjoule.run.v1'");
  expect(R"({"schema": "perjoule.train-power-limit.v1", "max_power_w": 300})", "points");
  expect(R"({"schema": "perjoule.train-steps.v1", "max_power_w": 300, "points": []})",
         "no power limit was measured");
  expect(R"({"schema": "perjoule.train-steps.v1", "max_power_w": 300, "points": [{}]})",
         "x: point 1");
}

// The README of the recordings tabulates what Zeus's optimiser picks from each.
TEST(LimitRecording, ChoosesAsZeusDoesFromEveryRecordedProfile) {
  PJ_TEST_DATA(readme, "zeus_profiles/README.md");
  const std::string folder = readme.substr(0, readme.rfind('/'));
  const auto text = read_file(readme);
  ASSERT_TRUE(text);
  const std::vector<Rule> rules = {EtaCost{1},
                                   EtaCost{0},
                                   EtaCost{0.25},
                                   EtaCost{0.5},
                                   EtaCost{0.75},
                                   MaxSlowdown{1.0, "power limit"},
                                   MaxSlowdown{1.1, "power limit"},
                                   MaxSlowdown{1.2, "power limit"},
                                   MaxSlowdown{1.5, "power limit"}};
  int files = 0;
  for (const std::string_view line : split(*text, '\n')) {
    const auto cells = split(line, '|');
    if (cells.size() < 11 || cells[1].find("+gpu") == std::string_view::npos) continue;
    ++files;
    const std::string file(trim(cells[1]));
    const auto recording = read_limit_recording(folder + "/" + file + ".csv");
    ASSERT_TRUE(recording) << recording.error().text();
    for (std::size_t i = 0; i < rules.size(); ++i)
      EXPECT_EQ(chosen(*recording, rules[i]), std::string(trim(cells[i + 2])) + " W") << file << i;
  }
  EXPECT_EQ(files, 12);
}

}  // namespace
}  // namespace perjoule
