// The frontier and its rules against figures worked out elsewhere: the recommendations of the
// ML.ENERGY data and the picks of Zeus's power-limit optimiser on its recorded profiles.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/csv.h"
#include "base/json.h"
#include "base/test_data.h"
#include "base/text.h"
#include "frontier/frontier.h"
#include "frontier/points_table.h"

namespace perjoule {
namespace {

/// The one energy column each kind of table has for a unit of work.
std::string energy_column(const std::string& input) {
  if (input == "v2/llm.csv") return "energy_per_req_j";
  if (input == "v2/diffusion.csv") return "energy_per_output_j";
  if (input.find("text-to-image") != std::string::npos) return "energy_per_image_joules";
  if (input.find("text-to-video") != std::string::npos) return "energy_per_video_joules";
  return "energy_per_token_joules";
}

PointsOptions options_of(const Json& example) {
  const std::string input = *example.string("input");
  PointsOptions options;
  options.map.time = *example.string("latency_metric");
  options.map.energy = energy_column(input);
  const bool v2 = input.substr(0, 2) == "v2";
  options.where.emplace_back(v2 ? "model" : "model_id", *example.string("model_id"));
  if (const auto* gpus = example.find("gpu_models")->as_array()) {
    for (const Json& gpu : *gpus)
      options.where.emplace_back(v2 ? "gpu" : "gpu_model", *gpu.as_string());
  }
  return options;
}

/// Whether the point has the figures and every setting the expectation names.
void expect_point(const Point& point, const Json& expected, double to_seconds) {
  EXPECT_DOUBLE_EQ(point.time.value(), *expected.number("latency") * to_seconds);
  EXPECT_DOUBLE_EQ(point.energy.joules.value(), *expected.number("energy"));
  for (const auto& [name, value] : *expected.as_object()) {
    const auto setting = point.config.find(name);
    if (!setting || name == "avg_output_len") continue;
    const std::string* text = value.as_string();
    EXPECT_EQ(*setting, text != nullptr ? *text : value.dump()) << name;
  }
}

void check_example(const Json& example, const std::string& folder) {
  const auto table = read_points({folder + *example.string("input")}, options_of(example));
  ASSERT_TRUE(table) << table.error().text();
  const auto frontier = Frontier::make(table->groups[0].points);
  ASSERT_TRUE(frontier) << frontier.error().text();
  const bool in_ms = example.string("latency_metric")->find("_ms") != std::string::npos;
  const double to_seconds = in_ms ? 1e-3 : 1;
  const auto choice = frontier->choose(Deadline{Seconds(*example.number("deadline") * to_seconds)});
  ASSERT_TRUE(choice) << choice.error().text();
  EXPECT_EQ(choice->candidates, static_cast<std::size_t>(*example.integer("candidates")));
  EXPECT_EQ(choice->feasible, static_cast<std::size_t>(*example.integer("feasible")));
  if (const Json* expected = example.find("frontier"); expected != nullptr) {
    ASSERT_EQ(frontier->indices().size(), expected->as_array()->size());
    for (std::size_t i = 0; i < frontier->indices().size(); ++i)
      expect_point(frontier->points()[frontier->indices()[i]], (*expected->as_array())[i],
                   to_seconds);
  }
  expect_point(frontier->points()[choice->baseline], *example.find("fastest"), to_seconds);
  const Json& chosen = *example.find("chosen");
  EXPECT_EQ(chosen.is_null(), choice->miss.has_value());
  if (chosen.is_null()) return;
  expect_point(frontier->points()[choice->chosen], chosen, to_seconds);
  EXPECT_NEAR(choice->energy_saved, *example.number("saving_energy_fraction"), 1e-12);
}

TEST(Golden, TwelveRecommendations) {
  PJ_TEST_DATA(path, "mlenergy_leaderboard/expected_recommendations.json");
  const auto expected = parse_json(*read_file(path));
  ASSERT_TRUE(expected);
  const auto& examples = *expected->find("examples")->as_array();
  ASSERT_EQ(examples.size(), 12U);
  for (const Json& example : examples) {
    SCOPED_TRACE(example.dump().substr(0, 200));
    check_example(example, path.substr(0, path.rfind('/') + 1));
  }
}

/// Savings a response rather than a token: the same choice, read in the other column.
TEST(Golden, SavingsPerResponse) {
  PJ_TEST_DATA(path, "mlenergy_leaderboard/expected_recommendations.json");
  const auto expected = parse_json(*read_file(path));
  int checked = 0;
  for (const Json& example : *expected->find("examples")->as_array()) {
    const auto saving = example.number("saving_per_response_fraction");
    if (!saving) continue;
    const std::string file = path.substr(0, path.rfind('/') + 1) + *example.string("input");
    PointsOptions options = options_of(example);
    options.average = false;
    const auto by_token = Frontier::make(read_points({file}, options)->groups[0].points);
    options.map.energy = "energy_per_request_joules";
    const auto by_response = read_points({file}, options)->groups[0].points;
    const auto choice = by_token->choose(Deadline{Seconds(*example.number("deadline") * 1e-3)});
    EXPECT_NEAR(
        1 - by_response[choice->chosen].energy.joules / by_response[choice->baseline].energy.joules,
        *saving, 1e-12);
    ++checked;
  }
  EXPECT_EQ(checked, 7);
}

/// One profile as a frontier over "power limit", with Zeus's MaxPower = highest limit x GPUs.
struct Profile {
  Frontier frontier;
  Watts max_power;
};

Result<Profile> read_profile(const std::string& path) {
  PointsOptions options;
  options.map.time = "elapsed_time:s";
  options.map.energy = "gpu*_energy:J";
  options.settings = {"window_name"};
  PJ_TRY(const PointsTable table, read_points({path}, options));
  std::vector<Point> points = table.groups[0].points;
  double highest = 0;
  for (Point& point : points) {
    const std::string window(*point.config.find("window_name"));
    const std::string limit = window.substr(window.rfind('_') + 1);
    highest = std::max(highest, *parse_number(limit));
    point.config = Config({{"power limit", limit + " W"}});
  }
  PJ_TRY(const CsvTable csv, read_csv(path));
  const auto gpus = static_cast<double>(csv.columns().size() - 3);
  PJ_TRY(Frontier frontier, Frontier::make(std::move(points)));
  return Profile{std::move(frontier), Watts(highest * gpus)};
}

/// The rules in the order of the table's columns.
std::vector<Rule> rules_for(const Profile& profile) {
  std::vector<Rule> rules{Deadline{Seconds(std::numeric_limits<double>::infinity())},
                          EnergyBudget{Joules(std::numeric_limits<double>::infinity())}};
  for (const double eta : {0.25, 0.5, 0.75}) rules.emplace_back(EtaCost{eta, profile.max_power});
  for (const double factor : {1.0, 1.1, 1.2, 1.5})
    rules.emplace_back(MaxSlowdown{factor, "power limit"});
  return rules;
}

TEST(Golden, ZeusPicksOfTwelveProfilesByNineRules) {
  PJ_TEST_DATA(readme, "zeus_profiles/README.md");
  const auto text = read_file(readme);
  ASSERT_TRUE(text);
  int profiles = 0;
  for (const std::string_view line : split(*text, '\n')) {
    const auto cells = split(line, '|');
    if (cells.size() < 11 || trim(cells[1]).find("+gpu") == std::string_view::npos) continue;
    const std::string name(trim(cells[1]));
    SCOPED_TRACE(name);
    const auto profile = read_profile(readme.substr(0, readme.rfind('/') + 1) + name + ".csv");
    ASSERT_TRUE(profile) << profile.error().text();
    const std::vector<Rule> rules = rules_for(*profile);
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const auto choice = profile->frontier.choose(rules[i]);
      ASSERT_TRUE(choice) << choice.error().text();
      const Point& chosen = profile->frontier.points()[choice->chosen];
      EXPECT_EQ(chosen.config.number("power limit"), parse_number(trim(cells[2 + i])))
          << text_of(rules[i]);
    }
    ++profiles;
  }
  EXPECT_EQ(profiles, 12);
}
}  // namespace
}  // namespace perjoule
